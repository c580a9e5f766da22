#include "kvcast/store/segment_drain.h"

#include <algorithm>

namespace kvcast {
namespace {

constexpr size_t kReadsMax = 8;
// More of them while they are small: what is moved together is synced together, and each sync fills
// up a block.
constexpr size_t kSmallReadsMax = 64;
constexpr uint64_t kSmallReadBytesMax = 512 << 10;
constexpr uint64_t kReadBytesMax = 8 << 20;
// Room is needed more than what cannot be read.
constexpr uint32_t kHeldMax = 3;

}  // namespace

SegmentDrain::SegmentDrain(uint32_t segment, Why why, const Parts& parts)
    : segment_(segment), why_(why), parts_(parts) {
  const uint64_t bytes = parts_.table->segments.at(segment).bytes;
  keep_bytes_left_ = parts_.policy->MovedMax(segment, bytes);
  keep_all_ = why == Why::kRescue ||
              (why == Why::kRoom && parts_.index->LiveBytes(segment) <= MovedBytesMax(bytes));
  if (bytes < kSegmentBytesMin || parts_.table->segments.at(segment).unmade) {
    return;  // Its making was cut short: there is nothing in it.
  }
  load_.emplace(parts_.directory, segment, bytes, parts_.key_property, *parts_.outbox);
}

bool SegmentDrain::OnCompletion(const DeviceCompletion& completion) {
  if (load_ && load_->OnCompletion(completion)) {
    if (load_->done()) {
      OnLoaded();
    }
    return true;
  }
  if (leaving_ && leaving_->OnCompletion(completion)) {
    return true;
  }
  const auto reading = readings_.find(completion.token);
  if (reading == readings_.end()) {
    return false;
  }
  const Reading read = reading->second;
  readings_.erase(reading);
  read_bytes_ -= read.length;
  OnRead(read, completion);
  return true;
}

void SegmentDrain::OnLoaded() {
  SegmentLoad::Outcome outcome = load_->Take();
  load_.reset();
  contents_ = std::move(outcome.contents);
  damaged_ += outcome.damaged;
  // What could not be read now may be read another time: there may be objects that were never
  // evicted, removals of what lies elsewhere, facts. A disk that says so again and again means it.
  held_ = outcome.unreadable && MayHold();
}

bool SegmentDrain::MayHold() const {
  return why_ == Why::kRescue || parts_.table->segments.at(segment_).held_count < kHeldMax;
}

bool SegmentDrain::held() const {
  return held_ && readings_.empty() && (!leaving_ || leaving_->done());
}

void SegmentDrain::Pump() {
  if (load_ || held_) {
    return;
  }
  EvictRead();
  if (held_) {
    return;
  }
  WalkObjects();
  if (next_ == contents_.entries.size() && readings_.empty() && !leaving_ && !notes_moved_) {
    notes_moved_ = true;
    MoveNotes();
  }
  if (notes_moved_ && unsettled_ == 0 && again_) {
    again_ = false;
    notes_moved_ = false;
    next_ = 0;
    WalkObjects();
  }
}

bool SegmentDrain::drained() const {
  return !load_ && !held_ && notes_moved_ && readings_.empty() && !leaving_ && !again_ &&
         (unsettled_ == 0 || given_up_);
}

bool SegmentDrain::IsLive(const SegmentEntry& entry, const ObjectEntry& object) const {
  const auto found = parts_.index->Find(contents_.track_of(entry), object.location);
  return found && found->place == DiskPlace{segment_, entry.offset};
}

bool SegmentDrain::Keeps(const SegmentEntry& entry, const ObjectEntry& object) {
  if (given_up_) {
    return false;
  }
  const TrackName& track = contents_.track_of(entry);
  const uint64_t group = object.location.group;
  const auto [decision, is_new] = decisions_.try_emplace({entry.track, group}, true);
  if (is_new && !keep_all_) {
    const bool used = parts_.index->GroupUsed(track, group);
    const uint64_t bytes = parts_.index->RecordBytes(track, group);
    if (!parts_.policy->Owes(track, group)) {
      decision->second = bytes <= keep_bytes_left_ && parts_.policy->Keep(track, group, used);
      keep_bytes_left_ -= decision->second ? bytes : 0;
    }
    parts_.index->ClearUse(track, group);
  }
  return decision->second;
}

void SegmentDrain::WalkObjects() {
  const auto may_read = [&] {
    return (readings_.size() < kReadsMax && read_bytes_ < kReadBytesMax) ||
           (readings_.size() < kSmallReadsMax && read_bytes_ < kSmallReadBytesMax);
  };
  while (next_ < contents_.entries.size() && !leaving_ && may_read()) {
    const SegmentEntry& entry = contents_.entries[next_++];
    const auto* const object = std::get_if<ObjectEntry>(&entry.body);
    if (object == nullptr || !IsLive(entry, *object)) {
      continue;
    }
    if (Keeps(entry, *object)) {
      Read(entry);
    } else {
      LetGo(contents_.track_of(entry), object->location.group);
    }
  }
}

void SegmentDrain::LetGo(const TrackName& track, uint64_t group) {
  const auto listed = parts_.index->Listed(track, group);
  if (why_ != Why::kRescue && listed && listed->facts.whole() &&
      !parts_.policy->IsSpare(track, group) &&
      GroupReader::BytesOf(*listed, *parts_.index) <= parts_.hand_over_bytes_max) {
    leaving_.emplace(
        *listed, GroupReader::Parts{parts_.directory, parts_.index, parts_.table, parts_.outbox});
  } else {
    Evict(track, group);
  }
}

void SegmentDrain::EvictRead() {
  if (leaving_ && leaving_->done()) {
    if (leaving_->unreadable() && !given_up_ && MayHold()) {
      held_ = true;
      return;
    }
    const EvictedGroup group = leaving_->group();
    std::optional<EvictedContents> contents = leaving_->Take();
    leaving_.reset();
    Evict(group.track, group.group, std::move(contents));
  }
}

void SegmentDrain::Evict(const TrackName& track, uint64_t group,
                         std::optional<EvictedContents> contents) {
  if (put_again_.contains({track, group}) || parts_.expects(track, group)) {
    // Its new objects and its end are somebody's who waits for them or has been told that they are
    // durable. No removal, then: what is under way may come to stand before what is durable now.
    if (parts_.index->EraseShare(track, group, segment_) > 0) {
      evicted_.push_back({{track, group}, std::move(contents)});
    }
    return;
  }
  const DiskIndex::Erased erased = parts_.index->EraseGroup(track, group, segment_);
  if (erased.objects == 0) {
    return;
  }
  parts_.policy->OnGone(track, group);  // Before it says what else it owes.
  evicted_.push_back({{track, group}, std::move(contents)});
  if (erased.elsewhere) {
    // Or a start would find a group with holes.
    DiskPlace before = *erased.elsewhere;
    before.offset += kRecordAlignment;
    if (parts_.removals != nullptr) {
      parts_.removals->Add(track, group, before);
    }
    Note(track, Removal{group, before});
  }
}

void SegmentDrain::Lose(const TrackName& track, Location location, DiskPlace place) {
  parts_.index->Erase(track, location, place);
  evicted_.push_back({{track, location.group}});
}

void SegmentDrain::Read(const SegmentEntry& entry) {
  const uint64_t offset = BlocksDown(entry.offset);
  const uint64_t length = BlocksUp(entry.offset + entry.length) - offset;
  read_bytes_ += length;
  readings_.emplace(parts_.outbox->Read(segment_, offset, length), Reading{&entry, offset, length});
}

void SegmentDrain::OnRead(const Reading& reading, const DeviceCompletion& completion) {
  const SegmentEntry& entry = *reading.entry;
  const auto& object = std::get<ObjectEntry>(entry.body);
  const TrackName& track = contents_.track_of(entry);
  if (!IsLive(entry, object)) {
    return;
  }
  if (completion.error && given_up_) {
    Evict(track, object.location.group);
    return;
  }
  if (completion.error && MayHold()) {
    held_ = true;
    return;
  }
  if (completion.error) {
    Lose(track, object.location, {segment_, entry.offset});
    return;
  }
  const RecordSeat seat{
      parts_.directory, parts_.table->segments.at(segment_).marker, {segment_, entry.offset}};
  auto parsed =
      ParseRecord(completion.bytes.Slice(entry.offset - reading.offset, entry.length), seat);
  auto* const stored = parsed.ok() ? std::get_if<StoredObject>(&parsed->record.body) : nullptr;
  if (stored == nullptr || parsed->record.track != track ||
      stored->object.location != object.location) {
    ++damaged_;
    Lose(track, object.location, seat.place);
    return;
  }
  auto draft = RecordDraft::Of(parsed->record);
  // Segments may have been larger once.
  if (given_up_ || !draft.ok() || !parts_.log->CheckFits(track, *draft, entry.body).ok()) {
    Evict(track, object.location.group);
  } else {
    ++unsettled_;
    parts_.log->Queue({.id = 0,
                       .track = track,
                       .draft = *std::move(draft),
                       .entry = entry.body,
                       .origin = PendingRecord::Origin::kCarry,
                       .from = seat.place,
                       .drain = parts_.number});
  }
}

bool SegmentDrain::RemovalMatters(const Removal& removal, uint64_t offset) const {
  const DiskPlace before =
      removal.before == DiskPlace() ? DiskPlace{segment_, offset} : removal.before;
  return std::ranges::any_of(parts_.table->segments, [&](const auto& one) {
    return one.first != segment_ && one.first <= before.segment &&
           one.second.state != SegmentState::kForeign;
  });
}

void SegmentDrain::MoveNotes() {
  std::set<uint32_t> with_facts;
  for (const SegmentEntry& entry : contents_.entries) {
    const TrackName& track = contents_.track_of(entry);
    if (std::holds_alternative<TrackFacts>(entry.body)) {
      with_facts.insert(entry.track);
    } else if (const auto* end = std::get_if<GroupEnd>(&entry.body)) {
      const auto group = parts_.index->FindGroup(track, end->group);
      // Its objects may lie in a segment that nobody has read yet, or be on their way.
      const bool told = group && group->end == end->end;
      if (told &&
          (!group->hollow() || parts_.removals != nullptr || parts_.expects(track, end->group))) {
        Note(track, *end);
      }
    } else if (const auto* removal = std::get_if<Removal>(&entry.body)) {
      if (RemovalMatters(*removal, entry.offset)) {
        Removal moved = *removal;
        moved.before =
            moved.before == DiskPlace() ? DiskPlace{segment_, entry.offset} : moved.before;
        Note(track, moved);
      }
    }
  }
  for (uint32_t number = 0; number < contents_.tracks.size(); ++number) {
    const TrackName& track = contents_.tracks[number];
    const TrackFacts* const facts = parts_.index->FindTrack(track);
    // What a frail segment says need not stand where the index believes it to.
    const bool only_here = why_ == Why::kRescue && with_facts.contains(number);
    if (facts != nullptr && (only_here || parts_.index->FactsNeed(track, segment_))) {
      Note(track, *facts);
    }
  }
}

void SegmentDrain::Note(const TrackName& track, const RecordBody& body) {
  auto draft = RecordDraft::Of({track, body});
  if (!draft.ok()) {
    return;
  }
  EntryBody entry = EntryOf(body, 0, 0);
  if (!parts_.log->CheckFits(track, *draft, entry).ok()) {
    return;
  }
  ++unsettled_;
  parts_.log->Queue({.id = 0,
                     .track = track,
                     .draft = *std::move(draft),
                     .entry = std::move(entry),
                     .origin = PendingRecord::Origin::kNote,
                     .from = {segment_, 0},
                     .drain = parts_.number});
}

void SegmentDrain::OnSettled(const DiskLog::Settled& settled) {
  --unsettled_;
  again_ = again_ || (settled.error.has_value() && !given_up_);
}

void SegmentDrain::OnPutAgain(const TrackName& track, uint64_t group) {
  put_again_.emplace(track, group);
}

void SegmentDrain::GiveUpMoving() {
  given_up_ = true;
  again_ = false;  // What could not be moved goes with the rest.
  for (const PendingRecord& record : parts_.log->TakeBackCarries(segment_)) {
    // Or of one before us, that had to be held.
    unsettled_ -= record.drain == parts_.number ? 1 : 0;
    const Location location = std::get<ObjectEntry>(record.entry).location;
    const auto found = parts_.index->Find(record.track, location);
    if (found && found->place == record.from) {
      Evict(record.track, location.group);
    }
  }
}

}  // namespace kvcast
