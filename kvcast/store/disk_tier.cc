#include "kvcast/store/disk_tier.h"

#include <algorithm>

#include "kvcast/base/check.h"

namespace kvcast {
namespace {

// A directory that does not answer is asked again after this.
constexpr Duration kOpenAgain = std::chrono::seconds(1);

constexpr size_t kGroupsPage = 1024;

constexpr uint64_t kSsdSegmentBytes = uint64_t{64} << 20;
constexpr uint64_t kHddSegmentBytes = uint64_t{256} << 20;
// One being written, one being made, one being emptied, and the last resort.
constexpr uint64_t kSegmentsMin = 3 + DiskLog::kLastSegments;

}  // namespace

uint64_t DiskTierOptions::SegmentBytes() const {
  if (segment_bytes != 0) {
    return segment_bytes;
  }
  return disk_class == DiskClass::kHdd ? kHddSegmentBytes : kSsdSegmentBytes;
}

uint64_t DiskTierOptions::LeastBytes() const {
  return kSuperblockBytes + kSegmentsMin * SegmentBytes();
}

DiskTier::DiskTier(const DiskTierOptions& options, std::unique_ptr<DiskPolicy> policy, Log log)
    : IndexedTier(options.key_property),
      options_(options),
      policy_(std::move(policy)),
      logger_(std::move(log)) {
  KVCAST_CHECK(options_.bytes_max >= options_.LeastBytes());
  KVCAST_CHECK(options_.SegmentBytes() % kDeviceBlockBytes == 0);
  Open();
}

void DiskTier::Open() {
  open_again_.reset();
  opening_reads_ = 0;
  const Superblock fresh{options_.fresh, options_.disk_class, options_.SegmentBytes()};
  opening_.emplace(fresh, options_.key_property, *index_, table_, outbox_);
}

void DiskTier::OnOpened(Instant now) {
  if (opening_->refused()) {
    state_ = State::kRefused;
    refusal_ = opening_->refused();
    logger_.Error("directory refused", {{"reason", refusal_->ToString()}});
    opening_.reset();
  } else if (opening_->failure()) {
    logger_.Warning("directory does not answer", {{"reason", opening_->failure()->message}});
    open_again_ = now + kOpenAgain;
    opening_.reset();
  } else if (opening_->waits() && !open_again_) {
    logger_.Warning("segments cannot be read; a start waits for them", {});
    open_again_ = now + kOpenAgain;
  } else if (opening_->done()) {
    counts_.damaged += opening_->damaged();
    if (opening_->cut_segments() > 0) {
      logger_.Error("segments were cut short: what they held is lost",
                    {{"segments", opening_->cut_segments()},
                     {"do", "look at the file system of this directory"}});
    }
    superblock_ = opening_->superblock();
    // A directory whose segments are too large for its budget now goes on with ours.
    if (kSuperblockBytes + kSegmentsMin * superblock_.segment_bytes > options_.bytes_max) {
      superblock_.segment_bytes = options_.SegmentBytes();
    }
    removals_ = opening_->TakeRemovals();
    opening_.reset();
    state_ = State::kReady;
    log_.emplace(
        DiskLog::Options{superblock_.directory, superblock_.segment_bytes, options_.bytes_max},
        options_.seed, table_, outbox_);
    if (over_budget()) {
      logger_.Warning("directory takes more than its budget; what is worth least goes",
                      {{"bytes", table_.allocated}, {"bytes_max", options_.bytes_max}});
    }
    if (index_full()) {
      logger_.Error("index has no room for all that is here; what is worth least goes",
                    {{"bytes", index_bytes()}, {"bytes_max", options_.index_bytes_max}});
    }
    CountUnread();
    if (unread_segments_ == 0) {
      index_->EraseHollowGroups();
    }
    if (unread_segments_ > 0) {
      counts_.read_errors += unread_segments_;
      logger_.Error("segments cannot be read; they stay, and are read again",
                    {{"segments", unread_segments_}});
    }
    logger_.Info("directory opened", {{"segments", table_.segments.size()},
                                      {"objects", index_->object_count()},
                                      {"damaged", counts_.damaged}});
    TellPolicy();
  }
}

// What was written last is taken for what was used last: nothing better survives a restart.
void DiskTier::TellPolicy() {
  if (!policy_->listens()) {
    return;
  }
  std::vector<std::pair<DiskPlace, ListedGroup>> groups;
  for (auto page = index_->Groups(std::nullopt, kGroupsPage); !page.empty();) {
    const EvictedGroup last{page.back().track, page.back().group};
    for (ListedGroup& group : page) {
      const DiskPlace place = index_->LastPlace(group.track, group.group);
      groups.emplace_back(place, std::move(group));
    }
    page = index_->Groups(last, kGroupsPage);
  }
  std::ranges::stable_sort(groups, {}, [](const auto& one) { return one.first; });
  for (const auto& [place, group] : groups) {
    if (group.facts.object_count > 0) {
      policy_->OnStored(group.track, group.group, group.key,
                        index_->RecordBytes(group.track, group.group));
    }
  }
}

void DiskTier::Evicted(TierEvicted evicted) {
  policy_->OnGone(evicted.group.track, evicted.group.group);
  progress_ = true;
  events_.push_back(std::move(evicted));
}

void DiskTier::OnCompletion(const DeviceCompletion& completion, Instant now) {
  ++answered_;
  silent_since_.reset();
  if (opening_) {
    opening_reads_ += completion.bytes.empty() ? 0u : 1u;
    opening_reads_max_ = std::max(opening_reads_max_, opening_reads_);
    opening_->OnCompletion(completion);
    OnOpened(now);
  } else if (const auto found = readings_.find(completion.token); found != readings_.end()) {
    const Reading reading = std::move(found->second);
    readings_.erase(found);
    OnRead(reading, completion, now);
  } else if (log_ && !log_->OnCompletion(completion, now) && !OnRemoved(completion, now)) {
    (void)((rescue_ && rescue_->OnCompletion(completion)) ||
           (evict_ && evict_->OnCompletion(completion)) ||
           (late_ && late_->OnCompletion(completion)));
  }
  Pump(now);
}

void DiskTier::OnTime(Instant now) {
  if (open_again_ && now >= *open_again_) {
    if (opening_) {
      open_again_.reset();
      opening_->ReadAgain();
    } else {
      Open();
    }
  }
  Pump(now);
}

std::optional<Instant> DiskTier::deadline() const {
  std::optional<Instant> first = open_again_;
  const auto take = [&](std::optional<Instant> other) {
    first = other && (!first || *other < *first) ? other : first;
  };
  take(log_ ? log_->deadline() : std::nullopt);
  if (!away_) {
    take(looks_ < kLooksMax ? doubts_.deadline() : std::nullopt);
    take(silent_since_ ? std::optional(*silent_since_ + kAwayAfter) : std::nullopt);
  }
  if (evict_again_ != Instant() && !evict_ &&
      (index_full() || over_budget() || log_->puts_wait())) {
    take(evict_again_);
  }
  for (const auto& [number, segment] : table_.segments) {
    const bool again = segment.state == SegmentState::kFrail ||
                       segment.state == SegmentState::kHeld ||
                       segment.state == SegmentState::kUnread;
    if (again && !segment.draining && segment.retry_at != Instant()) {
      take(segment.retry_at);
    }
  }
  return first;
}

void DiskTier::Pump(Instant now) {
  if (state_ != State::kReady) {
    return;
  }
  LookAgain(now);
  OnLate(now);
  StartLate(now);
  // Draining queues records, and records that settle may end a drain.
  for (int round = 0; round < 2; ++round) {
    StartDrains(now);
    PumpDrain(rescue_, now);
    PumpDrain(evict_, now);
    log_->SetReserve(evict_ ? superblock_.segment_bytes / 4 : 0);
    log_->Pump(now);
    SettleRecords();
  }
  WatchDevice(now);
}

void DiskTier::Seal(Instant now) {
  if (log_) {
    PayAllOwed(now);
    log_->Seal();
    Pump(now);
  }
}

void DiskTier::SettleRecords() {
  for (DiskLog::Settled& settled : log_->TakeSettled()) {
    Settle(settled);
  }
}

void DiskTier::Settle(const DiskLog::Settled& settled) {
  const PendingRecord& record = settled.record;
  const bool durable = !settled.error;
  if (record.origin != PendingRecord::Origin::kPut) {
    SettleCarry(settled);
    return;
  }
  const Waiting waiting = Take(record.id);
  progress_ = progress_ || durable;
  CountRemoval(settled);
  const bool object = std::holds_alternative<ObjectEntry>(record.entry);
  if (durable && !waiting.removed) {
    SettlePut(settled);
  } else if (durable && object && !waiting.forgotten) {
    // Removed before it was durable, and yet it was there.
    LearnOf(record.track, std::get<ObjectEntry>(record.entry).location);
  }
  Tell(waiting, settled.error);
}

void DiskTier::SettlePut(const DiskLog::Settled& settled) {
  const PendingRecord& record = settled.record;
  const auto length = static_cast<uint32_t>(record.draft.size());
  if (const auto* const object = std::get_if<ObjectEntry>(&record.entry)) {
    const uint64_t group = object->location.group;
    const auto before = index_->Find(record.track, object->location);
    for (auto* drain : {&rescue_, &evict_}) {
      if (before && *drain && (*drain)->segment() == before->place.segment) {
        (*drain)->OnPutAgain(record.track, group);
      }
    }
    index_->Apply(record.track, record.entry, settled.place, length);
    if (policy_->listens()) {
      policy_->OnStored(record.track, group, object->key, index_->RecordBytes(record.track, group));
    }
  } else if (const auto* const end = std::get_if<GroupEnd>(&record.entry)) {
    // It took effect when it was told, but its group may have gone meanwhile and be coming again.
    if (index_->FindGroup(record.track, end->group) || Expects(record.track, end->group)) {
      index_->Apply(record.track, record.entry, settled.place, length);
    }
  } else if (std::holds_alternative<TrackFacts>(record.entry)) {
    index_->Apply(record.track, record.entry, settled.place, length);
  }
}

void DiskTier::CountRemoval(const DiskLog::Settled& settled) {
  const auto* const removal = std::get_if<Removal>(&settled.record.entry);
  if (removal != nullptr && !settled.error) {
    const DiskPlace before = removal->before == DiskPlace() ? settled.place : removal->before;
    table_.segments.at(settled.place.segment)
        .removals.Add(before.segment, settled.record.draft.size());
  }
}

void DiskTier::SettleCarry(const DiskLog::Settled& settled) {
  const PendingRecord& record = settled.record;
  const auto length = static_cast<uint32_t>(record.draft.size());
  CountRemoval(settled);
  if (settled.error && std::holds_alternative<Removal>(record.entry)) {
    // What it is of has left the index, so nothing else says it again, and a start would find what
    // lies elsewhere of a group. Whoever empties the segment goes on waiting for it.
    log_->Queue(record);
    return;
  }
  if (!settled.error && record.origin == PendingRecord::Origin::kCarry) {
    // Unless it was removed or put again meanwhile.
    const auto now = index_->Find(record.track, std::get<ObjectEntry>(record.entry).location);
    if (now && now->place == record.from) {
      index_->Apply(record.track, record.entry, settled.place, length);
      policy_->OnMoved(record.track, std::get<ObjectEntry>(record.entry).location.group,
                       record.from.segment, {settled.place.segment, RecordUp(length)});
      ++counts_.carried;
    }
  } else if (!settled.error && std::holds_alternative<TrackFacts>(record.entry) &&
             index_->FindTrack(record.track) != nullptr) {
    index_->Apply(record.track, record.entry, settled.place, length);
  }
  for (auto* drain : {&rescue_, &evict_}) {
    if (*drain && (*drain)->number() == record.drain) {
      (*drain)->OnSettled(settled);
    }
  }
}

Result<void> DiskTier::CheckTakes(Instant now) const {
  if (state_ != State::kReady) {
    return Error(ErrorCode::kMachine, "The directory is not open.");
  }
  if (away_) {
    return Error(ErrorCode::kMachine, "The disk does not answer.");
  }
  if (const auto refusal = log_->Refusal(now)) {
    return *refusal;
  }
  if (log_->queued_bytes() >= options_.queue_bytes_max) {
    return Error(ErrorCode::kTooLarge, "The disk does not keep up: too many bytes wait for it.");
  }
  if (index_bytes() >= options_.index_bytes_max) {
    return Error(ErrorCode::kTooLarge, "The index of the disk has no room.");
  }
  return {};
}

Result<void> DiskTier::CheckFits(const TrackName& track, const RecordDraft& draft,
                                 const EntryBody& entry) const {
  return log_->CheckFits(track, draft, entry);
}

// What lies in a frail segment may be there by chance, what lies before an unread one may have been
// removed in that, what lies in one that is being emptied may be about to go, and what could not be
// read may never be: it is written again.
bool DiskTier::IsDurable(DiskPlace place) const {
  if (place.segment < newest_unread_ || doubts_.Has(place)) {
    return false;
  }
  const Segment& segment = table_.segments.at(place.segment);
  return !segment.draining &&
         (segment.state == SegmentState::kSealed || segment.state == SegmentState::kWriting);
}

void DiskTier::Append(uint64_t record, const TrackName& track, RecordDraft draft, EntryBody entry,
                      uint64_t /*received_us*/, Instant now) {
  log_->Queue({.id = record,
               .track = track,
               .draft = std::move(draft),
               .entry = std::move(entry),
               .origin = PendingRecord::Origin::kPut,
               .from = {}});
  Pump(now);
}

void DiskTier::OnRemove(const TrackName& track, std::optional<uint64_t> group) {
  if (unread_segments_ > 0) {
    // Whatever is written from now on stands behind them.
    removals_.Add(track, group, {UINT32_MAX, 0});
  }
  if (group) {
    policy_->OnGone(track, *group);
  } else {
    policy_->OnTrackGone(track);
  }
}

}  // namespace kvcast
