// What peers ask of a relay.
#include <algorithm>
#include <utility>
#include <vector>

#include "kvcast/moqt/wanted_range.h"
#include "kvcast/relay/below.h"
#include "kvcast/relay/canary.h"
#include "kvcast/relay/relay.h"
#include "kvcast/relay/relay_above.h"

namespace kvcast::relay {
namespace {

// What is left of a range without groups at its end that do not exist; absent if nothing is.
std::optional<LocationRange> WithoutGapsAtItsEnd(LocationRange range, const TrackFacts& facts) {
  while (!range.empty()) {
    const LocationRange* const gap = facts.GapAt({range.last.group, 0});
    if (gap == nullptr || !gap->Contains(range.last)) {
      return range;
    }
    const Location first = gap->first;
    if (first <= range.first) {
      break;
    }
    range.last = first.object > 0 ? Location{first.group, first.object - 1}
                                  : Location{first.group - 1, LocationRange::kWholeGroup};
  }
  return std::nullopt;
}

moqt::Parameters LargestOf(const TrackFacts& facts) {
  moqt::Parameters parameters;
  parameters.largest_object = facts.largest;
  return parameters;
}

}  // namespace

void Relay::Refuse(Peer& peer, moqt::RequestId request, moqt::RequestCode code,
                   std::string reason) {
  Refuse(peer, request, {code, std::nullopt, std::move(reason), std::nullopt});
}

void Relay::Refuse(Peer& peer, moqt::RequestId request, const moqt::RequestError& error) {
  metrics_.Refused(error.code);
  (void)peer.session->RefuseRequest(request, error).ok();
}

moqt::RequestError Relay::Overloaded(std::string reason) const {
  return Later(moqt::RequestCode::kExcessiveLoad, limits_.retry_after, std::move(reason));
}

// The answer does not fit a message, as with properties of just under 64 KiB; or the request was
// cancelled just now, and then this does nothing.
void Relay::RefuseUnanswered(Peer& peer, moqt::RequestId request) {
  Refuse(peer, request, moqt::RequestCode::kInternalError, "The answer does not fit a message.");
}

// What the track asks for, and can be told of.
Result<Durability> Relay::DurabilityFor(const moqt::PublishReceived& event) const {
  KVCAST_TRY(const Durability level, DurabilityIn(event.properties));
  if (level != Durability::kMemory) {
    KVCAST_TRY(const TrackName ack_track, AckTrackOf(event.track.space()));
    if (ack_track == event.track || published_.contains(ack_track)) {
      return Error(ErrorCode::kInvalid, "The track that would tell of it is somebody else's.");
    }
  }
  return level;
}

void Relay::On(Peer& peer, const moqt::PublishReceived& event) {
  if (stock_.catalogs().IsOurs(event.track) || stock_.acks().IsAck(event.track)) {
    Refuse(peer, event.request, moqt::RequestCode::kUnauthorized,
           "Only this node writes its catalogs and acknowledgements.");
    return;
  }
  if (!above_->MayBring(peer, event.track.space())) {
    Refuse(peer, event.request, moqt::RequestCode::kUnauthorized,
           "This upstream is not asked for that.");
    return;
  }
  if (Canary::IsBelow(event.track.space()) && !peer.uncounted) {
    Refuse(peer, event.request, moqt::RequestCode::kUnauthorized,
           "Only this node publishes there.");
    return;
  }
  // What was forgotten concerns all of a node; of the rest upstreams tell each of its relays.
  if (peer.route && owns_ && !owns_(event.track.space()) &&
      event.track.name() != CatalogTrack::kForgotten) {
    Refuse(peer, event.request, moqt::RequestCode::kUninterested,
           "The track comes by another session of this node.");
    return;
  }
  // What was promised upstream is kept there.
  const Result<Durability> level = peer.route ? Durability::kMemory : DurabilityFor(event);
  if (!level.ok()) {
    Refuse(peer, event.request, moqt::RequestCode::kMalformedTrack, level.error().ToString());
    return;
  }
  const Result<void> described =
      stock_.Describe(event.track, event.properties, event.parameters.largest_object, *level, now_);
  if (!described.ok()) {
    if (described.error().code() == ErrorCode::kUnsupported) {
      Refuse(peer, event.request, moqt::RequestCode::kNotSupported, described.error().message());
    } else {
      Refuse(peer, event.request, Overloaded(described.error().message()));
    }
    return;
  }
  if (!peer.session->AcceptPublish(event.request, {}).ok()) {
    // Cancelled just now; the event is under way. Nobody else may know of the track.
    if (!published_.contains(event.track)) {
      stock_.acks().End(event.track, now_ + limits_.ack_patience);
      ForgetIfUnused(event.track);
    }
    return;
  }
  metrics_.publications.Add();
  if (event.parameters.largest_object) {
    audience_.OnPublisher(event.track, *event.parameters.largest_object);
  }
  peer.publications.emplace(event.request, Publication(event.track, event.properties, *level));
  const bool known = IsPushed(event.track);
  published_[event.track].insert({peer.id, event.request});
  OnPublished(event.track);
  // What we have asked for, only those were told of who asked us. Who follows it already is not
  // told again.
  if (!known && !peer.uncounted) {
    Announce(event.track, &peer);
  }
  if (peer.route && event.track.name() == CatalogTrack::kForgotten) {
    above_->ReadForgetList(peer, event.track, event.parameters.largest_object);
  }
}

void Relay::On(Peer& peer, const moqt::SubscribeReceived& event) {
  if (peer.route && IsFromAbove(event.track)) {  // What came down does not go up again.
    Refuse(peer, event.request, moqt::RequestCode::kDoesNotExist, "The track is not here.");
    return;
  }
  if (event.track.name() == kAckTrackName && !published_.contains(event.track)) {
    stock_.RecallAcks(event.track, now_ + limits_.ack_patience, now_);
  }
  if (!AwaitUpstream(peer, event)) {
    AnswerSubscribe(peer, event.request, event.track, event.parameters);
  }
}

// The last group that may exist was published to its end, or passed, with nothing of the range
// under way. One of which nothing has come may only be late, while there is who publishes: groups
// come in any order.
bool Relay::IsPast(const TrackName& track, const LocationRange& wanted,
                   const TrackFacts& facts) const {
  const std::optional<LocationRange> left = WithoutGapsAtItsEnd(wanted, facts);
  if (!left) {
    return true;
  }
  const std::optional<GroupFacts> last = stock_.FindGroup(track, left->last.group);
  if (last && last->whole() && last->object_count > 0) {
    return true;
  }
  const bool begun = last && last->object_count > 0;
  const bool passed = facts.largest && left->last.group < facts.largest->group &&
                      (begun || !published_.contains(track));
  return passed && !IsComing(track, wanted);
}

void Relay::AnswerSubscribe(Peer& peer, moqt::RequestId request, const TrackName& track,
                            const moqt::Parameters& parameters) {
  const std::optional<TrackFacts> facts = stock_.Find(track);
  // Nobody would bring what comes there, and what is here would be taken for all there is.
  const bool known_here = (facts && facts->end) || published_.contains(track) ||
                          stock_.catalogs().IsOurs(track) || stock_.acks().IsAck(track);
  if (!known_here && !peer.route && above_->upstreams.Covers(track.space())) {
    Refuse(peer, request, OutOfReach());
    return;
  }
  // What comes from those above does not go up again, nor does what is only kept.
  if (!facts || (peer.route && (!known_here || IsFromAbove(track)))) {
    Refuse(peer, request, moqt::RequestCode::kDoesNotExist, "The track is not here.");
    return;
  }
  const LocationRange wanted = moqt::WantedBy(parameters.filter, facts->largest);
  if (IsPast(track, wanted, *facts)) {
    Refuse(peer, request, moqt::RequestCode::kInvalidRange,
           "Nothing of this range is still to come.");
    return;
  }
  if (!peer.session->AcceptSubscribe(request, LargestOf(*facts), facts->properties).ok()) {
    RefuseUnanswered(peer, request);
    return;
  }
  if (facts->end && !published_.contains(track)) {
    (void)peer.session->EndTrack(request, moqt::DoneCode::kTrackEnded, "The track has ended.").ok();
    return;
  }
  audience_.Add({peer.id, request}, Audience::By::kSubscribe, *peer.session, track, wanted, *facts,
                RangePatience(facts->properties));
  if (stock_.acks().IsAck(track)) {
    stock_.acks().Repeat(track);
    TakeAcks();
  }
  if (parameters.new_group_request) {
    AskForNewGroup(track, *parameters.new_group_request);
  }
}

void Relay::On(Peer& peer, const moqt::TrackStatusReceived& event) {
  if (RingWatch::IsQuestion(event.track)) {
    above_->OnRingQuestion(peer, event);
    return;
  }
  const std::optional<TrackFacts> facts = stock_.Find(event.track);
  const bool known = (facts && facts->end) || published_.contains(event.track) ||
                     stock_.catalogs().IsOurs(event.track) || stock_.acks().IsAck(event.track);
  if (!known && above_->statuses.Ask({peer.id, event.request}, event.track,
                                     above_->SourcesOf(peer, event.track), now_)) {
    peer.open_statuses.insert(event.request);
  } else {
    AnswerStatus(peer, event.request, event.track, {event.track, {}, std::nullopt, std::nullopt});
  }
}

void Relay::AnswerStatus(Peer& peer, moqt::RequestId request, const TrackName& track,
                         const UpstreamStatus& told) {
  const std::optional<TrackFacts> facts = stock_.Find(track);
  if (!facts && !told.answer) {
    const bool silent = !told.refusal && !peer.route && above_->upstreams.Covers(track.space());
    Refuse(peer, request,
           told.refusal
               ? *told.refusal
               : (silent ? OutOfReach()
                         : Because(moqt::RequestCode::kDoesNotExist, "The track is not here.")));
    return;
  }
  moqt::Parameters parameters = LargestOf(facts.value_or(TrackFacts()));
  if (told.answer) {
    parameters.largest_object =
        std::max(parameters.largest_object, told.answer->parameters.largest_object);
  }
  const Properties& properties = facts ? facts->properties : told.answer->properties;
  if (!peer.session->AnswerTrackStatus(request, parameters, properties).ok()) {
    RefuseUnanswered(peer, request);
  }
}

bool Relay::Publishes(const Peer& peer, const TrackName& track) const {
  const auto publishers = published_.find(track);
  if (publishers == published_.end()) {
    return false;
  }
  const auto first = publishers->second.lower_bound({peer.id, 0});
  return first != publishers->second.end() && first->peer == peer.id;
}

bool Relay::IsFromAbove(const TrackName& track) const {
  const auto publishers = published_.find(track);
  return publishers != published_.end() &&
         std::ranges::all_of(publishers->second, [this](const SubscriberId& id) {
           return peers_.at(id.peer).route.has_value();
         });
}

bool Relay::IsPushed(const TrackName& track) const {
  const auto publishers = published_.find(track);
  return publishers != published_.end() &&
         std::ranges::any_of(publishers->second, [this](const SubscriberId& id) {
           return !peers_.at(id.peer).upstream.contains(id.request);
         });
}

void Relay::On(Peer& peer, const moqt::UpdateReceived& event) {
  above_->Release(peer, event.request, true);
  const std::optional<TrackNamespace>& moved = event.parameters.namespace_prefix;
  if (const auto refusal =
          moved ? above_->RefusalToMove(peer, event.request, *moved) : std::nullopt) {
    metrics_.Refused(refusal->code);
    (void)peer.session->RefuseUpdate(event.request, *refusal).ok();
    return;
  }
  moqt::Parameters answer;
  const SubscriberId id{peer.id, event.request};
  if (const TrackName* const track = audience_.TrackOf(id)) {
    const TrackFacts facts = stock_.Find(*track).value_or(TrackFacts());
    answer.largest_object = facts.largest;
    audience_.Update(id, event.parameters, facts);
    if (event.parameters.new_group_request) {
      AskForNewGroup(*track, *event.parameters.new_group_request);
    }
  } else if (const auto waiting = peer.waiting.find(event.request); waiting != peer.waiting.end()) {
    moqt::Parameters& kept = upstream_.at(waiting->second).waiting.at(id).parameters;
    kept.filter = event.parameters.filter ? event.parameters.filter : kept.filter;
    if (event.parameters.new_group_request) {
      kept.new_group_request = event.parameters.new_group_request;
    }
  }
  // Unless it was cancelled just now.
  if (peer.session->AcceptUpdate(event.request, answer).ok() && moved) {
    MovePrefix(peer, event.request, *moved);
  }
}

// A track whose groups do not begin on demand cannot be changed so, which is an error to ignore.
void Relay::AskForNewGroup(const TrackName& track, uint64_t group) {
  const auto publishers = published_.find(track);
  const std::optional<TrackFacts> facts = stock_.Find(track);
  if (publishers == published_.end() || !facts) {
    return;
  }
  std::optional<uint64_t> largest;
  if (facts->largest) {
    largest = facts->largest->group;
  }
  if (group != 0 && largest && group <= *largest) {
    return;
  }
  for (const SubscriberId& id : publishers->second) {
    Peer& peer = peers_.at(id.peer);
    Publication& publication = peer.publications.at(id.request);
    moqt::Parameters parameters;
    parameters.new_group_request = group;
    if (!publication.IsNewGroupAsked(group, largest) &&
        peer.session->Update(id.request, parameters).ok()) {
      publication.OnNewGroupAsked(group, largest);
      Touch(peer.id);
    }
  }
}

}  // namespace kvcast::relay
