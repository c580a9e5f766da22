#include "kvcast/catalog/delta.h"

#include <algorithm>
#include <string>
#include <utility>

namespace kvcast {

Result<void> Delta::Name(const TrackRecord& record) {
  if (record.id < next_id_) {
    return MalformedNumber(record.id, "is not above those before it.");
  }
  next_id_ = uint64_t{record.id} + 1;
  tracks_[record.id].name = record.name;
  return {};
}

Result<void> Delta::Drop(uint32_t id) {
  Track& track = tracks_[id];
  if (track.dropped) {
    return MalformedNumber(id, "was dropped.");
  }
  track.groups.clear();
  track.dropped = true;
  track.came_and_went = track.name.has_value();
  track.name.reset();
  return {};
}

Result<void> Delta::Add(const CatalogRecord& record) {
  if (const auto* named = std::get_if<TrackRecord>(&record)) {
    return Name(*named);
  }
  // A number in use was defined before, and so were all that may ever be below it.
  const uint32_t id = std::visit([](const auto& any) { return any.id; }, record);
  next_id_ = std::max(next_id_, uint64_t{id} + 1);
  if (std::holds_alternative<DropRecord>(record)) {
    return Drop(id);
  }
  const auto known = tracks_.find(id);
  if (known != tracks_.end() && known->second.dropped) {
    return MalformedNumber(id, "was dropped.");
  }
  if (const auto* remove = std::get_if<RemoveRecord>(&record)) {
    tracks_[id].groups[remove->group] = Group{true, std::nullopt};
    return {};
  }
  const AddRecord& add = std::get<AddRecord>(record);
  Group& group = tracks_[id].groups[add.group];
  if (group.add && *group.add != add) {
    return Error(ErrorCode::kMismatch, "Group " + std::to_string(add.group) + " of track number " +
                                           std::to_string(id) +
                                           " is added again as something else.");
  }
  group.add = add;
  return {};
}

Result<void> Delta::Merge(const CatalogRecords& later) {
  for (const CatalogRecord& record : later) {
    KVCAST_TRY_VOID(Add(record));
  }
  return {};
}

CatalogRecords Delta::ToRecords() const {
  CatalogRecords drops;
  CatalogRecords names;
  CatalogRecords removes;
  CatalogRecords adds;
  for (const auto& [id, track] : tracks_) {
    if (track.dropped && !track.came_and_went) {
      drops.push_back(DropRecord{id});
    }
    if (track.name) {
      names.push_back(TrackRecord{id, *track.name});
    }
    for (const auto& [number, group] : track.groups) {
      if (group.removed) {
        removes.push_back(RemoveRecord{id, number});
      }
      if (group.add) {
        adds.push_back(*group.add);
      }
    }
  }
  CatalogRecords all = std::move(drops);
  for (const CatalogRecords* more : {&names, &removes, &adds}) {
    all.insert(all.end(), more->begin(), more->end());
  }
  return all;
}

}  // namespace kvcast
