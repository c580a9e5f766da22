#include "kvcast/catalog/delta.h"

#include "kvcast/base/check.h"

namespace kvcast {

void Delta::Add(const CatalogRecord& record) {
  if (const auto* drop = std::get_if<DropRecord>(&record)) {
    Track& track = tracks_[drop->id];
    if (track.name) {
      tracks_.erase(drop->id);  // It came and went: nobody needs to hear of it.
    } else {
      track.groups.clear();
      track.dropped = true;
    }
    return;
  }
  const uint32_t id = std::visit([](const auto& any) { return any.id; }, record);
  Track& track = tracks_[id];
  KVCAST_CHECK(!track.dropped);
  if (const auto* named = std::get_if<TrackRecord>(&record)) {
    track.name = named->name;
  } else if (const auto* add = std::get_if<AddRecord>(&record)) {
    track.groups.insert_or_assign(add->group, *add);
  } else if (const auto* remove = std::get_if<RemoveRecord>(&record)) {
    track.groups.insert_or_assign(remove->group, *remove);
  }
}

void Delta::Merge(const Delta& later) {
  for (const CatalogRecord& record : later.ToRecords()) {
    Add(record);
  }
}

CatalogRecords Delta::ToRecords() const {
  CatalogRecords drops;
  CatalogRecords names;
  CatalogRecords groups;
  for (const auto& [id, track] : tracks_) {
    if (track.dropped) {
      drops.push_back(DropRecord{id});
    }
    if (track.name) {
      names.push_back(TrackRecord{id, *track.name});
    }
    for (const auto& [group, change] : track.groups) {
      std::visit([&](const auto& record) { groups.push_back(record); }, change);
    }
  }
  drops.insert(drops.end(), names.begin(), names.end());
  drops.insert(drops.end(), groups.begin(), groups.end());
  return drops;
}

}  // namespace kvcast
