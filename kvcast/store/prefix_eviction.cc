#include "kvcast/store/prefix_eviction.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "kvcast/base/check.h"

namespace kvcast {
namespace {

constexpr uint64_t kTurnPart = 128;  // Ages are looked at each time so much of the tier was used,
constexpr uint64_t kLearnPart = 4;   // and the table is learnt from each time so much was.
constexpr uint64_t kGhostTimes = 16;

template <size_t... kIndex, typename Entries>
std::array<Entries, sizeof...(kIndex)> Copies(std::index_sequence<kIndex...>, const Entries& one) {
  return {(static_cast<void>(kIndex), one)...};
}

}  // namespace

PrefixEviction::PrefixEviction(const EvictionLimits& limits)
    : limits_(limits),
      table_(limits.bytes_max),
      entries_(&bytes_),
      cells_(Copies(std::make_index_sequence<ReuseTable::kCells>(),
                    Entries(CountedAllocator<Entry*>(&bytes_)))),
      ghosts_(CountedAllocator<Entry*>(&bytes_)),
      tracks_(std::less<TrackPlace>(), CountedAllocator<TrackPlace>(&bytes_)),
      candidates_(std::less<Candidate>(), CountedAllocator<Candidate>(&bytes_)) {}

PrefixEviction::Entry& PrefixEviction::Held(uint64_t handle) {
  Entry* const entry = entries_.Find(handle);
  KVCAST_CHECK(entry != nullptr && entry->held);
  return *entry;
}

PrefixEviction::Candidate PrefixEviction::CandidateOf(const Entry& entry) {
  return {entry.cell, std::numeric_limits<uint64_t>::max() - entry.group.group, entry.used_at,
          entry.group.handle};
}

PrefixEviction::TrackPlace PrefixEviction::PlaceOf(const Entry& entry) {
  return {entry.group.track, entry.group.group, entry.group.handle};
}

PrefixEviction::Entry* PrefixEviction::Before(const Entry& entry) {
  const auto place = tracks_.lower_bound(PlaceOf(entry));
  if (place == tracks_.begin()) {
    return nullptr;
  }
  Entry* const before = std::prev(place)->second;
  return before->group.track == entry.group.track ? before : nullptr;
}

bool PrefixEviction::NothingAfter(const Entry& entry) const {
  const auto after = tracks_.upper_bound(PlaceOf(entry));
  return after == tracks_.end() || after->second->group.track != entry.group.track;
}

// Groups of a track come from its beginning, as a rule; a replay puts them from the end, and those
// may have been evicted at once.
bool PrefixEviction::IsLast(const StoredGroup& group) {
  if (newest_end_ && newest_track_ == group.track && group.group < *newest_end_) {
    return false;
  }
  newest_track_ = group.track;
  newest_end_ = group.group;
  return true;
}

void PrefixEviction::Offer(Entry& entry) {
  entry.candidate = true;
  candidates_.insert(CandidateOf(entry));
  ++candidate_counts_[entry.cell];
}

void PrefixEviction::Withdraw(Entry& entry) {
  if (std::exchange(entry.candidate, false)) {
    candidates_.erase(CandidateOf(entry));
    --candidate_counts_[entry.cell];
  }
}

void PrefixEviction::JoinTrack(Entry& entry) {
  tracks_.emplace(PlaceOf(entry), &entry);
  if (NothingAfter(entry)) {
    if (Entry* const before = Before(entry)) {
      Withdraw(*before);
    }
    Offer(entry);
  }
}

void PrefixEviction::LeaveTrack(Entry& entry) {
  tracks_.erase(PlaceOf(entry));
  if (entry.candidate) {
    Withdraw(entry);
    if (Entry* const before = Before(entry)) {
      Offer(*before);
    }
  }
}

// REQUIRES: it is in no cell.
void PrefixEviction::Enter(Entry& entry, size_t age) {
  entry.cell =
      static_cast<uint16_t>(ReuseTable::CellOf(ReuseTable::KindOf(entry.uses, entry.last), age));
  Entries& cell = cells_[entry.cell];
  entry.place = cell.insert(cell.end(), &entry);
  table_.Enter(entry.cell);
}

void PrefixEviction::MoveTo(Entry& entry, uint16_t cell) {
  const bool candidate = entry.candidate;
  Withdraw(entry);
  cells_[cell].splice(cells_[cell].end(), cells_[entry.cell], entry.place);
  entry.cell = cell;
  table_.Enter(cell);
  if (candidate) {
    Offer(entry);
  }
}

// Takes it to the youngest age, by the uses it has now.
void PrefixEviction::Use(Entry& entry) {
  const bool candidate = entry.candidate;
  Withdraw(entry);
  entry.used_at = now_;
  MoveTo(entry,
         static_cast<uint16_t>(ReuseTable::CellOf(ReuseTable::KindOf(entry.uses, entry.last), 0)));
  if (candidate) {
    Offer(entry);
  }
}

void PrefixEviction::Insert(const StoredGroup& group) {
  Pass(group.bytes);
  const bool last = IsLast(group);
  Entry* entry = entries_.Find(group.handle);
  if (entry != nullptr) {
    KVCAST_CHECK(!entry->held);
    ghost_group_bytes_ -= entry->group.bytes;
    ghosts_.erase(entry->ghost);
    table_.LeaveUsed(entry->cell);
    entry->group = group;
    entry->held = true;
    entry->last = last;
    ++entry->uses;
    Use(*entry);
  } else {
    entry = &entries_.Add(group.handle, {});
    entry->group = group;
    entry->last = last;
    entry->used_at = now_;
    Enter(*entry, 0);
  }
  Entry* const before = Before(*entry);
  if (before != nullptr && before->last) {
    before->last = false;
    table_.LeaveUnseen(before->cell);
    Use(*before);
  }
  JoinTrack(*entry);
}

void PrefixEviction::Hit(uint64_t handle) {
  Entry& entry = Held(handle);
  Pass(entry.group.bytes);
  table_.LeaveUsed(entry.cell);
  ++entry.uses;
  Use(entry);
}

void PrefixEviction::Pin(uint64_t handle) {
  Entry& entry = Held(handle);
  KVCAST_CHECK(!entry.pinned);
  entry.pinned = true;
  LeaveTrack(entry);
}

void PrefixEviction::Unpin(uint64_t handle) {
  Entry& entry = Held(handle);
  KVCAST_CHECK(entry.pinned);
  entry.pinned = false;
  JoinTrack(entry);
}

void PrefixEviction::Evict(uint64_t handle) {
  Entry& entry = Held(handle);
  if (!std::exchange(entry.pinned, false)) {
    LeaveTrack(entry);
  }
  entry.held = false;
  entry.ghost = ghosts_.insert(ghosts_.end(), &entry);
  ghost_group_bytes_ += entry.group.bytes;
  while (!ghosts_.empty() && (ghosts_.size() > limits_.ghosts_max ||
                              ghost_group_bytes_ / kGhostTimes > limits_.bytes_max)) {
    Entry& oldest = *ghosts_.front();
    ghost_group_bytes_ -= oldest.group.bytes;
    ghosts_.pop_front();
    Drop(oldest);
  }
}

void PrefixEviction::Forget(uint64_t handle) {
  Entry& entry = Held(handle);
  if (!entry.pinned) {
    LeaveTrack(entry);
  }
  Drop(entry);
}

void PrefixEviction::Drop(Entry& entry) {
  table_.LeaveUnseen(entry.cell);
  cells_[entry.cell].erase(entry.place);
  entries_.Remove(entry.group.handle);
}

std::optional<uint64_t> PrefixEviction::Victim() {
  for (const uint16_t cell : table_.order()) {
    if (candidate_counts_[cell] > 0) {
      return std::get<3>(*candidates_.lower_bound(Candidate(cell, 0, 0, 0)));
    }
  }
  return std::nullopt;
}

void PrefixEviction::Pass(uint64_t bytes) {
  now_ += bytes;
  if (now_ < turn_at_) {
    return;
  }
  turn_at_ = now_ + std::max<uint64_t>(1, limits_.bytes_max / kTurnPart);
  GrowOlder();
  if (now_ >= learn_at_) {
    learn_at_ = now_ + std::max<uint64_t>(1, limits_.bytes_max / kLearnPart);
    table_.Learn();
  }
}

// Each entry is moved at most once for each age, so that this costs a constant for each use.
void PrefixEviction::GrowOlder() {
  for (uint16_t cell = 0; cell < ReuseTable::kCells; ++cell) {
    const size_t age = ReuseTable::AgeOf(cell);
    if (age + 1 == ReuseTable::kAges) {
      continue;
    }
    Entries& entries = cells_[cell];
    while (!entries.empty() && now_ - entries.front()->used_at >= table_.AgeBegin(age + 1)) {
      table_.LeaveOlder(cell);
      MoveTo(*entries.front(), static_cast<uint16_t>(cell + 1));
    }
  }
}

}  // namespace kvcast
