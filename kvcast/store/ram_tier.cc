#include "kvcast/store/ram_tier.h"

#include <algorithm>
#include <string>
#include <utility>

#include "kvcast/store/segment_contents.h"

namespace kvcast {
namespace {

// Of the tier: for blocks that are gone and remembered, at so many bytes each; and for groups that
// are still coming.
constexpr size_t kGhostPart = 64;
constexpr size_t kGhostBytes = 160;
constexpr size_t kArrivingPart = 8;

// A small payload may be strewn over chunks that are mostly empty, as what was put together piece
// by piece is. It is then cheaper to copy than to keep.
constexpr size_t kSmallPayloadBytes = 4096;
bool IsStrewn(const Bytes& payload) {
  return payload.size() <= kSmallPayloadBytes &&
         payload.memory_bytes() > payload.size() + payload.size() / 2 + 128;
}

Error Contradiction(const std::string& what) {
  return Error(ErrorCode::kMismatch, what + " contradicts what the track has brought before.");
}

Error NoRoomFor(const std::string& what) {
  return Error(ErrorCode::kTooLarge, "There is no room for one more " + what + ".");
}

Result<void> CheckReservations(const RamTierOptions& options) {
  uint64_t left = options.bytes_max;
  for (const auto& [tenant, reserved] : options.reservations) {
    if (reserved > left) {
      return Error(ErrorCode::kInvalid,
                   "Tenants reserve more than the " + std::to_string(options.bytes_max) +
                       " bytes that there are; '" + tenant + "' is the first not to fit.");
    }
    left -= reserved;
  }
  return {};
}

}  // namespace

Result<RamTier> RamTier::Of(const RamTierOptions& options) {
  KVCAST_TRY_VOID(CheckReservations(options));
  if (options.pinned_percent > 100) {
    return Error(ErrorCode::kInvalid, "No more than 100 percent of a tier can be pinned.");
  }
  RamPoolsOptions pools;
  pools.eviction = options.eviction;
  pools.limits.bytes_max = options.bytes_max;
  pools.limits.ghosts_max =
      options.bytes_max / kGhostPart / kGhostBytes / (options.reservations.size() + 1);
  pools.secret = options.secret;
  pools.arriving_bytes_max = options.bytes_max / kArrivingPart;
  pools.reservations = options.reservations;
  KVCAST_TRY(std::unique_ptr<RamPools> made, RamPools::Of(pools));
  return RamTier(options, std::move(made));
}

RamTier::RamTier(const RamTierOptions& options, std::unique_ptr<RamPools> pools)
    : bytes_max_(options.bytes_max),
      key_property_(options.key_property),
      pinned_bytes_max_(options.bytes_max / 100 * options.pinned_percent),
      payload_chunks_(options.payload_chunks),
      index_(std::make_unique<RamIndex>(options.secret)),
      pools_(std::move(pools)),
      pins_(std::make_unique<PinBook>()),
      overhead_bytes_(payload_chunks_ == nullptr ? 0 : payload_chunks_->overhead_bytes()) {}

RamTier::RamTier(size_t bytes_max) : RamTier(std::move(*Of({.bytes_max = bytes_max}))) {}

bool RamTier::Fits(size_t bytes) const {
  const size_t taken = this->bytes() + pools_->headroom();
  return taken <= bytes_max_ && bytes <= bytes_max_ - taken;
}

void RamTier::TrimIdle(size_t bytes) {
  if (payload_chunks_ == nullptr) {
    return;
  }
  const size_t taken = this->bytes() + pools_->headroom() + bytes + payload_chunks_->CollectIdle();
  if (taken > bytes_max_) {
    payload_chunks_->Discard(taken - bytes_max_);
  }
}

// The shield is down again before anybody asks what fits: a policy takes other bytes for a group
// that it may not evict.
RamGroup* RamTier::VictimBut(RamPool& newcomer, RamGroup* keep) {
  const bool shielded =
      keep != nullptr && keep->state == RamGroup::State::kResting && keep->pins == 0;
  if (shielded) {
    pools_->Pin(*keep);
  }
  RamGroup* const victim = pools_->Victim(newcomer, keep);
  if (shielded) {
    pools_->Unpin(*keep);
  }
  return victim;
}

bool RamTier::EvictFor(size_t bytes, RamPool& newcomer, RamGroup* keep) {
  while (!Fits(bytes)) {
    RamGroup* const victim = VictimBut(newcomer, keep);
    if (victim == nullptr) {
      break;
    }
    Erase(*victim, true);
  }
  TrimIdle(bytes);
  return Fits(bytes);
}

Result<RamTrack*> RamTier::TrackFor(const TrackName& name, const Properties& properties) {
  if (RamTrack* const track = index_->FindTrack(name)) {
    return track;
  }
  RamPool& pool = pools_->PoolOf(name);
  if (!EvictFor(index_->TrackBytes(name, properties), pool, nullptr)) {
    return NoRoomFor("track");
  }
  return &index_->AddTrack(name, properties, pool);
}

Result<void> RamTier::Describe(const TrackName& name, const Properties& properties,
                               std::optional<Location> largest) {
  KVCAST_TRY(RamTrack * track, TrackFor(name, properties));
  TrackFacts& facts = track->facts;
  if (largest && !(facts.largest && *largest < *facts.largest)) {
    facts.largest = largest;
  }
  return {};
}

Result<void> RamTier::Pin(const TrackName& name) {
  KVCAST_TRY(RamTrack * track, TrackFor(name, {}));
  if (std::exchange(track->kept, true)) {
    return {};
  }
  const auto& groups = track->groups;
  for (RunMap<RamGroupSlot>::Place at; groups.At(at) != nullptr; at = groups.Next(at)) {
    RamGroup& group = *groups.At(at)->group;
    if (group.pins > 0) {
      pins_->RemoveGroup(group);
    }
    pools_->Keep(group);
  }
  return {};
}

Result<void> RamTier::CheckGroupEnd(const TrackName& name, uint64_t number, uint64_t end) const {
  const RamGroup* const group = FindIn(name, number);
  const StoredObject* const last = group == nullptr ? nullptr : group->objects.Last();
  const bool another = group != nullptr && group->end.value_or(end) != end;
  return another || (last != nullptr && RunNumber(*last) >= end)
             ? Contradiction("The end of group " + std::to_string(number))
             : Result<void>();
}

Result<void> RamTier::EndGroup(const TrackName& name, uint64_t number, uint64_t end) {
  KVCAST_TRY_VOID(CheckGroupEnd(name, number, end));
  KVCAST_TRY(RamTrack * track, TrackFor(name, {}));
  RamGroup* group = RamIndex::FindGroup(*track, number);
  if (group == nullptr) {
    if (!EvictFor(RamIndex::GroupBytes(track, number), *track->pool, nullptr)) {
      return NoRoomFor("group");
    }
    group = &index_->AddGroup(*track, number);
    pools_->Add(*group);
  }
  group->end = end;
  pools_->OnChange(*group, group->bytes);
  (void)EvictFor(0, *track->pool, group);
  return {};
}

Result<void> RamTier::EndTrack(const TrackName& name, Location end) {
  KVCAST_TRY(RamTrack * track, TrackFor(name, {}));
  TrackFacts& facts = track->facts;
  if ((facts.end && *facts.end != end) || (facts.largest && *facts.largest >= end)) {
    return Contradiction("The end at " + end.ToString());
  }
  facts.end = end;
  return {};
}

Result<void> RamTier::CheckGap(const TrackName& name, const LocationRange& gap) const {
  const RamTrack* const track = index_->FindTrack(name);
  const StoredObject* const standing = track == nullptr ? nullptr : RamIndex::FirstIn(*track, gap);
  return standing == nullptr ? Result<void>()
                             : Contradiction("A gap over " + standing->object.location.ToString());
}

void RamTier::AddGap(const TrackName& name, const LocationRange& gap) {
  const Result<RamTrack*> track = TrackFor(name, {});
  if (track.ok() && (*track)->facts.gaps.size() < TrackFacts::kGapsMax &&
      !(*track)->facts.HasGap(gap) &&
      EvictFor(RamIndex::GapBytes(**track), *(*track)->pool, nullptr)) {
    index_->AddGap(**track, gap);
  }
}

Result<bool> RamTier::Put(const TrackName& name, const Object& object, uint64_t received_us) {
  if (IsStrewn(object.payload)) {
    Object gathered = object;
    gathered.payload = Bytes::Of(object.payload.ToString());
    return Put(name, gathered, received_us);
  }
  RamTrack* track = index_->FindTrack(name);
  RamGroup* const group =
      track == nullptr ? nullptr : RamIndex::FindGroup(*track, object.location.group);
  const StoredObject* const known =
      group == nullptr ? nullptr : group->objects.Find(object.location.object);
  if (known != nullptr && known->object.ConsistentWith(object)) {
    return false;
  }
  if (known != nullptr ||
      (group != nullptr && ((group->end && object.location.object >= *group->end) ||
                            group->AbsentUpTo(object.location.object))) ||
      (track != nullptr && track->facts.IsGone(object.location))) {
    return Contradiction("Object " + object.location.ToString());
  }
  if (const auto gap = group == nullptr ? std::nullopt : object.GapBefore()) {
    KVCAST_TRY_VOID(CheckGap(name, *gap));
  }
  const size_t need = (track == nullptr ? index_->TrackBytes(name, {}) : 0) +
                      (group == nullptr ? RamIndex::GroupBytes(track, object.location.group) : 0) +
                      RamIndex::ObjectBytes(group, object);
  RamPool& pool = track == nullptr ? pools_->PoolOf(name) : *track->pool;
  // What can never be is not tried at the others' cost.
  if (need > bytes_max_ || (group != nullptr && group->bytes > bytes_max_ - need) ||
      !EvictFor(need, pool, group)) {
    return Error(ErrorCode::kTooLarge, "Group " + std::to_string(object.location.group) +
                                           " of the track does not fit a tier of " +
                                           std::to_string(bytes_max_) + " bytes.");
  }
  track = track == nullptr ? &index_->AddTrack(name, {}, pool) : track;
  Add(*track, group, {object, received_us});
  return true;
}

void RamTier::Add(RamTrack& track, RamGroup* group, StoredObject stored) {
  const Location location = stored.object.location;
  if (group == nullptr) {
    group = &index_->AddGroup(track, location.group);
    pools_->Add(*group);
  }
  if (location.object == 0) {
    group->key = KeyIn(stored.object.properties, key_property_);
    pools_->OnBegun(*group);
  }
  const size_t before = group->bytes;
  index_->AddObject(*group, std::move(stored));
  track.facts.largest = std::max(track.facts.largest.value_or(location), location);
  pools_->OnChange(*group, before);
  (void)EvictFor(0, *track.pool, group);
}

RamGroup* RamTier::FindIn(const TrackName& name, uint64_t number) const {
  const RamTrack* const track = index_->FindTrack(name);
  return track == nullptr ? nullptr : RamIndex::FindGroup(*track, number);
}

std::optional<uint64_t> RamTier::AbsentUpTo(const TrackName& name, Location location) const {
  const RamGroup* const group = FindIn(name, location.group);
  return group == nullptr ? std::nullopt : group->AbsentUpTo(location.object);
}

const Object* RamTier::Look(const TrackName& name, Location location) const {
  const RamGroup* const group = FindIn(name, location.group);
  const StoredObject* const stored =
      group == nullptr ? nullptr : group->objects.Find(location.object);
  return stored == nullptr ? nullptr : &stored->object;
}

std::optional<Object> RamTier::Get(const TrackName& name, Location location) {
  RamGroup* const group = FindIn(name, location.group);
  const StoredObject* const stored =
      group == nullptr ? nullptr : group->objects.Find(location.object);
  if (stored == nullptr) {
    return std::nullopt;
  }
  if (stored == group->objects.First()) {
    pools_->Hit(*group);
  }
  return stored->object;
}

std::vector<Object> RamTier::GetRange(const TrackName& name, const LocationRange& range,
                                      size_t count_max) {
  std::vector<Object> found;
  const RamTrack* const track = index_->FindTrack(name);
  if (track == nullptr || range.empty()) {
    return found;
  }
  const auto& groups = track->groups;
  for (auto at = groups.From(range.first.group);
       groups.At(at) != nullptr && groups.At(at)->number <= range.last.group;
       at = groups.Next(at)) {
    RamGroup& group = *groups.At(at)->group;
    auto next = group.objects.From(group.number == range.first.group ? range.first.object : 0);
    for (const StoredObject* stored = group.objects.At(next);
         stored != nullptr && range.Contains(stored->object.location) && found.size() < count_max;
         stored = group.objects.At(next)) {
      if (stored == group.objects.First()) {
        pools_->Hit(group);
      }
      found.push_back(stored->object);
      next = group.objects.Next(next);
    }
  }
  return found;
}

Result<size_t> RamTier::Pin(const TrackName& name, uint64_t first, uint64_t last, PinOwner owner,
                            Instant until) {
  RamTrack* const track = index_->FindTrack(name);
  if (track == nullptr || track->kept) {
    return size_t{0};
  }
  const auto collect = [&] {
    std::vector<RamGroup*> groups;
    for (auto at = track->groups.From(first);
         track->groups.At(at) != nullptr && track->groups.At(at)->number <= last;
         at = track->groups.Next(at)) {
      RamGroup* const group = track->groups.At(at)->group;
      // One that a late gap has made whole is still among those that arrive.
      if (group->whole() && group->state == RamGroup::State::kResting) {
        groups.push_back(group);
      }
    }
    return groups;
  };
  uint64_t more = 0;
  size_t pins = 0;
  for (const RamGroup* const group : collect()) {
    more += group->pins == 0 ? group->bytes : 0;
    pins += pins_->Has(*group, owner) ? 0u : 1u;
  }
  more += pins * PinBook::kPinBytes;
  if (pins > 0 && (pins_->pinned_bytes() + more > pinned_bytes_max_ ||
                   !EvictFor(pins * PinBook::kPinBytes, *track->pool, nullptr))) {
    return Error(ErrorCode::kTooLarge, "No more than " + std::to_string(pinned_bytes_max_) +
                                           " bytes of the tier may be pinned.");
  }
  // Some may just have had to go.
  const std::vector<RamGroup*> groups = collect();
  for (RamGroup* const group : groups) {
    if (pins_->Add(*group, owner, until)) {
      pools_->Pin(*group);
    }
  }
  return groups.size();
}

void RamTier::Unpin(PinOwner owner) { Free(pins_->RemoveOwner(owner)); }

void RamTier::OnTime(Instant now) { Free(pins_->RemoveDue(now)); }

void RamTier::Free(const std::vector<RamGroup*>& groups) {
  for (RamGroup* const group : groups) {
    pools_->Unpin(*group);
  }
}

const TrackFacts* RamTier::Find(const TrackName& name) const {
  const RamTrack* const track = index_->FindTrack(name);
  return track == nullptr ? nullptr : &track->facts;
}

std::optional<GroupFacts> RamTier::FindGroup(const TrackName& name, uint64_t number) const {
  const RamGroup* const group = FindIn(name, number);
  return group == nullptr ? std::nullopt : std::optional(group->facts());
}

std::optional<uint64_t> RamTier::GroupFrom(const TrackName& name, uint64_t number) const {
  const RamTrack* const track = index_->FindTrack(name);
  const RamGroupSlot* const slot =
      track == nullptr ? nullptr : track->groups.At(track->groups.From(number));
  return slot == nullptr ? std::nullopt : std::optional(slot->number);
}

std::optional<uint64_t> RamTier::GroupUpTo(const TrackName& name, uint64_t number) const {
  const RamTrack* const track = index_->FindTrack(name);
  if (track == nullptr) {
    return std::nullopt;
  }
  const auto from = track->groups.From(number);
  const RamGroupSlot* slot = track->groups.At(from);
  if (slot == nullptr || slot->number != number) {
    slot = track->groups.Before(from);
  }
  return slot == nullptr ? std::nullopt : std::optional(slot->number);
}

void RamTier::Remove(const TrackName& name, uint64_t number) {
  if (RamGroup* const group = FindIn(name, number)) {
    Erase(*group, false);
  }
}

void RamTier::Remove(const TrackName& name, Location location) {
  RamGroup* const group = FindIn(name, location.group);
  if (group == nullptr || group->objects.Find(location.object) == nullptr) {
    return;
  }
  if (group->objects.size() == 1) {
    Erase(*group, false);
    return;
  }
  if (group->pins > 0) {
    pins_->RemoveGroup(*group);
    pools_->Unpin(*group);
  }
  const size_t before = group->bytes;
  index_->EraseObject(*group, location.object);
  pools_->OnChange(*group, before);
}

void RamTier::TakeBack(const TrackName& name, Location location, std::optional<Location> largest,
                       bool was_known) {
  Remove(name, location);
  if (RamTrack* const track = index_->FindTrack(name)) {
    track->facts.largest = largest;
    if (!was_known) {
      (void)Forget(name);
    }
  }
}

void RamTier::CountBeside(size_t bytes) {
  if (std::exchange(beside_bytes_, bytes) < bytes) {
    (void)EvictFor(0, pools_->PoolOf(std::string_view()), nullptr);
  }
}

bool RamTier::Forget(const TrackName& name) {
  RamTrack* const track = index_->FindTrack(name);
  if (track == nullptr || !track->groups.empty()) {
    return track == nullptr;
  }
  index_->EraseTrack(*track);
  return true;
}

std::vector<EvictedGroup> RamTier::TakeEvicted() {
  evicted_.clear();
  return pools_->TakeEvicted();
}

std::vector<EvictedContents> RamTier::TakeEvictedContents() {
  std::vector<EvictedGroup> groups = pools_->TakeEvicted();
  if (hands_over_) {
    return std::exchange(evicted_, {});
  }
  std::vector<EvictedContents> names;
  for (EvictedGroup& group : groups) {
    names.push_back({.group = std::move(group), .end = {}, .key = {}, .bytes = 0, .objects = {}});
  }
  return names;
}

void RamTier::Erase(RamGroup& group, bool evicted) {
  if (evicted && hands_over_) {
    EvictedContents& leaving = evicted_.emplace_back(EvictedContents{
        {group.track->name(), group.number}, group.end, group.key, group.bytes, {}});
    leaving.objects.reserve(group.objects.size());
    for (RunMap<StoredObject>::Place at; group.objects.At(at) != nullptr;
         at = group.objects.Next(at)) {
      leaving.objects.push_back(*group.objects.At(at));
    }
  }
  if (group.pins > 0) {
    pins_->RemoveGroup(group);
  }
  pools_->Remove(group, evicted);
  index_->EraseGroup(group);
}

}  // namespace kvcast
