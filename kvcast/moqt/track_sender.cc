#include "kvcast/moqt/track_sender.h"

#include <utility>

namespace kvcast::moqt {
namespace {

Error Over() { return Error(ErrorCode::kNotFound, "The subgroup's stream is over."); }

}  // namespace

void TrackSender::Begin(uint64_t alias, uint8_t default_priority, const Parameters& parameters) {
  alias_ = alias;
  default_priority_ = default_priority;
  largest_ = parameters.largest_object;
  open_ = true;
  Update(parameters);
}

void TrackSender::Update(const Parameters& parameters) {
  forward_ = parameters.forward.value_or(forward_);
  subscriber_priority_ = parameters.subscriber_priority.value_or(subscriber_priority_);
  order_ = parameters.group_order.value_or(order_);
}

SendOrder TrackSender::OrderOf(const SubgroupHeader& header) const {
  return {SendOrder::Tier::kData, subscriber_priority_, header.priority.value_or(default_priority_),
          order_ == GroupOrder::kAscending ? header.group : ~header.group, header.subgroup};
}

Result<StreamId> TrackSender::OpenSubgroup(SubgroupHeader header) {
  if (!open_) {
    return Error(ErrorCode::kNotFound, "The subscription is not open.");
  }
  if (!forward_) {
    return Error(ErrorCode::kInvalid, "The subscriber does not want objects now.");
  }
  header.alias = alias_;
  const StreamId stream = state_->OpenUni(OrderOf(header));
  ++stream_count_;
  const auto& writer = subgroups_[stream] = state_->codec.WriteSubgroup(header);
  Bytes bytes = writer->Header();
  state_->ledger.Open(stream, request_);
  state_->ledger.Add(stream, bytes.size());
  state_->outbox.Do(SendBytes{stream, std::move(bytes), false});
  return stream;
}

Result<void> TrackSender::Send(StreamId subgroup, const Object& object) {
  const auto found = subgroups_.find(subgroup);
  if (found == subgroups_.end()) {
    return Over();
  }
  if (!found->second->Accepts(object)) {
    return Error(ErrorCode::kInvalid,
                 "Object " + object.location.ToString() + " may not be next on its stream.");
  }
  Bytes bytes = found->second->Write(object);
  if (!largest_ || *largest_ < object.location) {
    largest_ = object.location;
  }
  state_->ledger.Add(subgroup, bytes.size());
  state_->outbox.Do(SendBytes{subgroup, std::move(bytes), false});
  return {};
}

Result<void> TrackSender::End(StreamId subgroup) {
  if (subgroups_.erase(subgroup) == 0) {
    return Over();
  }
  state_->outbox.Do(SendBytes{subgroup, Bytes(), true});
  state_->ledger.Finish(subgroup);
  return {};
}

Result<void> TrackSender::Reset(StreamId subgroup, ResetCode code) {
  if (subgroups_.erase(subgroup) == 0) {
    return Over();
  }
  state_->outbox.Do(ResetStream{subgroup, static_cast<uint64_t>(code)});
  state_->ledger.Drop(subgroup);
  return {};
}

bool TrackSender::OnStopped(StreamId subgroup) {
  return Reset(subgroup, ResetCode::kCancelled).ok();
}

void TrackSender::Stop(ResetCode code) {
  open_ = false;
  while (!subgroups_.empty()) {
    (void)Reset(subgroups_.begin()->first, code).ok();
  }
}

}  // namespace kvcast::moqt
