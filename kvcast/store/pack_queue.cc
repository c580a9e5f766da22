#include "kvcast/store/pack_queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "kvcast/base/check_sum.h"
#include "kvcast/store/pack_removals.h"

namespace kvcast {
namespace {

// One upload may take so long, and a second for every so many bytes.
constexpr Duration kUploadAttempt = std::chrono::seconds(10);
constexpr uint64_t kUploadBytesPerSecond = 1 << 20;
constexpr Duration kUploadDelay = std::chrono::milliseconds(200);

}  // namespace

Result<void> PackQueue::CheckFits(const TrackName& track, const RecordDraft& draft,
                                  const EntryBody& entry) const {
  if (PackWriter({}).Fits(options_.pack_bytes, track, draft, entry)) {
    return {};
  }
  return Error(ErrorCode::kTooLarge, "A record of " + std::to_string(draft.size()) +
                                         " bytes does not fit packs of " +
                                         std::to_string(options_.pack_bytes) + ".");
}

PackQueue::OpenPack& PackQueue::Open(uint32_t pool, Instant now) {
  last_number_ = std::max(last_number_, table_->last_own) + 1;
  PackId id{table_->node, last_number_, random_.Next()};
  while (!table_->share.Has(id)) {
    id.marker = random_.Next();
  }
  OpenPack open{PackWriter(id)};
  open.since = now;
  return open_.emplace(pool, std::move(open)).first->second;
}

// All of a track comes into packs of one pool, so that of two that speak of it the later one has
// the higher number.
void PackQueue::Append(uint64_t id, const TrackName& track, const RecordDraft& draft,
                       EntryBody entry, uint64_t received_us, Instant now) {
  const uint32_t pool = pools_->Of(track);
  auto found = open_.find(pool);
  if (found != open_.end() &&
      !found->second.writer.Fits(options_.pack_bytes, track, draft, entry)) {
    Close(std::move(found->second), now);
    open_.erase(found);
    found = open_.end();
  }
  OpenPack& open = found == open_.end() ? Open(pool, now) : found->second;
  last_written_us_ = std::max(last_written_us_, received_us);
  open.written_us = last_written_us_;
  open.owner.Add(pool, std::holds_alternative<Removal>(entry));
  open.record_bytes += draft.size();
  open.cost += draft.CostOf(track);
  queued_bytes_ += draft.CostOf(track);
  const uint64_t offset = open.writer.Append(track, draft, entry);
  open.records.push_back(
      {id, track, std::move(entry), offset, static_cast<uint32_t>(draft.size())});
}

void PackQueue::Close(Instant now) {
  for (auto& [pool, open] : std::exchange(open_, {})) {
    Close(std::move(open), now);
  }
}

void PackQueue::Close(OpenPack open, Instant now) {
  ClosedPack closed;
  // Only removals ask how far their node had read.
  const auto seen =
      std::make_shared<const PackHorizon>(open.removes() ? table_->seen : PackHorizon());
  closed.bytes = open.writer.Seal(open.written_us, *seen);
  closed.cost = open.cost;
  closed.give_up = now + options_.patience;
  closed.settled.pack = {.id = open.writer.id(),
                         .key = open.writer.id().Key(options_.prefix),
                         .bytes = closed.bytes.size(),
                         .written_us = open.written_us,
                         .has_removals = open.removes(),
                         .seen = seen,
                         .owner = std::move(open.owner)};
  closed.settled.records = std::move(open.records);
  keys_.insert(closed.settled.pack.key);
  closed_.push_back(std::move(closed));
}

bool PackQueue::CloseWithLastRoom(uint64_t first_record, Instant now) {
  Close(now);
  const auto first = std::ranges::find_if(closed_, [&](const ClosedPack& closed) {
    return closed.settled.records.front().id >= first_record;
  });
  std::vector<ClosedPack> last(std::make_move_iterator(first),
                               std::make_move_iterator(closed_.end()));
  closed_.erase(first, closed_.end());
  std::vector<ClosedPack> fitting;
  uint64_t bytes = 0;
  for (ClosedPack& closed : last) {
    closed.last_room = true;
    if (HasRoomFor(closed, bytes)) {
      bytes += closed.bytes.size();
      fitting.push_back(std::move(closed));
    } else {
      Settle(std::move(closed), Error(ErrorCode::kMachine, "The bucket's budget is spent."));
    }
  }
  const bool all = fitting.size() == last.size();
  closed_.insert(closed_.begin(), std::make_move_iterator(fitting.begin()),
                 std::make_move_iterator(fitting.end()));
  return all;
}

bool PackQueue::HasRoomFor(const ClosedPack& pack, uint64_t others_bytes) const {
  if (options_.bytes_max == 0) {
    return true;
  }
  // One pack's room is kept for what must be written down before another pack can go.
  const uint64_t kept = pack.last_room ? 0 : options_.pack_bytes;
  return table_->own_bytes + uploading_bytes_ + others_bytes + pack.bytes.size() + kept <=
         options_.bytes_max;
}

void PackQueue::Upload(ClosedPack pack, BucketCalls& calls) {
  BucketRequest request;
  request.kind = BucketRequest::Kind::kPut;
  request.key = pack.settled.pack.key;
  request.bytes = pack.bytes;
  request.length = pack.bytes.size();
  request.checksum = Crc32c(pack.bytes);
  uploading_bytes_ += pack.bytes.size();
  const Duration attempt =
      kUploadAttempt + std::chrono::seconds(pack.bytes.size() / kUploadBytesPerSecond);
  const auto id = calls.Start(std::move(request), {.urgency = BucketCalls::Urgency::kWriter,
                                                   .give_up = pack.give_up,
                                                   .attempt = attempt,
                                                   .delay = kUploadDelay});
  uploading_.emplace(id, std::move(pack));
}

void PackQueue::Pump(BucketCalls& calls, Instant now) {
  for (auto open = open_.begin(); open != open_.end();) {
    const bool due = now >= open->second.since + options_.linger ||
                     open->second.record_bytes >= options_.enough_bytes;
    if (due) {
      Close(std::move(open->second), now);
    }
    open = due ? open_.erase(open) : std::next(open);
  }
  GiveUpOld(now);
  wants_room_ = false;
  while (!closed_.empty() && uploading_.size() < options_.uploads_max) {
    if (!HasRoomFor(closed_.front())) {
      wants_room_ = true;
      return;
    }
    ClosedPack first = std::move(closed_.front());
    closed_.pop_front();
    Upload(std::move(first), calls);
  }
}

void PackQueue::GiveUpOld(Instant now) {
  while (!closed_.empty() && now >= closed_.front().give_up) {
    ClosedPack first = std::move(closed_.front());
    closed_.pop_front();
    Settle(std::move(first),
           Error(ErrorCode::kMachine, "The bucket does not keep up: a pack waited too long."));
  }
}

void PackQueue::Settle(ClosedPack pack, std::optional<Error> error) {
  queued_bytes_ -= pack.cost;
  keys_.erase(pack.settled.pack.key);
  pack.settled.error = std::move(error);
  settled_.push_back(std::move(pack.settled));
}

bool PackQueue::OnEnded(const BucketCalls::Ended& ended) {
  const auto found = uploading_.find(ended.id);
  if (found == uploading_.end()) {
    return false;
  }
  ClosedPack pack = std::move(found->second);
  uploading_.erase(found);
  uploading_bytes_ -= pack.bytes.size();
  std::optional<Error> error;
  if (const auto& failed = ended.completion.error) {
    pack.settled.perhaps_there = ended.attempts > 0;
    error = Error(ErrorCode::kMachine, "A pack could not be put into the bucket (" +
                                           std::string(ToString(failed->kind)) +
                                           "): " + failed->message);
  }
  Settle(std::move(pack), std::move(error));
  return true;
}

std::vector<PackQueue::Settled> PackQueue::TakeSettled() { return std::exchange(settled_, {}); }

PackQueue::Removed PackQueue::RemovedFrom(const PackId& pack) const {
  Removed removed;
  const auto add = [&](const std::vector<Record>& records) {
    for (const Record& record : records) {
      if (const auto* removal = std::get_if<Removal>(&record.entry)) {
        removed.emplace(record.track, removal->group);
      }
    }
  };
  const auto add_closed = [&](const Settled& settled) {
    const Pack& remover = settled.pack;
    if (remover.has_removals && Reaches(remover.id, *remover.seen, pack)) {
      add(settled.records);
    }
  };
  for (const auto& [pool, open] : open_) {
    add(open.records);  // They will reach all that is known when they are closed.
  }
  for (const ClosedPack& closed : closed_) {
    add_closed(closed.settled);
  }
  for (const auto& [call, uploading] : uploading_) {
    add_closed(uploading.settled);
  }
  return removed;
}

std::optional<Instant> PackQueue::deadline() const {
  std::optional<Instant> first;
  for (const auto& [pool, open] : open_) {
    const Instant due = open.since + options_.linger;
    first = first ? std::min(*first, due) : due;
  }
  if (!closed_.empty()) {
    first = first ? std::min(*first, closed_.front().give_up) : closed_.front().give_up;
  }
  return first;
}

}  // namespace kvcast
