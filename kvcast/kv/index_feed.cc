#include "kvcast/kv/index_feed.h"

#include <string>

namespace kvcast {

IndexFeed::IndexFeed(PrefixIndex& index) : index_(index), node_(index.OpenNode()) {}

IndexFeed::~IndexFeed() { index_.CloseNode(node_); }

void IndexFeed::Forget() {
  for (const auto& [id, track] : tracks_) {
    index_.CloseTrack(track);
  }
  tracks_.clear();
  next_id_ = 0;
}

void IndexFeed::Restart() {
  Forget();
  reader_.Restart();
  broken_ = false;
}

Result<void> IndexFeed::OnObject(Location location, const Bytes& payload) {
  const uint64_t epoch = reader_.wanted().group;
  Result<CatalogReader::Update> update = reader_.OnObject(location, payload);
  if (reader_.wanted().group != epoch) {
    broken_ = false;
    Forget();
  }
  if (!update.ok()) {
    Forget();
    return std::move(update).error();
  }
  if (broken_) {
    return {};
  }
  for (const CatalogRecord& record : update->records) {
    if (Result<void> applied = Apply(record); !applied.ok()) {
      broken_ = true;
      Forget();
      return applied;
    }
  }
  return {};
}

Result<void> IndexFeed::Apply(const CatalogRecord& record) {
  const uint32_t id = std::visit([](const auto& any) { return any.id; }, record);
  const auto known = tracks_.find(id);
  if (const auto* named = std::get_if<TrackRecord>(&record)) {
    if (id < next_id_) {
      return Error(ErrorCode::kMalformed,
                   "Track number " + std::to_string(id) + " is not above those before it.");
    }
    KVCAST_TRY(const TrackRef track, index_.OpenTrack(node_, named->name));
    tracks_.emplace(id, track);
    next_id_ = uint64_t{id} + 1;
    return {};
  }
  if (known == tracks_.end()) {
    return Error(ErrorCode::kMalformed, "Track number " + std::to_string(id) + " is not defined.");
  }
  const TrackRef track = known->second;
  if (const auto* add = std::get_if<AddRecord>(&record)) {
    return index_.Add(track, add->group, add->key, add->bytes);
  }
  if (const auto* remove = std::get_if<RemoveRecord>(&record)) {
    index_.Remove(track, remove->group);
    return {};
  }
  index_.CloseTrack(track);
  tracks_.erase(known);
  return {};
}

}  // namespace kvcast
