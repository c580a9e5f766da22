#include "kvcast/relay/subscription.h"

#include <algorithm>
#include <utility>

#include "kvcast/moqt/wanted_range.h"

namespace kvcast::relay {

bool Subscription::Open(Stream& stream, const LiveObject& live) {
  const Object& object = live.object;
  moqt::SubgroupHeader header;
  header.group = object.location.group;
  header.mode = object.subgroup == 0 ? moqt::SubgroupHeader::Mode::kZero
                                     : moqt::SubgroupHeader::Mode::kExplicit;
  header.subgroup = object.subgroup;
  header.priority = object.priority;
  header.properties = true;
  header.end_of_group = live.ends_group;
  header.first_object = live.first_of_subgroup;
  const Result<moqt::StreamId> opened = session_->OpenSubgroup(request_, header);
  if (!opened.ok()) {
    stream.omitted = true;  // It wants nothing for now, or is over.
    return false;
  }
  stream.id = *opened;
  return true;
}

void Subscription::Reset(Stream& stream) {
  if (const auto id = std::exchange(stream.id, std::nullopt)) {
    (void)session_->ResetSubgroup(request_, *id, moqt::ResetCode::kCancelled).ok();
  }
}

bool Subscription::Forward(const LiveObject& live, Instant now) {
  const Object& object = live.object;
  session_->OnTime(now);  // The peer may have said nothing for long.
  watch_.OnObject(object.location, live.gaps, now);
  if (!wanted().Contains(object.location)) {
    if (object.location.group > wanted().last.group && object.forwarding != Forwarding::kDatagram) {
      streams_[{object.location.group, object.subgroup}].omitted = true;
    }
    return false;
  }
  if (object.forwarding == Forwarding::kDatagram) {
    return session_->SendDatagramObject(request_, object, live.ends_group, live.since).ok();
  }
  Stream& stream = streams_[{object.location.group, object.subgroup}];
  if (stream.stopped) {
    return false;
  }
  // What stands between two objects of a stream does not exist in its subgroup: if that is not
  // known, the stream is broken off, and another begun.
  if (stream.id && stream.last + 1 != object.location.object && live.previous != stream.last) {
    Reset(stream);
  }
  if (!stream.id && !Open(stream, live)) {
    return false;
  }
  stream.last = object.location.object;
  return session_->SendObject(request_, *stream.id, object, live.since).ok();
}

void Subscription::PassOver(Location at, uint64_t subgroup) {
  const auto found = streams_.find({at.group, subgroup});
  if (found != streams_.end() && found->second.id && found->second.last < at.object) {
    found->second.omitted = true;
  }
}

void Subscription::Close(Stream& stream, bool complete) {
  if (stream.id && complete && !stream.omitted) {
    (void)session_->EndSubgroup(request_, *std::exchange(stream.id, std::nullopt)).ok();
  } else {
    Reset(stream);
  }
}

void Subscription::EndSubgroup(uint64_t group, uint64_t subgroup, bool complete, Instant now) {
  session_->OnTime(now);
  watch_.OnSubgroupEnd(group, now);
  const auto found = streams_.find({group, subgroup});
  if (found == streams_.end()) {
    return;
  }
  Close(found->second, complete);
  streams_.erase(found);
}

void Subscription::OnStopped(moqt::StreamId stopped) {
  for (auto& [place, stream] : streams_) {
    if (stream.id == stopped) {
      stream.id = std::nullopt;
      stream.stopped = true;
    }
  }
}

void Subscription::Update(const moqt::Parameters& parameters, const TrackFacts& facts) {
  const bool paused = parameters.forward == false;
  if (parameters.filter) {
    watch_ = RangeWatch(moqt::WantedBy(parameters.filter, facts.largest), facts);
  }
  for (auto& [place, stream] : streams_) {
    const bool beyond = place.first > wanted().last.group;
    if (paused || beyond || IsBeforeStart(place, stream)) {
      Reset(stream);
    }
    stream.omitted = stream.omitted || paused || beyond;
  }
}

// Objects before the start are no longer sent, and nobody misses them: what follows in the subgroup
// goes on another stream, which may end well.
bool Subscription::IsBeforeStart(const Place& place, const Stream& stream) const {
  const Location first = wanted().first;
  return place.first < first.group ||
         (place.first == first.group && stream.last + 1 < first.object);
}

bool Subscription::is_sending() const {
  return std::ranges::any_of(streams_, [](const auto& each) { return each.second.id.has_value(); });
}

void Subscription::EndRange(const std::string& reason) {
  for (auto& [place, stream] : streams_) {
    Close(stream, true);
  }
  End(moqt::DoneCode::kSubscriptionEnded, reason);
}

void Subscription::End(moqt::DoneCode code, std::string reason, bool lacks_some) {
  (void)session_->EndTrack(request_, code, std::move(reason), lacks_some).ok();
  streams_.clear();
}

}  // namespace kvcast::relay
