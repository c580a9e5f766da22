// What publishers bring to a relay.
#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>
#include <vector>

#include "kvcast/moqt/codec.h"
#include "kvcast/moqt/timers.h"
#include "kvcast/relay/relay.h"
#include "kvcast/relay/relay_above.h"

namespace kvcast::relay {
namespace {

// What a publisher's reason to end is to those behind us: some are between it and us alone.
moqt::DoneCode ForAudience(moqt::DoneCode code) {
  switch (code) {
    case moqt::DoneCode::kTrackEnded:
    case moqt::DoneCode::kMalformedTrack:
      return code;
    default:
      return moqt::DoneCode::kInternalError;
  }
}

// What an object says beside what it is.
struct Told {
  std::vector<LocationRange> gaps;    // Where nothing stands.
  std::optional<uint64_t> group_end;  // Nothing of its group stands here or beyond.
};

// A subgroup's stream tells the end of its group by its own end.
Told ToldBy(const moqt::ReceivedObject& received) {
  const Location at = received.object.location;
  Told told{received.gaps.Before(at), std::nullopt};
  if (received.object.status != ObjectStatus::kNormal) {
    told.group_end = at.object;
  } else if (received.stream == moqt::ReceivedObject::kNoStream && received.ends_group &&
             at.object < LocationRange::kWholeGroup) {
    told.group_end = at.object + 1;
  }
  // A group that ends where it begins has nothing, as if it had been left out.
  if (told.group_end == 0 && received.object.status == ObjectStatus::kEndOfGroup) {
    told.gaps.push_back(LocationRange::Groups(at.group, at.group));
  }
  return told;
}

}  // namespace

void Relay::On(Peer& peer, const moqt::ObjectsReady& event) {
  if (above_->fetches.OnReady(peer.id, event.request)) {
    return;
  }
  while (true) {
    const auto publication = peer.publications.find(event.request);
    // Whoever sends faster than what is to be durable can be written waits, as with a slow network.
    if (publication != peer.publications.end() && IsToWait(publication->second)) {
      held_.insert({peer.id, event.request});
      return;
    }
    const std::optional<moqt::Received> item = peer.session->Take(event.request);
    if (!item) {
      return;
    }
    if (publication == peer.publications.end()) {
      continue;  // It was broken off; the rest is dropped.
    }
    if (const auto* end = std::get_if<moqt::TrackEnd>(&*item)) {
      OnTrackEnd(peer, publication, *end);
      continue;
    }
    const Result<void> taken = Take(publication->second, *item);
    if (!taken.ok()) {
      Break(peer, publication, taken.error());
    } else if (peer.route && publication->second.track().name() == CatalogTrack::kForgotten) {
      if (const auto* received = std::get_if<moqt::ReceivedObject>(&*item)) {
        above_->OnForgetList(peer, publication->second.track(), received->object.payload);
      }
    }
  }
}

bool Relay::IsToWait(const Publication& publication) {
  return publication.durability() != Durability::kMemory &&
         stock_.store().pledged_bytes(publication.durability()) >= limits_.pledged_bytes;
}

void Relay::ContinueHeld() {
  // Those who wait for one tier do not wait for another.
  for (const SubscriberId& id : std::exchange(held_, {})) {
    Peer& peer = peers_.at(id.peer);
    const auto publication = peer.publications.find(id.request);
    if (publication != peer.publications.end() &&
        stock_.store().pledged_bytes(publication->second.durability()) >
            limits_.pledged_bytes / 2) {
      held_.insert(id);
    } else {
      On(peer, moqt::ObjectsReady{id.request});
      Touch(id.peer);
    }
  }
}

Result<void> Relay::Take(Publication& publication, const moqt::Received& item) {
  if (const auto* received = std::get_if<moqt::ReceivedObject>(&item)) {
    return TakeObject(publication, *received);
  }
  const auto* end = std::get_if<moqt::SubgroupEnd>(&item);
  if (end == nullptr) {
    return {};
  }
  const std::optional<uint64_t> group_end = publication.OnSubgroupEnd(*end);
  if (end->subgroup) {
    audience_.EndSubgroup(publication.track(), end->group, *end->subgroup, end->complete, now_);
  }
  return group_end ? stock_.EndGroup(publication.track(), end->group, *group_end,
                                     publication.durability(), now_)
                   : Result<void>();
}

// What fetches are to be sent gives way to what would have no room at all.
Result<bool> Relay::Keep(const Publication& publication, const moqt::ReceivedObject& received) {
  const auto keep = [&] {
    return stock_.Keep(publication.track(), received.object, publication.durability(), now_,
                       {received.since, publication.ExpiryFrom(received.since)});
  };
  Result<bool> kept = keep();
  if (!kept.ok() && kept.error().code() == ErrorCode::kTooLarge &&
      stock_.store().ram().pinned_bytes() > 0) {
    for (const auto& [id, peer] : peers_) {
      for (const auto& [request, fetch] : peer.fetches) {
        stock_.store().ram().Unpin(fetch.pin());
      }
    }
    kept = keep();
  }
  return kept;
}

// Of two publishers the first that tells of an end is heard. So one that comes back to us, from
// whoever has it from us, goes no further.
bool Relay::IsNewEnd(const TrackName& track, const Object& object) const {
  const Location at = object.location;
  const std::optional<TrackFacts> facts = stock_.Find(track);
  if (object.status == ObjectStatus::kEndOfTrack) {
    return !facts || facts->end != at;
  }
  if (at.object == 0) {
    return !facts || facts->GapAt(at) == nullptr;
  }
  const std::optional<GroupFacts> group = stock_.FindGroup(track, at.group);
  return !group || group->end != at.object;
}

Result<void> Relay::TakeObject(Publication& publication, const moqt::ReceivedObject& received) {
  const Object& object = received.object;
  const TrackName& track = publication.track();
  const uint64_t group = object.location.group;
  const std::optional<uint64_t> previous = publication.OnObject(received);
  Told told = ToldBy(received);
  metrics_.Received(object);
  // What makes a track malformed is not kept, so it is looked at before.
  for (const LocationRange& gap : told.gaps) {
    KVCAST_TRY_VOID(stock_.CheckGap(track, gap));
  }
  if (told.group_end) {
    KVCAST_TRY_VOID(stock_.CheckGroupEnd(track, group, *told.group_end));
  }
  bool is_new = true;
  std::optional<LocationRange> said;
  if (object.status == ObjectStatus::kNormal) {
    KVCAST_TRY(is_new, Keep(publication, received));
    said = is_new ? object.GapBefore() : std::nullopt;  // It is kept with the object.
    is_new = above_->early.Take(track, object.location) || is_new;
  } else {
    is_new = IsNewEnd(track, object);
    if (object.status == ObjectStatus::kEndOfTrack) {
      KVCAST_TRY_VOID(stock_.EndTrack(track, object.location, now_));
    }
  }
  for (const LocationRange& gap : told.gaps) {
    if (gap != said) {
      stock_.AddGap(track, gap, publication.durability(), now_);
    }
  }
  if (told.group_end.value_or(0) > 0) {
    KVCAST_TRY_VOID(stock_.EndGroup(track, group, *told.group_end, publication.durability(), now_));
  }
  if (object.status == ObjectStatus::kEndOfTrack) {
    told.gaps.push_back(
        {object.location, {LocationRange::kWholeGroup, LocationRange::kWholeGroup}});
  }
  if (is_new) {
    audience_.Forward(track,
                      {object, previous, received.first_of_subgroup, received.ends_group,
                       received.since, told.gaps},
                      now_);
  } else {
    audience_.PassOver(track, object);
    if (!told.gaps.empty()) {
      audience_.OnGaps(track, told.gaps);
    }
  }
  return {};
}

void Relay::OnTrackEnd(Peer& peer, Publications::iterator publication, const moqt::TrackEnd& end) {
  const TrackName track = publication->second.track();
  // Nobody behind us can tell that streams never came, unless we say so.
  if (!end.complete && end.done.streams < moqt::PublishDone::kStreamsUnknown) {
    EndPublication(peer, publication, moqt::DoneCode::kInternalError,
                   "Not all that its publisher sent has come.");
    return;
  }
  // With another publisher at work, or a stream cut short, there may be more than we know of.
  const bool last = published_.at(track).size() == 1;
  if (last && end.done.code == moqt::DoneCode::kTrackEnded) {
    if (end.complete && !publication->second.lost_some()) {
      (void)stock_.EndTrack(track, now_).ok();  // Its publisher may have told another end itself.
    }
    // What its publisher does not know, we do not know better.
    audience_.EndTrack(track, moqt::DoneCode::kTrackEnded, end.done.reason, !end.complete);
  }
  EndPublication(peer, publication, ForAudience(end.done.code), end.done.reason);
}

void Relay::EndPublication(Peer& peer, Publications::iterator publication, moqt::DoneCode code,
                           const std::string& reason) {
  const TrackName track = publication->second.track();
  for (const auto& [group, subgroup] : publication->second.Open()) {
    audience_.EndSubgroup(track, group, subgroup, false, now_);
  }
  const moqt::RequestId request = publication->first;
  held_.erase({peer.id, request});
  peer.publications.erase(publication);
  const auto publishers = published_.find(track);
  publishers->second.erase({peer.id, request});
  const bool was_pushed = !ForgetAsked(peer, request);
  if (code != moqt::DoneCode::kTrackEnded) {
    audience_.OnPublisherGone(track);
  }
  if (publishers->second.empty()) {
    published_.erase(publishers);
    above_->early.Forget(track);
    stock_.acks().End(track, now_ + limits_.ack_patience);
    // Another upstream may have what one has lost.
    if (!was_pushed && peer.route && code != moqt::DoneCode::kTrackEnded && audience_.Has(track)) {
      above_->AskUpstream(track, std::nullopt, &peer);
    }
    OnUnpublished(track, was_pushed, code, reason);
    ForgetIfUnused(track);
  }
}

// Those who were asked for the track have had their chance, unless an answer is still to come; the
// others get it when nobody needed to be asked.
void Relay::OnUnpublished(const TrackName& track, bool was_pushed, moqt::DoneCode code,
                          const std::string& reason) {
  if (!audience_.Has(track)) {
    return;
  }
  if (was_pushed) {
    (void)AskAnnouncers(track, std::nullopt, true);
  }
  if (above_->IsAsked(track)) {
    upstream_.at(track).orphaned = true;
  } else {
    audience_.EndTrack(track, code, reason);
  }
}

Duration Relay::RangePatience(const Properties& properties) const {
  const moqt::TrackTraits traits = moqt::DefaultCodec().TraitsOf(properties);
  const uint64_t timeout_ms =
      std::max(traits.object_delivery_timeout_ms, traits.subgroup_delivery_timeout_ms);
  return std::max(limits_.range_patience, moqt::After(Instant(), timeout_ms) - Instant());
}

// Of a publication that waits for us, nobody knows what it holds.
bool Relay::IsComing(const TrackName& track, const LocationRange& range) const {
  const auto publishers = published_.find(track);
  return publishers != published_.end() &&
         std::ranges::any_of(publishers->second, [&](const SubscriberId& id) {
           return held_.contains(id) || peers_.at(id.peer).session->HasOpenSubgroups(
                                            id.request, range.first.group, range.last.group);
         });
}

void Relay::EndRanges() {
  audience_.EndRanges(
      {[this](const TrackName& track, uint64_t group) { return stock_.FindGroup(track, group); },
       [this](const TrackName& track, uint64_t group) {
         return stock_.store().GroupFrom(track, group);
       },
       [this](const TrackName& track, const LocationRange& range) {
         return IsComing(track, range);
       }},
      now_);
}

void Relay::OnMalformed(const TrackName& track, const std::string& reason) {
  metrics_.malformed_tracks.Add();
  above_->fetches.Drop(
      track, Because(moqt::RequestCode::kMalformedTrack, "The track contradicts itself."));
  audience_.EndTrack(track, moqt::DoneCode::kMalformedTrack, reason);
  for (auto& [id, peer] : peers_) {
    for (auto fetch = peer.fetches.begin(); fetch != peer.fetches.end();) {
      const auto next = std::next(fetch);
      if (fetch->second.track() == track) {
        fetch->second.Reset(moqt::ResetCode::kMalformedTrack);
        EndFetch(peer, fetch);
        Touch(id);
      }
      fetch = next;
    }
  }
}

// The first who said what stands at a location stays right: objects are immutable, and whoever
// knows a name must not be able to take the track away.
void Relay::Break(Peer& peer, Publications::iterator publication, const Error& error) {
  const bool malformed = error.code() == ErrorCode::kMismatch;
  log_.Warning(malformed ? "track malformed" : "publication refused",
               {{"peer", peer.id}, {"reason", error.ToString()}});
  peer.session->Cancel(publication->first, malformed ? moqt::ResetCode::kMalformedTrack
                                                     : moqt::ResetCode::kExcessiveLoad);
  if (malformed) {
    OnMalformed(publication->second.track(), "A publisher contradicted what stood there.");
  }
  EndPublication(peer, publication, moqt::DoneCode::kExcessiveLoad, error.ToString());
}

void Relay::ForgetIfUnused(const TrackName& track) {
  if (!published_.contains(track) && !audience_.Has(track) && !stock_.catalogs().IsOurs(track) &&
      !stock_.acks().IsAck(track) && !above_->fetches.Has(track)) {
    stock_.Forget(track, now_);
  }
}

}  // namespace kvcast::relay
