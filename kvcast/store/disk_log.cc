#include "kvcast/store/disk_log.h"

#include <algorithm>
#include <utility>

#include "kvcast/base/check.h"

namespace kvcast {
namespace {

// How long a disk that is full or fails is left alone before it is tried again.
constexpr Duration kRefusal = std::chrono::seconds(1);

uint64_t CostOf(const PendingRecord& record) { return record.draft.CostOf(record.track); }

}  // namespace

std::optional<Error> DiskLog::Refusal(Instant now) const {
  if (refusing_until_ && now < *refusing_until_) {
    return Error(ErrorCode::kMachine, refusal_);
  }
  if (table_->last_number >= kSegmentNumberMax) {
    return Error(ErrorCode::kMachine, "The directory has used up its segment numbers.");
  }
  return std::nullopt;
}

Result<void> DiskLog::CheckFits(const TrackName& track, const RecordDraft& draft,
                                const EntryBody& entry) const {
  // Puts leave a reserve, so what does not fit beside it would wait for ever.
  if (SegmentWriter::FitsEmpty(options_.segment_bytes - options_.segment_bytes / 4, track, draft,
                               entry)) {
    return {};
  }
  return Error(ErrorCode::kTooLarge, "A record of " + std::to_string(draft.size()) +
                                         " bytes does not fit segments of " +
                                         std::to_string(options_.segment_bytes) + ".");
}

void DiskLog::Queue(PendingRecord record) {
  queued_bytes_ += CostOf(record);
  const bool moved = record.origin != PendingRecord::Origin::kPut;
  (moved ? moved_ : queue_).push_back(std::move(record));
}

std::vector<PendingRecord> DiskLog::TakeBackCarries(uint32_t from_segment) {
  std::vector<PendingRecord> taken;
  std::deque<PendingRecord> left;
  for (PendingRecord& record : moved_) {
    if (record.origin == PendingRecord::Origin::kCarry && record.from.segment == from_segment) {
      queued_bytes_ -= CostOf(record);
      taken.push_back(std::move(record));
    } else {
      left.push_back(std::move(record));
    }
  }
  moved_ = std::move(left);
  return taken;
}

const SegmentWriter* DiskLog::Active() const {
  if (open_.empty() || open_.back().writer.sealing() || open_.back().writer.failure()) {
    return nullptr;
  }
  return &open_.back().writer;
}

SegmentWriter* DiskLog::Active() {
  return const_cast<SegmentWriter*>(std::as_const(*this).Active());
}

void DiskLog::Seal() {
  if (SegmentWriter* const active = Active()) {
    active->Seal();
  }
}

bool DiskLog::AppendOne(std::deque<PendingRecord>& queue, uint64_t spare) {
  if (queue.empty()) {
    return false;
  }
  PendingRecord& record = queue.front();
  SegmentWriter* active = Active();
  if (active != nullptr && !active->Fits(record.track, record.draft, record.entry, spare)) {
    if (spare > 0) {
      return false;  // It waits until what is moved has been.
    }
    active->Seal();
    active = nullptr;
  }
  if (active == nullptr) {
    if (!ready_) {
      return false;
    }
    table_->segments.at(static_cast<uint32_t>(ready_->segment)).state = SegmentState::kWriting;
    open_.push_back({SegmentWriter(*ready_, *outbox_), {}, false});
    ready_.reset();
    return true;
  }
  const DiskPlace place = active->Append(record.track, record.draft, record.entry);
  open_.back().has_puts |= record.origin == PendingRecord::Origin::kPut;
  open_.back().unsynced.push_back({place, std::move(record)});
  queue.pop_front();
  return true;
}

void DiskLog::AppendAll() {
  while (AppendOne(moved_, 0)) {
  }
  while (!Cramped() && AppendOne(queue_, reserve_)) {
  }
}

bool DiskLog::WantsSegment() const {
  const SegmentWriter* active = Active();
  const bool waiting = !moved_.empty() || !queue_.empty();
  // Where puts come, more will: the next segment is made before it is needed.
  const bool half_full =
      active != nullptr && open_.back().has_puts && active->end() > options_.segment_bytes / 2;
  return creating_ == 0 && !ready_ && (half_full || (active == nullptr && waiting));
}

bool DiskLog::MayCreate() const {
  const bool must = !moved_.empty() && Active() == nullptr;
  const bool room =
      must ? table_->allocated + options_.segment_bytes <= ceiling_ : HasRoomFor(1 + kLastSegments);
  return room && table_->last_number < kSegmentNumberMax;
}

bool DiskLog::wants_room() const {
  return (WantsSegment() && !MayCreate()) || (Cramped() && !queue_.empty());
}

bool DiskLog::sealing() const {
  return creating_ != 0 || !unmaking_.empty() ||
         std::ranges::any_of(open_, [](const OpenSegment& open) {
           return open.writer.sealing() || open.writer.failure();
         });
}

bool DiskLog::stuck() const {
  return WantsSegment() && !MayCreate() && !moved_.empty() && Active() == nullptr;
}

void DiskLog::Create() {
  creating_number_ = table_->last_number + 1;
  table_->Add(creating_number_, {.bytes = options_.segment_bytes});
  creating_ = outbox_->Create(creating_number_, options_.segment_bytes);
}

void DiskLog::Pump(Instant now) {
  if (refusing_until_ && now >= *refusing_until_) {
    refusing_until_.reset();
  }
  SetCeiling();
  AppendAll();
  if (WantsSegment() && MayCreate() && !refusing_until_) {
    Create();
  }
  for (auto open = open_.begin(); open != open_.end();) {
    open->writer.Pump();
    Settle(*open, now);
    const bool over = open->writer.sealed() || (open->writer.failure() && open->writer.idle());
    open = over ? open_.erase(open) : std::next(open);
  }
}

void DiskLog::Settle(OpenSegment& open, Instant now) {
  while (!open.unsynced.empty() && open.unsynced.front().place.offset < open.writer.durable()) {
    Unsynced& first = open.unsynced.front();
    queued_bytes_ -= CostOf(first.record);
    settled_.push_back({std::move(first.record), first.place, std::nullopt});
    open.unsynced.pop_front();
    failures_in_a_row_ = 0;
  }
  Segment& segment = table_->segments.at(open.writer.segment());
  if (open.writer.sealed()) {
    segment.state = SegmentState::kSealed;
  }
  if (open.writer.failure() && segment.state == SegmentState::kWriting) {
    segment.state = SegmentState::kFrail;
    ++failure_count_;
    const Error error(ErrorCode::kMachine,
                      DiskFileName(open.writer.segment()) +
                          " could not be written: " + open.writer.failure()->message);
    for (Unsynced& lost : open.unsynced) {
      Fail(std::move(lost.record), error);
    }
    open.unsynced.clear();
    if (++failures_in_a_row_ > 1 || open.writer.failure()->no_space) {
      Refuse(error, now);
    }
  }
}

void DiskLog::Fail(PendingRecord record, const Error& error) {
  queued_bytes_ -= CostOf(record);
  settled_.push_back({std::move(record), {}, error});
}

void DiskLog::Refuse(const Error& error, Instant now) {
  refusing_until_ = now + kRefusal;
  refusal_ = error.message();
  for (PendingRecord& record : queue_) {
    Fail(std::move(record), error);
  }
  queue_.clear();
}

bool DiskLog::OnCompletion(const DeviceCompletion& completion, Instant now) {
  if (creating_ != 0 && completion.token == creating_) {
    creating_ = 0;
    OnCreated(completion, now);
    return true;
  }
  if (const auto unmade = unmaking_.find(completion.token); unmade != unmaking_.end()) {
    if (completion.error) {
      Segment& segment = table_->segments.at(unmade->second);
      segment.state = SegmentState::kFrail;
      segment.unmade = true;
      segment.retry_at = now + kRefusal;
    } else {
      table_->Drop(unmade->second);
    }
    unmaking_.erase(unmade);
    return true;
  }
  return std::ranges::any_of(
      open_, [&](OpenSegment& open) { return open.writer.OnCompletion(completion); });
}

void DiskLog::OnCreated(const DeviceCompletion& completion, Instant now) {
  const auto number = static_cast<uint32_t>(creating_number_);
  if (completion.error) {
    // Perhaps it is there in part.
    unmaking_.emplace(outbox_->Remove(number), number);
    ++failure_count_;
    Refuse(Error(ErrorCode::kMachine,
                 DiskFileName(number) + " could not be made: " + completion.error->message),
           now);
    return;
  }
  uint64_t marker = 0;
  while (marker == 0) {
    marker = random_.Next();
  }
  table_->segments.at(number).marker = marker;
  ready_ = SegmentHeader{options_.directory, number, options_.segment_bytes, marker};
}

std::vector<DiskLog::Settled> DiskLog::TakeSettled() { return std::exchange(settled_, {}); }

std::optional<Instant> DiskLog::deadline() const {
  return refusing_until_ && !moved_.empty() ? refusing_until_ : std::nullopt;
}

bool DiskLog::idle() const {
  return moved_.empty() && queue_.empty() && creating_ == 0 && unmaking_.empty() &&
         std::ranges::all_of(open_, [](const OpenSegment& open) {
           return open.unsynced.empty() && open.writer.idle() && !open.writer.sealing();
         });
}

bool DiskLog::Busy(uint32_t segment) const {
  return std::ranges::any_of(
      open_, [&](const OpenSegment& open) { return open.writer.segment() == segment; });
}

uint64_t DiskLog::index_bytes() const {
  uint64_t bytes = 0;
  for (const OpenSegment& open : open_) {
    bytes += open.writer.index_bytes();
  }
  return bytes;
}

}  // namespace kvcast
