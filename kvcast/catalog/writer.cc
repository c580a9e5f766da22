#include "kvcast/catalog/writer.h"

#include <utility>

#include "kvcast/base/check.h"

namespace kvcast {

// REQUIRES: the record does not contradict the holdings.
void CatalogWriter::Change(const CatalogRecord& record) {
  KVCAST_CHECK(holdings_.Apply(record).ok());
  pending_.Add(record);
}

Result<void> CatalogWriter::Add(const TrackName& track, uint64_t group, const Digest& key,
                                uint64_t bytes) {
  const auto [id, is_new] = ids_.try_emplace(track, next_id_);
  if (is_new) {
    Change(TrackRecord{next_id_++, track});
  }
  const AddRecord record{id->second, group, bytes, key};
  KVCAST_TRY_VOID(holdings_.Apply(record));
  pending_.Add(record);
  return {};
}

void CatalogWriter::Remove(const TrackName& track, uint64_t group) {
  const auto id = ids_.find(track);
  if (id == ids_.end()) {
    return;
  }
  const auto& groups = holdings_.tracks().at(id->second).groups;
  if (!groups.contains(group)) {
    return;
  }
  if (groups.size() == 1) {
    Drop(track);  // A name without groups would stay listed for nothing.
  } else {
    Change(RemoveRecord{id->second, group});
  }
}

void CatalogWriter::Drop(const TrackName& track) {
  const auto id = ids_.find(track);
  if (id != ids_.end()) {
    Change(DropRecord{id->second});
    ids_.erase(id);
  }
}

std::vector<Object> CatalogWriter::TakeObjects() {
  const bool snapshot = next_object_ == 0;
  const Delta pending = std::exchange(pending_, Delta());
  const std::vector<Bytes> payloads =
      snapshot ? EncodeCatalog(CatalogKind::kSnapshot, holdings_.ToRecords())
               : EncodeCatalog(CatalogKind::kDelta, pending.ToRecords());
  std::vector<Object> objects;
  for (const Bytes& payload : payloads) {
    Object object;
    object.location = {epoch_, next_object_++};
    object.payload = payload;
    (snapshot ? snapshot_bytes_ : delta_bytes_) += payload.size();
    objects.push_back(std::move(object));
  }
  return objects;
}

void CatalogWriter::StartEpoch() {
  // Numbers start anew, which forgets the spent ones too.
  const Holdings before = std::exchange(holdings_, Holdings());
  ids_.clear();
  next_id_ = 0;
  pending_ = Delta();
  ++epoch_;
  next_object_ = 0;
  snapshot_bytes_ = 0;
  delta_bytes_ = 0;
  for (const auto& [id, track] : before.tracks()) {
    for (const auto& [group, block] : track.groups) {
      KVCAST_CHECK(Add(track.name, group, block.key, block.bytes).ok());
    }
  }
}

}  // namespace kvcast
