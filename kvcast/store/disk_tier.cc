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
    : options_(options), policy_(std::move(policy)), logger_(std::move(log)) {
  KVCAST_CHECK(options_.bytes_max >= options_.LeastBytes());
  KVCAST_CHECK(options_.SegmentBytes() % kDeviceBlockBytes == 0);
  Open();
}

void DiskTier::Open() {
  open_again_.reset();
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
  } else if (opening_->done()) {
    counts_.damaged += opening_->damaged();
    superblock_ = opening_->superblock();
    // A directory whose segments are too large for its budget now goes on with ours.
    if (kSuperblockBytes + kSegmentsMin * superblock_.segment_bytes > options_.bytes_max) {
      superblock_.segment_bytes = options_.SegmentBytes();
    }
    opening_.reset();
    state_ = State::kReady;
    log_.emplace(
        DiskLog::Options{superblock_.directory, superblock_.segment_bytes, options_.bytes_max},
        options_.seed, table_, outbox_);
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
      policy_->OnStored(group.track, group.group, group.key, group.facts.payload_bytes);
    }
  }
}

void DiskTier::Evicted(TierEvicted evicted) {
  policy_->OnGone(evicted.group.track, evicted.group.group);
  events_.push_back(std::move(evicted));
}

void DiskTier::OnCompletion(const DeviceCompletion& completion, Instant now) {
  if (opening_) {
    opening_->OnCompletion(completion);
    OnOpened(now);
  } else if (const auto found = readings_.find(completion.token); found != readings_.end()) {
    const Reading reading = std::move(found->second);
    readings_.erase(found);
    OnRead(reading, completion);
  } else if (log_ && !log_->OnCompletion(completion, now) && !OnRemoved(completion, now)) {
    (void)((rescue_ && rescue_->OnCompletion(completion)) ||
           (evict_ && evict_->OnCompletion(completion)));
  }
  Pump(now);
}

void DiskTier::OnTime(Instant now) {
  if (open_again_ && now >= *open_again_) {
    Open();
  }
  Pump(now);
}

std::optional<Instant> DiskTier::deadline() const {
  std::optional<Instant> first = open_again_;
  const auto take = [&](std::optional<Instant> other) {
    first = other && (!first || *other < *first) ? other : first;
  };
  take(log_ ? log_->deadline() : std::nullopt);
  for (const auto& [number, segment] : table_.segments) {
    if (segment.state == SegmentState::kFrail && segment.retry_at != Instant()) {
      take(segment.retry_at);
    }
  }
  return first;
}

std::optional<TierEvent> DiskTier::Next() {
  if (next_event_ == events_.size()) {
    events_.clear();
    next_event_ = 0;
    return std::nullopt;
  }
  return std::move(events_[next_event_++]);
}

void DiskTier::Pump(Instant now) {
  if (state_ != State::kReady) {
    return;
  }
  // Draining queues records, and records that settle may end a drain.
  for (int round = 0; round < 2; ++round) {
    StartDrains(now);
    PumpDrain(rescue_, now);
    PumpDrain(evict_, now);
    log_->SetReserve(evict_ ? superblock_.segment_bytes / 4 : 0);
    log_->Pump(now);
    SettleRecords();
  }
}

void DiskTier::Seal(Instant now) {
  if (log_) {
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
  const auto found = waiting_.find(record.id);
  KVCAST_CHECK(found != waiting_.end());
  const Waiting waiting = std::move(found->second);
  waiting_.erase(found);
  if (waiting.location) {
    const auto name = unsettled_.find({waiting.track, *waiting.location});
    if (name != unsettled_.end() && name->second == record.id) {
      unsettled_.erase(name);
    }
  }
  // The end of a group and a removal took effect when they were told.
  const bool object = std::holds_alternative<ObjectEntry>(record.entry);
  if (durable && !waiting.removed && (object || std::holds_alternative<TrackFacts>(record.entry))) {
    index_->Apply(record.track, record.entry, settled.place,
                  static_cast<uint32_t>(record.draft.size()));
    if (object && policy_->listens()) {
      const auto& entry = std::get<ObjectEntry>(record.entry);
      policy_->OnStored(record.track, entry.location.group, entry.key,
                        index_->FindGroup(record.track, entry.location.group)->payload_bytes);
    }
  } else if (durable && object && !waiting.forgotten) {
    // Removed before it was durable, and yet it was there.
    TrackFacts seen;
    seen.largest = std::get<ObjectEntry>(record.entry).location;
    index_->Learn(record.track, seen);
  }
  for (const TierTicket ticket : waiting.tickets) {
    events_.push_back(TierWritten{ticket, settled.error});
  }
}

void DiskTier::SettleCarry(const DiskLog::Settled& settled) {
  const PendingRecord& record = settled.record;
  const auto length = static_cast<uint32_t>(record.draft.size());
  if (!settled.error && record.origin == PendingRecord::Origin::kCarry) {
    // Unless it was removed or put again meanwhile.
    const auto now = index_->Find(record.track, std::get<ObjectEntry>(record.entry).location);
    if (now && now->place == record.from) {
      index_->Apply(record.track, record.entry, settled.place, length);
      ++counts_.carried;
    }
  } else if (!settled.error && std::holds_alternative<TrackFacts>(record.entry) &&
             index_->FindTrack(record.track) != nullptr) {
    index_->Apply(record.track, record.entry, settled.place, length);
  }
  for (auto* drain : {&rescue_, &evict_}) {
    if (*drain && (*drain)->segment() == record.from.segment) {
      (*drain)->OnSettled(settled);
    }
  }
}

Result<void> DiskTier::CheckTakes(Instant now) const {
  if (state_ != State::kReady) {
    return Error(ErrorCode::kMachine, "The directory is not open.");
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

Result<void> DiskTier::CheckAgainstEnds(const TrackName& track, Location location) const {
  if (index_->PresenceOf(track, location) == Presence::kGone) {
    return Error(ErrorCode::kMismatch,
                 "Object " + location.ToString() + " contradicts what the track has said before.");
  }
  return {};
}

Result<void> DiskTier::CheckSame(const TrackName& track, const Object& object) const {
  const auto same = unsettled_.find({track, object.location});
  const auto waiting =
      same == unsettled_.end() ? std::nullopt : std::optional(waiting_.at(same->second).identity);
  return index_->CheckSame(track, object, waiting);
}

Result<TierTicket> DiskTier::Put(const TrackName& track, const Object& object, uint64_t received_us,
                                 Instant now) {
  KVCAST_TRY_VOID(CheckTakes(now));
  KVCAST_TRY_VOID(CheckAgainstEnds(track, object.location));
  const RecordBody body = StoredObject{object, received_us};
  KVCAST_TRY(RecordDraft draft, RecordDraft::Of({track, body}));
  EntryBody entry = EntryOf(body, draft.payload_sum(), options_.key_property);
  const uint32_t identity = std::get<ObjectEntry>(entry).identity;
  const Error mismatch(ErrorCode::kMismatch,
                       "Another object stands at " + object.location.ToString() + ".");
  if (const auto found = index_->Find(track, object.location)) {
    if (found->identity != identity) {
      return mismatch;
    }
    // What lies in a frail segment may be there by chance: it is written again.
    const SegmentState state = table_.segments.at(found->place.segment).state;
    if (state == SegmentState::kSealed || state == SegmentState::kWriting) {
      Acknowledge(++last_ticket_);
      return last_ticket_;
    }
  }
  if (const auto same = unsettled_.find({track, object.location}); same != unsettled_.end()) {
    Waiting& waiting = waiting_.at(same->second);
    if (waiting.identity != identity) {
      return mismatch;
    }
    waiting.tickets.push_back(++last_ticket_);
    return last_ticket_;
  }
  KVCAST_TRY_VOID(log_->CheckFits(track, draft, entry));
  const TierTicket ticket = Write(track, std::move(draft), std::move(entry));
  Waiting& waiting = waiting_.at(last_record_);
  waiting.location = object.location;
  waiting.identity = identity;
  unsettled_[{track, object.location}] = last_record_;
  Pump(now);
  return ticket;
}

TierTicket DiskTier::Write(const TrackName& track, RecordDraft draft, EntryBody entry) {
  waiting_.emplace(++last_record_, Waiting{{++last_ticket_}, track, std::nullopt, 0, false, false});
  log_->Queue({.id = last_record_,
               .track = track,
               .draft = std::move(draft),
               .entry = std::move(entry),
               .origin = PendingRecord::Origin::kPut,
               .from = {}});
  return last_ticket_;
}

Result<TierTicket> DiskTier::Describe(const TrackName& track, const TrackFacts& facts,
                                      Instant now) {
  KVCAST_TRY_VOID(CheckTakes(now));
  TrackFacts told = facts;
  told.gaps.resize(std::min(told.gaps.size(), kGapsMax));
  // It must be possible to write down all that is known, now and when it is moved.
  KVCAST_TRY(const RecordDraft alone, RecordDraft::Of({track, told}));
  KVCAST_TRY_VOID(log_->CheckFits(track, alone, told));
  const TrackFacts* known = index_->FindTrack(track);
  if (known != nullptr && facts.end &&
      ((known->end && known->end != facts.end) ||
       (known->largest && known->largest >= facts.end))) {
    return Error(ErrorCode::kMismatch,
                 "The end at " + facts.end->ToString() + " contradicts what was told before.");
  }
  index_->Learn(track, told);
  const RecordBody body = *index_->FindTrack(track);
  KVCAST_TRY(RecordDraft draft, RecordDraft::Of({track, body}));
  KVCAST_TRY_VOID(log_->CheckFits(track, draft, EntryOf(body, 0, 0)));
  const TierTicket ticket = Write(track, std::move(draft), EntryOf(body, 0, 0));
  Pump(now);
  return ticket;
}

Result<TierTicket> DiskTier::EndGroup(const TrackName& track, const GroupEnd& end, Instant now) {
  KVCAST_TRY_VOID(CheckTakes(now));
  const auto known = index_->FindGroup(track, end.group);
  if ((known && known->end && *known->end != end.end) ||
      index_->LastObject(track, end.group) >= end.end) {
    return Error(ErrorCode::kMismatch, "The end of group " + std::to_string(end.group) +
                                           " contradicts what was told before.");
  }
  index_->LearnGroupEnd(track, end);
  KVCAST_TRY(RecordDraft draft, RecordDraft::Of({track, end}));
  const TierTicket ticket = Write(track, std::move(draft), end);
  Pump(now);
  return ticket;
}

Result<TierTicket> DiskTier::Remove(const TrackName& track, std::optional<uint64_t> group,
                                    Instant now) {
  KVCAST_TRY_VOID(CheckTakes(now));
  const Removal removal{group, {}};
  KVCAST_TRY(RecordDraft draft, RecordDraft::Of({track, removal}));
  for (auto& [record, waiting] : waiting_) {
    if (waiting.track == track &&
        (!group || (waiting.location && waiting.location->group == *group))) {
      waiting.removed = true;
      waiting.forgotten = waiting.forgotten || !group;
      if (waiting.location) {
        unsettled_.erase({track, *waiting.location});
      }
    }
  }
  if (group) {
    index_->EraseGroup(track, *group, 0);
    policy_->OnGone(track, *group);
  } else {
    index_->EraseTrack(track);
    policy_->OnTrackGone(track);
  }
  const TierTicket ticket = Write(track, std::move(draft), removal);
  Pump(now);
  return ticket;
}

std::optional<TierTicket> DiskTier::Get(const TrackName& track, Location location,
                                        Instant /*now*/) {
  const uint64_t draining = evict_ ? evict_->read_bytes() : 0;
  if (state_ != State::kReady || read_bytes_ + draining >= options_.read_bytes_max) {
    return std::nullopt;
  }
  const auto found = index_->Use(track, location);
  if (!found) {
    return std::nullopt;
  }
  policy_->OnUsed(track, location.group, location.object);
  const uint64_t offset = BlocksDown(found->place.offset);
  const uint64_t length = BlocksUp(found->place.offset + found->length) - offset;
  const DeviceToken token = outbox_.Read(found->place.segment, offset, length);
  readings_.emplace(token, Reading{++last_ticket_, track, location, *found, offset, length});
  ++table_.segments.at(found->place.segment).reads;
  read_bytes_ += length;
  return last_ticket_;
}

void DiskTier::OnRead(const Reading& reading, const DeviceCompletion& completion) {
  Segment& segment = table_.segments.at(reading.found.place.segment);
  --segment.reads;
  read_bytes_ -= reading.length;
  TierRead read{reading.ticket, std::nullopt};
  if (completion.error) {
    ++counts_.read_errors;
    events_.push_back(std::move(read));
    return;
  }
  const RecordSeat seat{superblock_.directory, segment.marker, reading.found.place};
  auto parsed = ParseRecord(
      completion.bytes.Slice(seat.place.offset - reading.offset, reading.found.length), seat);
  auto* const stored = parsed.ok() ? std::get_if<StoredObject>(&parsed->record.body) : nullptr;
  if (stored != nullptr && parsed->record.track == reading.track &&
      stored->object.location == reading.location) {
    read.found = std::move(*stored);
  } else {
    ++counts_.damaged;
    index_->Erase(reading.track, reading.location, reading.found.place);
    Evicted({{reading.track, reading.location.group}});
    logger_.Warning("record damaged",
                    {{"segment", seat.place.segment}, {"offset", seat.place.offset}});
  }
  events_.push_back(std::move(read));
}

}  // namespace kvcast
