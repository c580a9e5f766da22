#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "kvcast/object/durability.h"
#include "kvcast/store/admission.h"
#include "kvcast/store/lower_tier.h"

namespace kvcast {

enum class TierKind : uint8_t { kDisk, kBucket };

// What is reached by what is durable there.
constexpr Durability LevelOf(TierKind kind) {
  return kind == TierKind::kBucket ? Durability::kBucket : Durability::kDisk;
}

// The tiers below RAM, the fastest first, asked as one. A tier that is not ready has nothing.
class TierSet {
 public:
  // `admission` decides which of the groups come in that nobody asked to be kept here.
  void Add(TierKind kind, std::unique_ptr<LowerTier> tier, std::unique_ptr<Admission> admission);

  size_t size() const { return tiers_.size(); }
  bool empty() const { return tiers_.empty(); }
  LowerTier& at(size_t tier) { return *tiers_[tier].tier; }
  const LowerTier& at(size_t tier) const { return *tiers_[tier].tier; }
  Admission& admission(size_t tier) { return *tiers_[tier].admission; }
  TierKind kind(size_t tier) const { return tiers_[tier].kind; }
  bool Has(TierKind kind) const;

  // Where to write what belongs to a track, in order: tiers that have some of it first, and among
  // others of a kind one that follows from its name, so that a track stays together.
  std::vector<size_t> HomesOf(const TrackName& track, TierKind kind) const;
  // Where to write what belongs to a group: to the tier that has some of it or is about to, and to
  // no other, since a group that is half on each of two is whole on neither.
  std::vector<size_t> HomesOf(const TrackName& track, uint64_t group, TierKind kind) const;
  // The first tier from `from` on that has the object.
  std::optional<size_t> Holder(const TrackName& track, Location location, size_t from = 0) const;

  Presence PresenceOf(const TrackName& track, Location location) const;
  // A tier has the object, can be read now, and has not failed to give it.
  bool CanRead(const TrackName& track, Location location) const;
  bool Knows(const TrackName& track) const;
  // Adds what the tiers know to what is known: what was told first stays, the rest adds up.
  void AddFacts(const TrackName& track, std::optional<TrackFacts>& facts) const;
  // A tier that has the whole group, if there is one; else the one that has most of it.
  std::optional<GroupFacts> FindGroup(const TrackName& track, uint64_t group) const;
  std::optional<Digest> KeyOf(const TrackName& track, uint64_t group) const;
  // An object of the group is on its way to a tier.
  bool Expects(const TrackName& track, uint64_t group) const;
  // This tier has something of the group, or is about to.
  bool HasOrExpects(size_t tier, const TrackName& track, uint64_t group) const;
  // Whether a tier of this kind has the whole group, as far as anybody can tell.
  bool HasWhole(const TrackName& track, uint64_t group, TierKind kind) const;
  // Whether one of at least this level has it, and all that makes it whole has become durable: its
  // end, and the gaps that it has.
  bool HasWritten(const TrackName& track, uint64_t group, Durability level) const;
  std::optional<uint64_t> GroupFrom(const TrackName& track, uint64_t group) const;
  std::optional<uint64_t> GroupUpTo(const TrackName& track, uint64_t group) const;
  std::optional<uint64_t> ObjectFrom(const TrackName& track, Location location) const;
  std::optional<uint64_t> AbsentUpTo(const TrackName& track, Location location) const;

 private:
  struct Entry {
    TierKind kind;
    std::unique_ptr<LowerTier> tier;
    std::unique_ptr<Admission> admission;
  };
  std::vector<Entry> tiers_;
};

}  // namespace kvcast
