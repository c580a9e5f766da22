#include "kvcast/store/store.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "kvcast/base/planted.h"
#include "kvcast/store/disk_index.h"

namespace kvcast {
namespace {

// What is remembered of a write until it is durable.
constexpr size_t kPledgeBytes = 512;

// What a tier did not hear or could not write it is told again after this, of so many tracks.
constexpr Duration kTellAgain = std::chrono::seconds(1);
constexpr size_t kTellAtOnce = 1024;

Error StoreContradiction(const std::string& what) {
  return Error(ErrorCode::kMismatch, what + " contradicts what the track has brought before.");
}

// REQUIRES: no more is reserved than there is, and there is such an eviction.
RamTier RamOf(const StoreOptions& options) {
  RamTierOptions ram;
  ram.bytes_max = options.ram_bytes;
  ram.eviction = options.eviction;
  ram.key_property = options.key_property;
  ram.secret = options.secret;
  ram.reservations = options.reservations;
  ram.pinned_percent = options.pinned_percent;
  ram.payload_chunks = options.payload_chunks;
  return std::move(*RamTier::Of(ram));
}

}  // namespace

Store::Store(const StoreOptions& options)
    : options_(options),
      ram_(RamOf(options)),
      desk_(options.reads, tiers_),
      demotions_(options.demoting_bytes_max, options.secret, tiers_),
      warming_(options.warming) {}

void Store::AddTier(TierKind kind, std::unique_ptr<LowerTier> tier,
                    std::unique_ptr<Admission> admission) {
  ram_.HandOverEvicted();
  for (size_t above = 0; above < tiers_.size(); ++above) {
    if (tiers_.kind(above) < kind) {
      tiers_.at(above).HandOverEvicted();
    }
  }
  tiers_.Add(kind, std::move(tier), std::move(admission));
  was_ready_.push_back(false);
}

bool Store::opened() const {
  bool opened = true;
  for (size_t tier = 0; tier < tiers_.size(); ++tier) {
    opened = opened && tiers_.at(tier).ready();
  }
  return opened;
}

uint64_t Store::WallAt(Instant now) const {
  const auto since = std::chrono::duration_cast<std::chrono::microseconds>(now - Instant());
  return options_.epoch_us + static_cast<uint64_t>(since.count());
}

StoreTicket Store::Promise(size_t tier, TierTicket asked, size_t bytes, const TrackName& track,
                           Instant now, std::optional<std::optional<uint64_t>> removed) {
  const Durability level = LevelOf(tiers_.kind(tier));
  pledges_.Add(tier, asked, {++last_ticket_, level, bytes, track, now, removed});
  return last_ticket_;
}

void Store::Settle(size_t tier, const PledgeBook::Pledge& pledge,
                   const std::optional<Error>& error) {
  counts_.write_failures += error ? 1u : 0u;
  if (error && pledge.removed) {
    unremoved_[pledge.track].insert({tier, *pledge.removed});
  }
  events_.push_back(StoreWritten{pledge.ticket, pledge.level, error});
}

// A bucket has a patience of its own.
std::optional<Instant> Store::FirstLate() const {
  std::optional<Instant> late;
  for (size_t tier = 0; tier < tiers_.size(); ++tier) {
    const bool silent = tiers_.kind(tier) == TierKind::kDisk && tiers_.at(tier).away();
    if (const auto since = silent ? pledges_.FirstOf(tier) : std::nullopt) {
      late = std::min(*since + options_.write_patience, late.value_or(Instant::max()));
    }
  }
  return late;
}

// What it was to write may be there when it is back, or not.
void Store::GiveUpLate(Instant now) {
  for (size_t tier = 0; tier < tiers_.size(); ++tier) {
    const bool silent = tiers_.kind(tier) == TierKind::kDisk && tiers_.at(tier).away();
    while (const auto late =
               silent ? pledges_.TakeFirst(tier, now - options_.write_patience) : std::nullopt) {
      Settle(tier, *late, Error(ErrorCode::kMachine, "The disk does not answer."));
    }
  }
}

Durability Store::ReachedBy(Durability level) const {
  return level == Durability::kDisk && !tiers_.Has(TierKind::kDisk) ? Durability::kBucket : level;
}

Result<Store::Asked> Store::Write(const TrackName& track, std::optional<uint64_t> group,
                                  Durability level, size_t payload_bytes, Instant now,
                                  const AskTier& ask) {
  if (level == Durability::kMemory) {
    return Asked();
  }
  // A bucket keeps what a disk does, and more.
  const TierKind kind = ReachedBy(level) == Durability::kDisk ? TierKind::kDisk : TierKind::kBucket;
  const std::vector<size_t> homes =
      group ? tiers_.HomesOf(track, *group, kind) : tiers_.HomesOf(track, kind);
  Error refusal(ErrorCode::kUnsupported, level == Durability::kDisk
                                             ? "This node keeps nothing on disk."
                                             : "This node keeps nothing in a bucket.");
  tiers_touched_ = true;
  // What waits takes memory, however small it is.
  const size_t bytes = payload_bytes + kPledgeBytes + HeapBytesOf(track);
  for (const size_t home : homes) {
    const Result<TierTicket> asked = ask(tiers_.at(home));
    if (asked.ok()) {
      return Asked(Promise(home, *asked, bytes, track, now));
    }
    refusal = asked.error();
    if (refusal.code() == ErrorCode::kMismatch) {
      break;
    }
  }
  return refusal;
}

Result<Store::Asked> Store::Describe(const TrackName& track, const Properties& properties,
                                     std::optional<Location> largest, Durability level,
                                     Instant now) {
  std::optional<TrackFacts> below;
  tiers_.AddFacts(track, below);
  TrackFacts facts;
  facts.properties = below ? below->properties : properties;
  facts.largest = largest;
  KVCAST_TRY(const Asked asked, Write(track, std::nullopt, level, 0, now, [&](LowerTier& tier) {
               return tier.Describe(track, facts, now);
             }));
  KVCAST_TRY_VOID(ram_.Describe(track, facts.properties, largest));
  SettleRam(now);
  return asked;
}

Result<void> Store::CheckBelow(const TrackName& track, const Object& object) const {
  for (size_t tier = 0; tier < tiers_.size(); ++tier) {
    if (tiers_.at(tier).ready() && !Planted(PlantedBug::kContradictionKept)) {
      KVCAST_TRY_VOID(tiers_.at(tier).CheckSame(track, object));
    }
  }
  return {};
}

Result<Store::Kept> Store::Put(const TrackName& track, const Object& object, Durability level,
                               Instant now, std::optional<Instant> since) {
  const uint64_t received_us = WallAt(since.value_or(now));
  const Presence below = tiers_.PresenceOf(track, object.location);
  const Object* const moving = demotions_.Find(track, object.location);
  if (below == Presence::kGone || (moving != nullptr && !moving->ConsistentWith(object))) {
    return StoreContradiction("Object " + object.location.ToString());
  }
  const bool in_ram = ram_.Look(track, object.location) != nullptr;
  if (!in_ram) {
    KVCAST_TRY_VOID(CheckBelow(track, object));
  }
  Kept kept;
  const TrackFacts* const known = ram_.Find(track);
  const bool was_known = known != nullptr;
  const std::optional<Location> largest = was_known ? known->largest : std::nullopt;
  bool in_ram_now = false;
  const bool wanted =
      in_ram || below != Presence::kExists || !tiers_.CanRead(track, object.location);
  if (wanted && moving == nullptr) {
    KVCAST_TRY(in_ram_now, ram_.Put(track, object, received_us));
    kept.is_new = in_ram_now && below != Presence::kExists;
    SettleRam(now);
  }
  if (level != Durability::kMemory) {
    TellAgain(track, now);
  }
  const Result<Asked> asked =
      Write(track, object.location.group, level, object.payload.size(), now,
            [&](LowerTier& tier) { return tier.Put(track, object, received_us, now); });
  if (!asked.ok()) {
    if (in_ram_now) {
      ram_.TakeBack(track, object.location, largest, was_known);  // Refused is refused.
    }
    return asked.error();
  }
  kept.ticket = *asked;
  return kept;
}

Result<void> Store::CheckGroupEnd(const TrackName& track, uint64_t group, uint64_t end) const {
  const auto moving = demotions_.FindGroup(track, group);
  const auto below = moving ? moving : tiers_.FindGroup(track, group);
  if ((below && below->end && *below->end != end) || tiers_.ObjectFrom(track, {group, end})) {
    return StoreContradiction("The end of group " + std::to_string(group));
  }
  return ram_.CheckGroupEnd(track, group, end);
}

Result<Store::Asked> Store::EndGroup(const TrackName& track, uint64_t group, uint64_t end,
                                     Durability level, Instant now) {
  KVCAST_TRY_VOID(CheckGroupEnd(track, group, end));
  if (!IsBelow(track, group) || ram_.FindGroup(track, group)) {
    KVCAST_TRY_VOID(ram_.EndGroup(track, group, end));
    SettleRam(now);
  }
  if (level != Durability::kMemory) {
    TellAgain(track, now);
    return Write(track, group, level, 0, now, [&](LowerTier& tier) {
      return tier.EndGroup(track, {group, end}, now);
    });
  }
  TellEnd(track, {group, end}, now);
  return Asked();
}

void Store::TellEnd(const TrackName& track, const GroupEnd& end, Instant now) {
  tiers_touched_ = true;
  for (size_t tier = 0; tier < tiers_.size(); ++tier) {
    LowerTier& to = tiers_.at(tier);
    const auto found = to.FindGroup(track, end.group);
    if (found ? found->end.has_value() : !to.Expects(track, end.group)) {
      continue;
    }
    const Result<TierTicket> asked = to.EndGroup(track, end, now);
    if (!asked.ok() && asked.error().code() != ErrorCode::kMismatch) {
      NoteUntold(track, now)[end.group] = end.end;
    }
  }
}

Result<void> Store::EndTrack(const TrackName& track, Location end, Instant now) {
  std::optional<TrackFacts> below;
  tiers_.AddFacts(track, below);
  if (below && ((below->end && below->end != end) || (below->largest && *below->largest >= end))) {
    return StoreContradiction("The end at " + end.ToString());
  }
  KVCAST_TRY_VOID(ram_.EndTrack(track, end));
  SettleRam(now);
  (void)TellTiers(track, now);
  return {};
}

std::optional<Location> Store::FirstBelow(const TrackName& track,
                                          const LocationRange& range) const {
  for (auto group = tiers_.GroupFrom(track, range.first.group);
       group && *group <= range.last.group && *group < LocationRange::kWholeGroup;
       group = tiers_.GroupFrom(track, *group + 1)) {
    const uint64_t from = *group == range.first.group ? range.first.object : 0;
    const auto object = tiers_.ObjectFrom(track, {*group, from});
    if (object && range.Contains({*group, *object})) {
      return Location{*group, *object};
    }
  }
  return std::nullopt;
}

Result<void> Store::CheckGap(const TrackName& track, const LocationRange& gap) const {
  if (const std::optional<Location> standing = FirstBelow(track, gap)) {
    return StoreContradiction("A gap over " + standing->ToString());
  }
  return ram_.CheckGap(track, gap);
}

std::vector<StoreTicket> Store::AddGap(const TrackName& track, const LocationRange& gap,
                                       Durability level, Instant now) {
  ram_.AddGap(track, gap);
  SettleRam(now);
  TrackFacts told;
  told.gaps = {gap};
  tiers_touched_ = true;
  std::vector<StoreTicket> tickets;
  for (size_t tier = 0; tier < tiers_.size(); ++tier) {
    LowerTier& to = tiers_.at(tier);
    if (!to.ready()) {
      NoteUntold(track, now);
      continue;
    }
    if (to.FindTrack(track) == nullptr || to.Covers(track, told)) {
      continue;
    }
    const Result<TierTicket> asked = to.Describe(track, told, now);
    if (!asked.ok()) {
      NoteUntold(track, now);
    } else if (LevelOf(tiers_.kind(tier)) == ReachedBy(level)) {
      tickets.push_back(Promise(tier, *asked, 0, track, now));
    }
  }
  return tickets;
}

bool Store::TellTiers(const TrackName& track, Instant now) {
  tiers_touched_ = true;
  const std::optional<TrackFacts> facts = Find(track);
  bool known_below = false;
  for (size_t tier = 0; tier < tiers_.size() && facts; ++tier) {
    LowerTier& to = tiers_.at(tier);
    if (!to.ready()) {
      NoteUntold(track, now);  // What it has will be seen.
      continue;
    }
    if (to.FindTrack(track) == nullptr) {
      continue;
    }
    if (to.Covers(track, *facts)) {
      known_below = true;
      continue;
    }
    const Result<TierTicket> asked = to.Describe(track, *facts, now);
    known_below = known_below || asked.ok();
    // What contradicts what it knows it will never hear.
    if (!asked.ok() && asked.error().code() != ErrorCode::kMismatch) {
      NoteUntold(track, now);
    }
  }
  return known_below;
}

std::map<uint64_t, uint64_t>& Store::NoteUntold(const TrackName& track, Instant now) {
  tell_again_ = tell_again_.value_or(now + kTellAgain);
  return untold_[track];
}

void Store::TellAgain(const TrackName& track, Instant now) {
  const auto untold = untold_.extract(track);
  if (untold.empty()) {
    return;
  }
  (void)TellTiers(track, now);
  for (const auto& [group, end] : untold.mapped()) {
    TellEnd(track, {group, end}, now);
  }
}

void Store::TellSome(Instant now) {
  auto next = told_up_to_ ? untold_.upper_bound(*told_up_to_) : untold_.begin();
  for (size_t told = 0; told < kTellAtOnce && next != untold_.end(); ++told) {
    told_up_to_ = (next++)->first;
    TellAgain(*told_up_to_, now);
  }
  if (next == untold_.end()) {
    told_up_to_.reset();
  }
}

void Store::TellAll(Instant now) {
  told_up_to_.reset();
  do {
    TellSome(now);
  } while (told_up_to_);
}

void Store::TellInTime(Instant now) {
  bool owed = false;
  const bool is_time = tell_again_ && now >= *tell_again_;
  if (is_time) {
    tell_again_.reset();
    TellSome(now);
  }
  for (size_t tier = 0; tier < tiers_.size(); ++tier) {
    if (is_time) {
      tiers_.at(tier).PayAllOwed(now);
    }
    owed = owed || tiers_.at(tier).HasOwed();
  }
  if (!tell_again_ && (owed || !untold_.empty())) {
    tell_again_ = now + kTellAgain;
  }
}

void Store::LeaveToTiers(const TrackName& track, Instant now) {
  if (!ram_.GroupFrom(track, 0) && tiers_.Knows(track) && TellTiers(track, now)) {
    (void)ram_.Forget(track);
  }
}

bool Store::IsWhole(const EvictedContents& evicted) const {
  GroupFacts facts{evicted.end, evicted.objects.size(), 0};
  for (const StoredObject& stored : evicted.objects) {
    facts.absent_count += stored.object.AbsentBefore();
  }
  if (!facts.end || facts.object_count == 0 || facts.whole()) {
    return facts.end && facts.object_count > 0;
  }
  const TrackFacts track = Find(evicted.group.track).value_or(TrackFacts());
  facts.absent_count += track.AbsentIn(
      evicted.group.group, *facts.end, [&](uint64_t first, uint64_t last) -> uint64_t {
        const auto next = std::ranges::lower_bound(
            evicted.objects, first, {}, [](const auto& one) { return one.object.location.object; });
        return next == evicted.objects.end()
                   ? 0
                   : AbsentBehind(first, last, next->object.location.object,
                                  next->object.AbsentBefore());
      });
  return facts.whole();
}

void Store::SettleRam(Instant now) {
  for (EvictedContents& evicted : ram_.TakeEvictedContents()) {
    const EvictedGroup group = evicted.group;
    // Half of it in each of two tiers is of no use.
    if (!tiers_.empty() && IsWhole(evicted) &&
        !tiers_.HasWhole(group.track, group.group, TierKind::kDisk)) {
      (void)Demote(std::move(evicted), TierKind::kDisk, now);
    }
    LeaveToTiers(group.track, now);
    events_.push_back(StoreMoved{group});
  }
}

bool Store::Demote(EvictedContents evicted, TierKind kind, Instant now) {
  tiers_touched_ = true;
  const auto& [track, group] = evicted.group;
  TrackFacts facts = Find(track).value_or(TrackFacts());
  const bool is_copy = tiers_.HasWhole(track, group, TierKind::kBucket);
  return demotions_.Take({std::move(evicted), std::move(facts), is_copy}, kind, now);
}

uint64_t Store::pledged_bytes(Durability level) const {
  // As Write() chooses.
  const bool disk = level == Durability::kDisk && tiers_.Has(TierKind::kDisk);
  return pledges_.bytes(disk ? Durability::kDisk : Durability::kBucket);
}

void Store::Remove(const TrackName& track, uint64_t group, Instant now) {
  tiers_touched_ = true;
  ram_.Remove(track, group);
  demotions_.Drop(track, group);
  for (size_t tier = 0; tier < tiers_.size(); ++tier) {
    if (tiers_.HasOrExpects(tier, track, group)) {
      (void)tiers_.at(tier).Remove(track, group, now).ok();
    }
  }
}

bool Store::Forget(const TrackName& track, Instant now) {
  if (pledges_.Has(track)) {
    return false;  // Some of it is about to be there, and promised.
  }
  if (GroupFrom(track, 0)) {
    LeaveToTiers(track, now);
    return false;
  }
  warming_.Drop(track);
  untold_.erase(track);
  (void)ram_.Forget(track);
  for (size_t tier = 0; tier < tiers_.size(); ++tier) {
    if (tiers_.at(tier).ready() && tiers_.at(tier).FindTrack(track) != nullptr) {
      (void)tiers_.at(tier).Remove(track, std::nullopt, now).ok();
    }
  }
  return true;
}

StoreCounts Store::counts() const {
  StoreCounts counts = counts_;
  counts.timeouts = desk_.timeouts();
  counts.demoted = demotions_.taken();
  counts.not_demoted = demotions_.refused();
  counts.demotions_failed = demotions_.failed();
  return counts;
}

}  // namespace kvcast
