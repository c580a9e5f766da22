#include "kvcast/host/track_writer.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace kvcast {

Location TrackWriter::next() const {
  if (layout_.group_objects == 0) {
    return {layout_.first_group, sent_};
  }
  return {layout_.first_group + sent_ / layout_.group_objects, sent_ % layout_.group_objects};
}

// REQUIRES: the group's first object is the next one, or was sent.
bool TrackWriter::HasLastObject(uint64_t subgroup) const {
  if (layout_.subgroups == 1) {
    return true;  // Its stream ends when the group does.
  }
  const uint64_t begun = next().object;  // Of this group.
  uint64_t objects = layout_.group_objects;
  if (layout_.count) {
    const uint64_t left = *layout_.count - (sent_ - begun);
    objects = objects == 0 ? left : std::min(objects, left);
  } else if (objects == 0) {
    return false;
  }
  return (objects - 1) % layout_.subgroups == subgroup;
}

Result<moqt::StreamId> TrackWriter::StreamOf(uint64_t subgroup) {
  if (const auto found = streams_.find(subgroup); found != streams_.end()) {
    return found->second;
  }
  moqt::SubgroupHeader header;
  header.group = next().group;
  header.mode =
      subgroup == 0 ? moqt::SubgroupHeader::Mode::kZero : moqt::SubgroupHeader::Mode::kExplicit;
  header.subgroup = subgroup;
  header.priority = layout_.priority;
  header.end_of_group = HasLastObject(subgroup);
  header.first_object = next().object == subgroup;  // Unless it began for another subscription.
  KVCAST_TRY(const moqt::StreamId stream, session_->OpenSubgroup(request_, header));
  streams_[subgroup] = stream;
  return stream;
}

void TrackWriter::Continue(moqt::RequestId request) {
  request_ = request;
  streams_.clear();
  cut_.clear();  // What another subscription left out, this one does not lack.
}

void TrackWriter::Reset(moqt::StreamId stream) {
  (void)session_->ResetSubgroup(request_, stream, moqt::ResetCode::kCancelled).ok();
}

void TrackWriter::Want(const LocationRange& wanted) {
  wanted_ = wanted;
  if (!streams_.empty() && !wanted_.Contains(next())) {
    for (const auto& [subgroup, stream] : std::exchange(streams_, {})) {
      Reset(stream);
    }
  }
}

Result<void> TrackWriter::SendWanted(const Object& object) {
  if (!wanted_.Contains(object.location)) {
    ++unwanted_;
    if (object.location.group > wanted_.last.group) {
      cut_.insert(object.subgroup);
    }
    return {};
  }
  KVCAST_TRY(const moqt::StreamId stream, StreamOf(object.subgroup));
  return session_->SendObject(request_, stream, object);
}

Result<void> TrackWriter::Send(Bytes payload) {
  if (layout_.group_objects != 0 &&
      sent_ / layout_.group_objects > std::numeric_limits<uint64_t>::max() - layout_.first_group) {
    return Error(ErrorCode::kTooLarge, "There is no group after the last that has a number.");
  }
  Object object;
  object.location = next();
  object.subgroup = object.location.object % layout_.subgroups;
  object.priority = layout_.priority.value_or(object.priority);
  object.payload = std::move(payload);
  KVCAST_TRY_VOID(SendWanted(object));
  largest_ = object.location;
  ++sent_;
  return layout_.group_objects != 0 && next().object == 0 ? EndGroup() : Result<void>();
}

Result<void> TrackWriter::EndGroup() {
  const std::set<uint64_t> cut = std::exchange(cut_, {});
  for (const auto& [subgroup, stream] : std::exchange(streams_, {})) {
    if (cut.contains(subgroup)) {
      Reset(stream);
    } else {
      KVCAST_TRY_VOID(session_->EndSubgroup(request_, stream));
    }
  }
  return {};
}

}  // namespace kvcast
