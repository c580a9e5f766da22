#include "kvcast/catalog/holdings.h"

#include <string>

namespace kvcast {

Result<Holdings::Track*> Holdings::Find(uint32_t id) {
  const auto found = tracks_.find(id);
  if (found == tracks_.end()) {
    return MalformedNumber(id, id < next_id_ ? "was dropped." : "was never defined.");
  }
  return &found->second;
}

Result<void> Holdings::ApplyTrack(const TrackRecord& record) {
  if (record.id < next_id_) {
    return MalformedNumber(record.id, "is not above those before it.");
  }
  if (tracks_.size() >= limits_.tracks_max) {
    return Error(ErrorCode::kTooLarge,
                 "The catalog names more than " + std::to_string(limits_.tracks_max) + " tracks.");
  }
  tracks_.emplace(record.id, Track{record.name, {}});
  next_id_ = uint64_t{record.id} + 1;
  return {};
}

Result<void> Holdings::ApplyAdd(const AddRecord& record) {
  KVCAST_TRY(Track* const track, Find(record.id));
  const Block block{record.key, record.bytes};
  const auto found = track->groups.find(record.group);
  if (found != track->groups.end()) {
    if (found->second == block) {
      return {};
    }
    return Error(ErrorCode::kMismatch, "Group " + std::to_string(record.group) +
                                           " of track number " + std::to_string(record.id) +
                                           " is added again as something else.");
  }
  if (block_count_ >= limits_.blocks_max) {
    return Error(ErrorCode::kTooLarge,
                 "The catalog lists more than " + std::to_string(limits_.blocks_max) + " blocks.");
  }
  track->groups.emplace(record.group, block);
  ++block_count_;
  return {};
}

Result<void> Holdings::Apply(const CatalogRecord& record) {
  if (const auto* named = std::get_if<TrackRecord>(&record)) {
    return ApplyTrack(*named);
  }
  if (const auto* add = std::get_if<AddRecord>(&record)) {
    return ApplyAdd(*add);
  }
  if (const auto* remove = std::get_if<RemoveRecord>(&record)) {
    KVCAST_TRY(Track* const track, Find(remove->id));
    block_count_ -= track->groups.erase(remove->group);
    return {};
  }
  const uint32_t id = std::get<DropRecord>(record).id;
  KVCAST_TRY(Track* const track, Find(id));
  block_count_ -= track->groups.size();
  tracks_.erase(id);
  return {};
}

CatalogRecords Holdings::ToRecords() const {
  CatalogRecords records;
  records.reserve(tracks_.size() + block_count_);
  for (const auto& [id, track] : tracks_) {
    records.push_back(TrackRecord{id, track.name});
  }
  for (const auto& [id, track] : tracks_) {
    for (const auto& [group, block] : track.groups) {
      records.push_back(AddRecord{id, group, block.bytes, block.key});
    }
  }
  return records;
}

}  // namespace kvcast
