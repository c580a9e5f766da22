#include "kvcast/relay/stock.h"

#include <iterator>

#include "kvcast/catalog/block_key.h"

namespace kvcast::relay {

Result<bool> Stock::Keep(const TrackName& track, const Object& object,
                         std::optional<Instant> expires) {
  KVCAST_TRY(const bool is_new, tier_.Put(track, object));
  if (is_new) {
    if (expires) {
      expiries_.Add(track, object.location, *expires);
    }
    ListIfWhole(track, object.location.group);
  }
  return is_new;
}

void Stock::Expire(Instant now) {
  while (const std::optional<ExpiryBook::Expired> due = expiries_.TakeDue(now)) {
    tier_.Remove(due->track, due->location);
    metrics_->objects_expired.Add();
    Unlist(due->track, due->location.group);
  }
}

void Stock::Unlist(const TrackName& track, uint64_t group) {
  catalogs_.Unlist(track, group);
  if (!tier_.GroupFrom(track, 0)) {
    emptied_.push_back(track);
  }
}

Result<void> Stock::EndGroup(const TrackName& track, uint64_t group, uint64_t end) {
  KVCAST_TRY_VOID(tier_.EndGroup(track, group, end));
  ListIfWhole(track, group);
  return {};
}

Result<void> Stock::EndTrack(const TrackName& track) {
  const TrackFacts* facts = tier_.Find(track);
  if (facts == nullptr || !facts->largest) {
    return {};
  }
  return tier_.EndTrack(track, {facts->largest->group, facts->largest->object + 1});
}

void Stock::ListIfWhole(const TrackName& track, uint64_t group) {
  const std::optional<GroupFacts> facts = tier_.FindGroup(track, group);
  if (!facts || !facts->whole() || facts->object_count == 0 || !Catalogs::CanList(track)) {
    return;
  }
  const Result<std::optional<Digest>> key = BlockKeyIn(tier_.Get(track, {group, 0})->properties);
  if (key.ok() && *key) {
    catalogs_.List(track, group, **key, facts->payload_bytes);
  }
}

void Stock::UnlistEvicted() {
  for (const EvictedGroup& evicted : tier_.TakeEvicted()) {
    metrics_->groups_evicted.Add();
    expiries_.Forget(evicted.track, evicted.group);
    Unlist(evicted.track, evicted.group);
  }
}

void Stock::KeepCatalog(const CatalogChange& change) {
  Result<void> kept;
  if (change.is_new) {
    kept = tier_.Pin(change.track);
  }
  for (const Object& object : change.objects) {
    if (kept.ok()) {
      const Result<bool> put = tier_.Put(change.track, object);
      kept = put.ok() ? Result<void>() : Result<void>(put.error());
    }
  }
  if (!kept.ok()) {
    log_.Error("catalog not kept", {{"reason", kept.error().ToString()}});
  }
  if (change.ended_epoch) {
    tier_.Remove(change.track, *change.ended_epoch);
  }
}

std::vector<CatalogChange> Stock::Settle() {
  std::vector<CatalogChange> all;
  UnlistEvicted();
  for (std::vector<CatalogChange> changes = catalogs_.TakeChanges(); !changes.empty();
       changes = catalogs_.TakeChanges()) {
    for (const CatalogChange& change : changes) {
      KeepCatalog(change);
    }
    all.insert(all.end(), std::make_move_iterator(changes.begin()),
               std::make_move_iterator(changes.end()));
    UnlistEvicted();  // A catalog takes room too.
  }
  metrics_->blocks_listed.Set(static_cast<int64_t>(catalogs_.block_count()));
  metrics_->stored_bytes.Set(static_cast<int64_t>(tier_.bytes()));
  metrics_->stored_objects.Set(static_cast<int64_t>(tier_.object_count()));
  return all;
}

}  // namespace kvcast::relay
