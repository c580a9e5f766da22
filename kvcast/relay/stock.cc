#include "kvcast/relay/stock.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "kvcast/base/planted.h"
#include "kvcast/catalog/block_key.h"
#include "kvcast/moqt/timers.h"
#include "kvcast/relay/grant.h"
#include "kvcast/store/disk_index.h"

namespace kvcast::relay {
namespace {

// Groups of a tier that are listed in one go, and reads for those that must be dated first.
constexpr size_t kListAtOnce = 8192;
constexpr size_t kDateAtOnce = 32;
// What could not be read to be dated is read again after this.
constexpr Duration kDateAgain = std::chrono::seconds(10);
// A tier that does not take a removal is asked again after this.
constexpr Duration kExpireAgain = std::chrono::seconds(1);
// Of which it is known that something is here.
constexpr size_t kTenantsMax = 4096;

}  // namespace

Stock::Stock(const StoreOptions& store, const NodeId& node, const BootId& boot,
             const Limits& limits, RelayMetrics& metrics, Log log)
    : store_(store),
      catalogs_(node, boot, limits),
      acks_(store.epoch_us),
      metrics_(&metrics),
      log_(std::move(log)),
      max_cache_ms_(store.max_cache_ms) {}

void Stock::NoteKey(const TrackName& track, uint64_t group, const Digest& key) {
  if (keys_.insert_or_assign({track, group}, key).second) {
    key_bytes_ += HeapBytesOf(track);
  }
}

void Stock::DropKey(const TrackName& track, uint64_t group) {
  if (keys_.erase({track, group}) > 0) {
    key_bytes_ -= HeapBytesOf(track);
  }
}

void Stock::CountBooks(Instant now) {
  store_.ram().CountBeside(expiries_.bytes() + key_bytes_ + catalogs_.bytes() + received_bytes_);
  store_.SettleRam(now);
}

void Stock::CountReceived(size_t bytes, Instant now) {
  if (std::exchange(received_bytes_, bytes) != bytes) {
    CountBooks(now);
  }
}

Result<void> Stock::Describe(const TrackName& track, const Properties& properties,
                             std::optional<Location> largest, Durability level, Instant now) {
  NoteTenant(track, /*from_tier=*/false);
  KVCAST_TRY(const Store::Asked asked, store_.Describe(track, properties, largest, level, now));
  if (level != Durability::kMemory) {
    acks_.Begin(track, level, asked);
    KVCAST_TRY(const TrackName ack_track, AckTrackOf(track.space()));
    KVCAST_TRY_VOID(KeepAck(ack_track, std::nullopt, now));
  }
  return {};
}

Result<void> Stock::KeepAck(const TrackName& track, std::optional<Location> largest, Instant now) {
  KVCAST_TRY_VOID(store_.ram().Describe(track, {}, largest));
  store_.SettleRam(now);
  return {};
}

Result<bool> Stock::Keep(const TrackName& track, const Object& object, Durability level,
                         Instant now, const Stay& stay) {
  KVCAST_TRY(const Store::Kept kept, store_.Put(track, object, level, now, stay.since));
  const uint64_t group = object.location.group;
  if (kept.ticket) {
    acks_.OnAsked(track, group, *kept.ticket);
  }
  // What a tier has had since before this run may have no date yet, and be in memory now.
  if (stay.until && (kept.is_new || !expiries_.Has(track, group))) {
    expiries_.Add(track, object.location, *stay.until);
  }
  if (!kept.is_new) {
    return false;
  }
  if (object.location.object == 0 && Catalogs::CanList(track)) {
    const Result<std::optional<Digest>> key = BlockKeyIn(object.properties);
    if (key.ok() && *key) {
      NoteKey(track, group, **key);
    }
  }
  (void)ListIfWhole(track, group);
  CountBooks(now);
  return true;
}

Result<void> Stock::EndGroup(const TrackName& track, uint64_t group, uint64_t end, Durability level,
                             Instant now) {
  KVCAST_TRY(const Store::Asked asked, store_.EndGroup(track, group, end, level, now));
  if (asked) {
    acks_.OnAsked(track, group, *asked);
  }
  (void)ListIfWhole(track, group);
  return {};
}

void Stock::AddGap(const TrackName& track, const LocationRange& gap, Durability level,
                   Instant now) {
  const std::vector<StoreTicket> asked = store_.AddGap(track, gap, level, now);
  // Of a gap that leaves out whole groups no group is less.
  if (gap.first.group != gap.last.group || gap.last.object == LocationRange::kWholeGroup) {
    return;
  }
  for (const StoreTicket ticket : asked) {
    acks_.OnAsked(track, gap.first.group, ticket);
  }
  (void)ListIfWhole(track, gap.first.group);
}

Result<void> Stock::EndTrack(const TrackName& track, Instant now) {
  const std::optional<TrackFacts> facts = store_.Find(track);
  if (!facts || !facts->largest) {
    return {};
  }
  return store_.EndTrack(track, {facts->largest->group, facts->largest->object + 1}, now);
}

std::optional<Digest> Stock::KeyOf(const TrackName& track, uint64_t group) {
  if (const auto known = keys_.find({track, group}); known != keys_.end()) {
    return known->second;
  }
  if (!Catalogs::CanList(track)) {
    return std::nullopt;
  }
  // Looking at it is not a use of it.
  const Object* const first = store_.ram().Look(track, {group, 0});
  if (first == nullptr) {
    return store_.tiers().KeyOf(track, group);
  }
  const Result<std::optional<Digest>> key = BlockKeyIn(first->properties);
  return key.ok() ? *key : std::nullopt;
}

void Stock::Relist(const TrackName& track, uint64_t group) {
  if (!ListIfWhole(track, group)) {
    catalogs_.Unlist(track, group);
  }
}

bool Stock::ListIfWhole(const TrackName& track, uint64_t group) {
  const std::optional<GroupFacts> facts = store_.FindGroup(track, group);
  if (!facts || !facts->whole() || facts->object_count == 0) {
    return false;
  }
  if (catalogs_.IsListed(track, group)) {
    DropKey(track, group);  // Another tier has it, too.
    return true;
  }
  if (const std::optional<Digest> key = KeyOf(track, group)) {
    if (!catalogs_.List(track, group, *key, facts->payload_bytes)) {
      metrics_->blocks_unlisted.Add();
      if (!std::exchange(warned_of_room_, true)) {
        log_.Warning(
            "no room for more catalogs: what is not listed is served to who knows its name",
            {{"catalogs", catalogs_.catalog_count()}, {"track", track.Render()}});
      }
    }
    DropKey(track, group);
  }
  return true;
}

void Stock::Unlist(const TrackName& track, uint64_t group) {
  catalogs_.Unlist(track, group);
  if (!store_.FindGroup(track, group)) {
    DropKey(track, group);
  }
  if (!store_.GroupFrom(track, 0)) {
    emptied_.push_back(track);
  }
}

void Stock::OnTime(Instant now) {
  store_.OnTime(now);
  OnInput(now);
}

void Stock::OnInput(Instant now) {
  Expire(now);
  store_.Pump(now);
  TakeEvents(now);
  ListSome();
  DateSome(now);
  CountBooks(now);
}

std::optional<Instant> Stock::deadline() const {
  std::optional<Instant> first = expiries_.next();
  for (const std::optional<Instant> other : {store_.deadline(), acks_.next()}) {
    first = other && (!first || *other < *first) ? other : first;
  }
  const bool may_date = dating_.size() < kDateAtOnce;
  if (may_date && !undated_later_.empty()) {
    const Instant later = undated_later_.front().first;
    first = first ? std::min(*first, later) : later;
  }
  // There is more to list: at once.
  const bool more = !listings_.empty() || (may_date && !undated_.empty());
  return more ? std::optional(Instant()) : first;
}

void Stock::TakeEvents(Instant now) {
  while (std::optional<StoreEvent> event = store_.Next()) {
    if (auto* read = std::get_if<StoreRead>(&*event)) {
      if (dating_.contains(read->ticket)) {
        OnDated(*read, now);
      } else {
        reads_.push_back(std::move(*read));
      }
    } else if (const auto* moved = std::get_if<StoreMoved>(&*event)) {
      OnMoved(moved->group);
    } else if (const auto* written = std::get_if<StoreWritten>(&*event)) {
      OnWritten(*written);
    } else if (const auto* due = std::get_if<StoreDue>(&*event)) {
      expiries_.AddGroup(due->group.track, due->group.group, moqt::After(now, due->left_ms));
    } else if (const auto* arrived = std::get_if<StoreArrived>(&*event)) {
      List(arrived->group);
    } else if (const auto* told = std::get_if<StoreTold>(&*event)) {
      Acknowledge(acks_.Unsettled(told->track, told->group));
    } else {
      listings_.push_back({std::get<StoreTierReady>(*event).tier, std::nullopt});
    }
  }
}

void Stock::OnMoved(const EvictedGroup& moved) {
  const std::optional<GroupFacts> facts = store_.FindGroup(moved.track, moved.group);
  if (!facts || facts->object_count == 0) {
    if (store_.tiers().Expects(moved.track, moved.group)) {
      expiries_.Join(moved.track, moved.group);  // What comes to be there is due all the same.
    } else {
      metrics_->groups_evicted.Add();
      expiries_.Forget(moved.track, moved.group);
    }
    if (!Planted(PlantedBug::kEvictedStaysListed)) {
      Unlist(moved.track, moved.group);
    }
    return;
  }
  if (!store_.ram().FindGroup(moved.track, moved.group)) {
    expiries_.Join(moved.track, moved.group);
  }
  Relist(moved.track, moved.group);
}

void Stock::OnWritten(const StoreWritten& written) {
  OnForgotten(written);
  if (written.error) {
    log_.Warning("durable write failed", {{"reason", written.error->ToString()}});
  }
  Acknowledge(acks_.OnWritten(written));
}

void Stock::Acknowledge(const std::vector<EvictedGroup>& groups) {
  for (const EvictedGroup& group : groups) {
    const std::optional<Durability> level = acks_.LevelOf(group.track);
    const bool whole = level && store_.tiers().HasWritten(group.track, group.group, *level);
    acks_.Settle(group.track, group.group, whole);
    Relist(group.track, group.group);
  }
}

// A group of which a tier below has anything goes as one: there is no removing a single object, and
// what is left of a block is of little use.
void Stock::Expire(Instant now) {
  while (const std::optional<ExpiryBook::Expired> due = expiries_.TakeDue(now)) {
    if (!due->object || store_.IsBelow(due->track, due->group)) {
      ExpireGroup(due->track, due->group, now);
    } else {
      store_.ram().Remove(due->track, Location{due->group, *due->object});
      metrics_->objects_expired.Add();
    }
    Unlist(due->track, due->group);
  }
}

void Stock::ExpireGroup(const TrackName& track, uint64_t group, Instant now) {
  store_.Remove(track, group, now);
  expiries_.Forget(track, group);
  if (store_.IsBelow(track, group)) {
    expiries_.AddGroup(track, group, now + kExpireAgain);
  } else {
    metrics_->objects_expired.Add();
  }
}

void Stock::ListSome() {
  if (listings_.empty()) {
    return;
  }
  Listing& listing = listings_.front();
  const std::vector<ListedGroup> groups =
      store_.tiers().at(listing.tier).Groups(listing.after, kListAtOnce);
  for (const ListedGroup& group : groups) {
    List(group);
  }
  if (groups.size() < kListAtOnce) {
    log_.Info("stored groups listed", {{"tier", listing.tier},
                                       {"blocks", catalogs_.block_count()},
                                       {"undated", undated_.size()}});
    listings_.pop_front();
  } else {
    listing.after = EvictedGroup{groups.back().track, groups.back().group};
  }
}

void Stock::NoteTenant(const TrackName& track, bool from_tier) {
  const std::string_view tenant = TenantOf(track.space());
  if (tenant.empty() || track.space().field_count() < 3 || track.space().field(2) == "catalog" ||
      tenants_.size() >= kTenantsMax || tenants_.contains(tenant)) {
    return;
  }
  if (tenants_.size() + 1 == kTenantsMax) {
    log_.Warning("what upstreams forget of more tenants is not followed",
                 {{"tenants", kTenantsMax}});
  }
  tenants_.emplace(tenant);
  new_tenants_.emplace_back(tenant, from_tier);
}

void Stock::List(const ListedGroup& group) {
  NoteTenant(group.track, /*from_tier=*/true);
  if (!group.key || !Catalogs::CanList(group.track) || !group.facts.whole()) {
    return;
  }
  const std::optional<TrackFacts> facts = store_.Find(group.track);
  if (facts && max_cache_ms_ && max_cache_ms_(facts->properties)) {
    undated_.push_back(group);
  } else {
    ListDated(group);
  }
}

std::optional<ListedGroup> Stock::NextUndated(Instant now) {
  std::optional<ListedGroup> next;
  if (!undated_.empty()) {
    next = std::move(undated_.front());
    undated_.pop_front();
  } else if (!undated_later_.empty() && undated_later_.front().first <= now) {
    next = std::move(undated_later_.front().second);
    undated_later_.pop_front();
  }
  return next;
}

void Stock::DateSome(Instant now) {
  for (size_t looks = 0; looks < kListAtOnce && dating_.size() < kDateAtOnce; ++looks) {
    std::optional<ListedGroup> next = NextUndated(now);
    if (!next) {
      return;
    }
    const Store::Got got = store_.Get(next->track, {next->group, 0}, now);
    if (const auto* ticket = std::get_if<StoreTicket>(&got)) {
      dating_.emplace(*ticket, *std::move(next));
    } else if (std::holds_alternative<Object>(got)) {
      ListDated(*next);  // What is in memory came or was read in this run, and has its date.
    } else {
      DateLater(*std::move(next), now);
    }
  }
}

// When it is due was told with the read.
void Stock::OnDated(const StoreRead& read, Instant now) {
  ListedGroup dated = std::move(dating_.extract(read.ticket).mapped());
  if (read.found) {
    ListDated(dated);
  } else {
    DateLater(std::move(dated), now);
  }
}

void Stock::ListDated(const ListedGroup& group) {
  NoteKey(group.track, group.group, *group.key);
  Relist(group.track, group.group);
}

// Until then it is served while it may be, and not listed.
void Stock::DateLater(ListedGroup group, Instant now) {
  if (store_.tiers().FindGroup(group.track, group.group)) {
    undated_later_.emplace_back(now + kDateAgain, std::move(group));
  }
}

void Stock::KeepCatalog(const CatalogChange& change, Instant now) {
  RamTier& ram = store_.ram();
  if (change.is_over) {
    Discard(change.track, now);
    return;
  }
  Result<void> kept;
  if (change.is_new) {
    kept = ram.Pin(change.track);
  }
  for (const Object& object : change.objects) {
    if (kept.ok()) {
      const Result<bool> put = ram.Put(change.track, object);
      kept = put.ok() ? Result<void>() : Result<void>(put.error());
    }
  }
  if (!kept.ok()) {
    log_.Error("catalog not kept", {{"reason", kept.error().ToString()}});
  }
  if (change.ended_epoch) {
    ram.Remove(change.track, *change.ended_epoch);
  }
  store_.SettleRam(now);
}

std::vector<CatalogChange> Stock::Settle(Instant now) {
  std::vector<CatalogChange> all;
  TakeEvents(now);
  CountBooks(now);
  // A catalog that is only beginning to be written is not shown.
  for (std::vector<CatalogChange> changes; listings_.empty();) {
    changes = catalogs_.TakeChanges();
    if (changes.empty()) {
      break;
    }
    for (const CatalogChange& change : changes) {
      KeepCatalog(change, now);
    }
    all.insert(all.end(), std::make_move_iterator(changes.begin()),
               std::make_move_iterator(changes.end()));
    TakeEvents(now);  // A catalog takes room too.
  }
  metrics_->blocks_listed.Set(static_cast<int64_t>(catalogs_.block_count()));
  metrics_->stored_bytes.Set(static_cast<int64_t>(store_.ram().bytes()));
  metrics_->stored_objects.Set(static_cast<int64_t>(store_.ram().object_count()));
  metrics_->Show(store_.counts(), store_.demoting_bytes(), store_.desk().waiting());
  return all;
}

void Stock::Discard(const TrackName& track, Instant now) {
  while (const std::optional<uint64_t> group = store_.GroupFrom(track, 0)) {
    store_.Remove(track, *group, now);
    if (store_.GroupFrom(track, 0) == group) {
      break;  // A tier takes nothing just now, a removal neither.
    }
  }
  TakeEvents(now);
  (void)store_.Forget(track, now);
}

}  // namespace kvcast::relay
