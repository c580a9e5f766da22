#include "kvcast/relay/catalogs.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "kvcast/base/check.h"
#include "kvcast/relay/grant.h"
#include "kvcast/store/disk_index.h"

namespace kvcast::relay {

bool Catalogs::IsOurs(const TrackName& track) const {
  const Result<CatalogTrack> catalog = track.name() == CatalogTrack::kForgotten
                                           ? CatalogTrack::ParseForgotten(track)
                                           : CatalogTrack::Parse(track);
  return catalog.ok() && catalog->node == node_;
}

Catalogs::Catalog* Catalogs::Filled(const TrackNamespace& scope) {
  const auto known = scopes_.find(scope);
  if (known != scopes_.end() && !empty_.contains(scope)) {
    return &known->second;
  }
  const std::string_view tenant = TenantOf(scope);
  const auto own = filled_.find(tenant);
  const size_t filled = scopes_.size() - empty_.size();
  if (filled >= limits_->scopes_max ||
      (own == filled_.end() ? 0 : own->second) >= limits_->scopes_max - filled) {
    return nullptr;
  }
  empty_.erase(scope);
  ++filled_[std::string(tenant)];
  if (known != scopes_.end()) {
    return &known->second;
  }
  if (scopes_.size() >= limits_->scopes_max) {
    DropOne();
  }
  const TrackName name = CatalogTrack{scope, node_, boot_}.Name();
  return &scopes_.emplace(scope, Catalog{name, CatalogWriter({}, first_epoch_), false})
              .first->second;
}

void Catalogs::OnEmptied(const TrackNamespace& scope) {
  empty_.insert(scope);
  const auto own = filled_.find(TenantOf(scope));
  if (--own->second == 0) {
    filled_.erase(own);
  }
}

void Catalogs::DropOne() {
  const auto dropped = scopes_.extract(*empty_.begin());
  empty_.erase(empty_.begin());
  changed_.erase(dropped.key());
  const Catalog& catalog = dropped.mapped();
  if (catalog.told) {
    first_epoch_ = std::max(first_epoch_, catalog.writer.epoch() + 1);
    over_.push_back(catalog.name);
  }
}

size_t Catalogs::BytesOf(const TrackName& track) {
  return 2 * (kNodeBytes + HeapBytesOf(track)) +
         sizeof(std::pair<const uint32_t, Holdings::Track>) +
         sizeof(std::pair<const TrackName, uint32_t>);
}

bool Catalogs::List(const TrackName& track, uint64_t group, const Digest& key, uint64_t bytes) {
  KVCAST_CHECK(CanList(track));
  const TrackNamespace scope = track.space().First(2);
  Catalog* const catalog = Filled(scope);
  if (catalog == nullptr) {
    return false;
  }
  CatalogWriter& writer = catalog->writer;
  const size_t before = writer.holdings().block_count();
  const size_t tracks = writer.holdings().tracks().size();
  const bool listed = writer.Add(track, group, key, bytes).ok();
  block_count_ += writer.holdings().block_count() - before;
  track_bytes_ += writer.holdings().tracks().size() > tracks ? BytesOf(track) : 0;
  changed_.insert(scope);
  if (writer.holdings().block_count() == 0) {
    OnEmptied(scope);
  }
  return listed;
}

void Catalogs::Unlist(const TrackName& track, uint64_t group) {
  if (!CanList(track)) {
    return;
  }
  const auto found = scopes_.find(track.space().First(2));
  if (found == scopes_.end()) {
    return;
  }
  CatalogWriter& writer = found->second.writer;
  if (!writer.Holds(track, group)) {
    return;
  }
  const size_t before = writer.holdings().block_count();
  const size_t tracks = writer.holdings().tracks().size();
  writer.Remove(track, group);
  block_count_ -= before - writer.holdings().block_count();
  track_bytes_ -= writer.holdings().tracks().size() < tracks ? BytesOf(track) : 0;
  changed_.insert(found->first);
  if (writer.holdings().block_count() == 0) {
    OnEmptied(found->first);
  }
}

bool Catalogs::IsListed(const TrackName& track, uint64_t group) const {
  const auto found = CanList(track) ? scopes_.find(track.space().First(2)) : scopes_.end();
  return found != scopes_.end() && found->second.writer.Holds(track, group);
}

void Catalogs::ListForgotten(const TrackNamespace& scope, const ForgetList& list) {
  if (!CatalogTrack::CanHaveForgotten(scope) || list.empty() ||
      (forgotten_.size() >= limits_->scopes_max && !forgotten_.contains(scope))) {
    return;
  }
  const TrackName name = CatalogTrack{scope, node_, boot_}.ForgottenName();
  forgotten_.try_emplace(scope, Forgotten{name, {}, 0}).first->second.next = list.Encode();
  forgotten_changed_.insert(scope);
}

void Catalogs::TakeForgotten(std::vector<CatalogChange>& changes) {
  for (const TrackNamespace& scope : std::exchange(forgotten_changed_, {})) {
    Forgotten& list = forgotten_.at(scope);
    CatalogChange change{list.name, list.version == 0, false, std::nullopt, {}};
    if (list.version > 0) {
      change.ended_epoch = list.version;
    }
    Object object;
    object.location = {++list.version, 0};
    object.payload = std::exchange(list.next, {});
    change.objects.push_back(std::move(object));
    changes.push_back(std::move(change));
  }
}

std::vector<CatalogChange> Catalogs::TakeChanges() {
  std::vector<CatalogChange> changes;
  TakeForgotten(changes);
  for (const TrackName& name : std::exchange(over_, {})) {
    changes.push_back({name, false, true, std::nullopt, {}});
  }
  for (const TrackNamespace& scope : std::exchange(changed_, {})) {
    Catalog& catalog = scopes_.at(scope);
    CatalogWriter& writer = catalog.writer;
    CatalogChange change{catalog.name, !std::exchange(catalog.told, true), false, std::nullopt, {}};
    if (writer.delta_bytes() > std::max(writer.snapshot_bytes(), limits_->epoch_bytes_min)) {
      change.ended_epoch = writer.epoch();
      writer.StartEpoch();
    }
    change.objects = writer.TakeObjects();
    if (!change.objects.empty()) {
      changes.push_back(std::move(change));
    }
  }
  return changes;
}

std::vector<TrackName> Catalogs::Below(const TrackNamespace& prefix) const {
  std::vector<TrackName> names;
  for (const auto& [scope, catalog] : scopes_) {
    if (catalog.told && prefix.IsPrefixOf(catalog.name.space())) {
      names.push_back(catalog.name);
    }
  }
  for (const auto& [scope, list] : forgotten_) {
    if (list.version > 0 && prefix.IsPrefixOf(list.name.space())) {
      names.push_back(list.name);
    }
  }
  return names;
}

}  // namespace kvcast::relay
