#include "kvcast/catalog/writer.h"

#include <utility>

#include "kvcast/base/check.h"

namespace kvcast {

Result<void> CatalogWriter::Change(const CatalogRecord& record) {
  KVCAST_TRY_VOID(holdings_.Apply(record));
  KVCAST_CHECK(pending_.Add(record).ok());  // The holdings took it, so the delta does.
  return {};
}

Result<void> CatalogWriter::Add(const TrackName& track, uint64_t group, const Digest& key,
                                uint64_t bytes) {
  auto id = ids_.find(track);
  const bool is_new = id == ids_.end();
  if (is_new) {
    if (next_id_ > UINT32_MAX) {
      return Error(ErrorCode::kTooLarge, "The epoch's track numbers are used up.");
    }
    const uint32_t number = static_cast<uint32_t>(next_id_);
    KVCAST_TRY_VOID(Change(TrackRecord{number, track}));
    ++next_id_;
    id = ids_.emplace(track, number).first;
  }
  Result<void> added = Change(AddRecord{id->second, group, bytes, key});
  if (!added.ok() && is_new) {
    Drop(track);  // A name without groups would stay listed for nothing.
  }
  return added;
}

void CatalogWriter::Remove(const TrackName& track, uint64_t group) {
  if (!Holds(track, group)) {
    return;
  }
  const auto id = ids_.find(track);
  if (holdings_.tracks().at(id->second).groups.size() == 1) {
    Drop(track);  // A name without groups would stay listed for nothing.
  } else {
    KVCAST_CHECK(Change(RemoveRecord{id->second, group}).ok());
  }
}

bool CatalogWriter::Holds(const TrackName& track, uint64_t group) const {
  const auto id = ids_.find(track);
  return id != ids_.end() && holdings_.tracks().at(id->second).groups.contains(group);
}

void CatalogWriter::Drop(const TrackName& track) {
  const auto id = ids_.find(track);
  if (id != ids_.end()) {
    KVCAST_CHECK(Change(DropRecord{id->second}).ok());
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
  // Numbers start anew.
  const Holdings before = std::exchange(holdings_, Holdings(limits_));
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
