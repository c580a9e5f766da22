#include "kvcast/moqt/track_sender.h"

#include <algorithm>
#include <utility>

#include "kvcast/base/check.h"

namespace kvcast::moqt {
namespace {

Error Over() { return Error(ErrorCode::kNotFound, "The subgroup's stream is over."); }

// The smaller one, where 0 means none.
uint64_t Combine(uint64_t a, uint64_t b) { return a == 0 || b == 0 ? a + b : std::min(a, b); }

}  // namespace

void TrackSender::Begin(uint64_t alias, const TrackTraits& traits, const Parameters& parameters) {
  alias_ = alias;
  traits_ = traits;
  order_ = traits.group_order;
  largest_ = parameters.largest_object;
  open_ = true;
  Update(parameters);
}

void TrackSender::Update(const Parameters& parameters) {
  const std::pair place(subscriber_priority_, order_);
  const std::pair timeouts(object_timeout_ms_, subgroup_timeout_ms_);
  forward_ = parameters.forward.value_or(forward_);
  object_timeout_ms_ = parameters.object_delivery_timeout_ms.value_or(object_timeout_ms_);
  subgroup_timeout_ms_ = parameters.subgroup_delivery_timeout_ms.value_or(subgroup_timeout_ms_);
  subscriber_priority_ = parameters.subscriber_priority.value_or(subscriber_priority_);
  order_ = parameters.group_order.value_or(order_);
  const bool retimed = timeouts != std::pair(object_timeout_ms_, subgroup_timeout_ms_);
  if (streams_.empty() || (!retimed && place == std::pair(subscriber_priority_, order_))) {
    return;
  }
  retimed_ = retimed_ || retimed;
  state_->behind.insert(request_);
  if (state_->changes_left > 0) {
    SetDeadlines();
  }
}

void TrackSender::CatchUp() {
  SetDeadlines();
  state_->changes_left -= static_cast<int64_t>(streams_.size());
  const std::pair place(subscriber_priority_, order_);
  for (auto& [id, stream] : streams_) {
    if (!stream.sent_all && std::exchange(stream.place, place) != place) {
      state_->outbox.Do(ReorderStream{id, OrderOf(stream.header)});
    }
  }
}

void TrackSender::SetDeadlines() {
  if (!std::exchange(retimed_, false)) {
    return;
  }
  state_->changes_left -= static_cast<int64_t>(streams_.size());
  for (auto& [id, stream] : streams_) {
    SetDeadline(id, stream);
  }
  SetTimer();
}

SendOrder TrackSender::OrderOf(uint8_t priority, uint64_t group, uint64_t subgroup) const {
  return {SendOrder::Tier::kData,
          subscriber_priority_,
          priority,
          request_,
          order_ == GroupOrder::kAscending ? group : ~group,
          subgroup};
}

SendOrder TrackSender::OrderOf(const SubgroupHeader& header) const {
  return OrderOf(header.priority.value_or(traits_.default_priority), header.group, header.subgroup);
}

Result<void> TrackSender::MaySend() const {
  if (!open_) {
    return Error(ErrorCode::kNotFound, "The subscription is not open.");
  }
  if (!forward_) {
    return Error(ErrorCode::kInvalid, "The subscriber does not want objects now.");
  }
  return {};
}

void TrackSender::Note(Location location) {
  if (!largest_ || *largest_ < location) {
    largest_ = location;
  }
}

void TrackSender::Write(StreamId id, Stream& stream, Bytes bytes) {
  stream.written += bytes.size();
  state_->ledger.Add(id, bytes.size());
  state_->outbox.Do(SendBytes{id, std::move(bytes), false});
}

Result<StreamId> TrackSender::OpenSubgroup(SubgroupHeader header) {
  KVCAST_TRY_VOID(MaySend());
  header.alias = alias_;
  const StreamId id = state_->OpenUni(OrderOf(header));
  ++unsent_streams_;
  Stream& stream = streams_[id];
  stream.header = header;
  stream.place = {subscriber_priority_, order_};
  stream.writer = state_->codec.WriteSubgroup(header);
  state_->ledger.Open(id, request_);
  Write(id, stream, stream.writer->Header());
  return id;
}

TrackSender::Streams::iterator TrackSender::FindOpen(StreamId subgroup) {
  const auto found = streams_.find(subgroup);
  return found == streams_.end() || found->second.ended ? streams_.end() : found;
}

Result<void> TrackSender::Send(StreamId subgroup, const Object& object, Instant since) {
  const auto found = FindOpen(subgroup);
  if (found == streams_.end()) {
    return Over();
  }
  Stream& stream = found->second;
  if (!stream.writer->Accepts(object)) {
    return Error(ErrorCode::kInvalid,
                 "Object " + object.location.ToString() + " may not be next on its stream.");
  }
  const uint64_t timeout = Combine(traits_.object_delivery_timeout_ms, object_timeout_ms_);
  if (timeout > 0 && After(since, timeout) < state_->now) {
    ResetLate(found);
    SetTimer();
    return Over();
  }
  if (timeout > 0) {
    stream.unsent.push_back({stream.written, since});
  }
  Write(subgroup, stream, stream.writer->Write(object));
  Note(object.location);
  if (timeout > 0) {
    SetDeadline(subgroup, stream);
    SetTimer();
  }
  return {};
}

Result<void> TrackSender::SendAlone(const Object& object, bool end_of_group, Instant since) {
  KVCAST_TRY_VOID(MaySend());
  const bool normal = object.status == ObjectStatus::kNormal;
  if (!normal && (end_of_group || !object.payload.empty() || !object.properties.empty())) {
    return Error(ErrorCode::kInvalid, "A status has neither payload nor properties.");
  }
  Note(object.location);
  const uint64_t timeout = Combine(Combine(traits_.object_delivery_timeout_ms, object_timeout_ms_),
                                   subgroup_timeout_ms());
  const Instant until = timeout > 0 ? After(since, timeout) : Instant::max();
  if (until < state_->now) {
    return {};  // Datagrams may be lost.
  }
  ObjectDatagram datagram;
  datagram.alias = alias_;
  datagram.object = object;
  datagram.default_priority = object.priority == traits_.default_priority;
  datagram.end_of_group = end_of_group;
  ++waiting_datagrams_;
  state_->outbox.Do(
      SendDatagram{state_->codec.EncodeDatagram(datagram),
                   OrderOf(object.priority, object.location.group, object.location.object), until});
  return {};
}

Result<void> TrackSender::End(StreamId subgroup) {
  const auto found = FindOpen(subgroup);
  if (found == streams_.end()) {
    return Over();
  }
  state_->outbox.Do(SendBytes{subgroup, Bytes(), true});
  state_->ledger.Finish(subgroup);
  Stream& stream = found->second;
  stream.ended = state_->now;
  SetDeadline(subgroup, stream);
  if (stream.sent >= stream.written) {
    OnSentAll(found);
  }
  SetTimer();
  return {};
}

uint64_t TrackSender::subgroup_timeout_ms() const {
  return Combine(traits_.subgroup_delivery_timeout_ms, subgroup_timeout_ms_);
}

// What gets lost is sent again, and that has its time too.
void TrackSender::OnSentAll(Streams::iterator stream) {
  stream->second.sent_all = true;
  --unsent_streams_;
  if (subgroup_timeout_ms() == 0) {
    Forget(stream);
  } else {
    state_->undelivered.emplace(stream->first, request_);
  }
}

void TrackSender::OnDelivered(StreamId subgroup) {
  if (const auto found = streams_.find(subgroup); found != streams_.end()) {
    Forget(found);
    SetTimer();
  }
}

void TrackSender::OnDatagramsGone(uint64_t count) {
  KVCAST_CHECK(count <= waiting_datagrams_);
  waiting_datagrams_ -= count;
}

Result<void> TrackSender::Reset(StreamId subgroup, ResetCode code) {
  const auto found = FindOpen(subgroup);
  if (found == streams_.end()) {
    return Over();
  }
  GiveUp(found, code);
  SetTimer();
  return {};
}

void TrackSender::GiveUp(Streams::iterator stream, ResetCode code) {
  if (!stream->second.sent_all) {
    state_->outbox.Do(ResetStream{stream->first, static_cast<uint64_t>(code)});
    state_->ledger.Drop(stream->first);
  }
  Forget(stream);
}

void TrackSender::SetDeadline(StreamId id, Stream& stream) {
  const uint64_t object = Combine(traits_.object_delivery_timeout_ms, object_timeout_ms_);
  const uint64_t subgroup = subgroup_timeout_ms();
  std::optional<Instant> deadline;
  if (object > 0 && !stream.unsent.empty()) {
    deadline = After(stream.unsent.front().since, object);
  }
  if (subgroup > 0 && stream.ended) {
    const Instant end = After(*stream.ended, subgroup);
    deadline = deadline ? std::min(*deadline, end) : end;
  }
  if (deadline == stream.deadline) {
    return;
  }
  if (stream.deadline) {
    deadlines_.erase({*stream.deadline, id});
  }
  if (deadline) {
    deadlines_.insert({*deadline, id});
  }
  stream.deadline = deadline;
}

void TrackSender::SetTimer() {
  state_->timers.Set({request_, Timers::Kind::kDelivery},
                     deadlines_.empty() ? std::nullopt : std::optional(deadlines_.begin()->first));
}

void TrackSender::Forget(Streams::iterator stream) {
  if (stream->second.deadline) {
    deadlines_.erase({*stream->second.deadline, stream->first});
  }
  state_->undelivered.erase(stream->first);
  unsent_streams_ -= stream->second.sent_all ? 0u : 1u;
  left_out_ = left_out_ || stream->second.sent == 0;
  streams_.erase(stream);
}

void TrackSender::ResetLate(Streams::iterator stream) {
  const StreamId id = stream->first;
  state_->outbox.Do(ResetStream{id, static_cast<uint64_t>(ResetCode::kDeliveryTimeout)});
  state_->ledger.Drop(id);
  Forget(stream);
  state_->outbox.Tell(SubgroupStopped{request_, id, true});
}

void TrackSender::OnSent(StreamId subgroup, uint64_t bytes) {
  const auto found = streams_.find(subgroup);
  if (found == streams_.end()) {
    return;
  }
  Stream& stream = found->second;
  stream_count_ += stream.sent == 0 && bytes > 0 ? 1u : 0u;
  stream.sent += bytes;
  const bool all = stream.ended && stream.sent >= stream.written;
  if (!all && (stream.unsent.empty() || stream.unsent.front().begin >= stream.sent)) {
    return;
  }
  while (!stream.unsent.empty() && stream.unsent.front().begin < stream.sent) {
    stream.unsent.pop_front();
  }
  SetDeadline(subgroup, stream);
  if (all) {
    OnSentAll(found);
  }
  SetTimer();
}

void TrackSender::OnTimeout() {
  while (!deadlines_.empty() && deadlines_.begin()->first <= state_->now) {
    ResetLate(streams_.find(deadlines_.begin()->second));
  }
  SetTimer();
}

bool TrackSender::OnStopped(StreamId subgroup) {
  const auto found = streams_.find(subgroup);
  if (found == streams_.end()) {
    return false;
  }
  const bool had_more = !found->second.ended || !found->second.sent_all;
  GiveUp(found, ResetCode::kCancelled);
  SetTimer();
  return had_more;
}

void TrackSender::Close(ResetCode code) {
  open_ = false;
  for (auto stream = streams_.begin(); stream != streams_.end();) {
    const auto each = stream++;
    if (!each->second.ended) {
      GiveUp(each, code);
    }
  }
  SetTimer();
}

void TrackSender::Stop(ResetCode code) {
  open_ = false;
  while (!streams_.empty()) {
    GiveUp(streams_.begin(), code);
  }
  SetTimer();
}

}  // namespace kvcast::moqt
