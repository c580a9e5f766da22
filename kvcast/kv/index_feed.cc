#include "kvcast/kv/index_feed.h"

#include <optional>
#include <string>

namespace kvcast {

Result<std::unique_ptr<IndexFeed>> IndexFeed::Open(PrefixIndex& index, CatalogLimits limits) {
  KVCAST_TRY(const NodeRef node, index.OpenNode());
  return std::unique_ptr<IndexFeed>(new IndexFeed(index, node, limits));
}

IndexFeed::~IndexFeed() { index_.CloseNode(node_); }

void IndexFeed::Forget() {
  index_.CloseTracks(node_);
  next_id_ = 0;
  tracks_ = 0;
  tracks_left_out_ = 0;
  blocks_ = 0;
  left_out_ = 0;
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
  for (size_t i = 0; i < update->records.size(); ++i) {
    if (Result<void> applied = Apply(update->records[i]); !applied.ok()) {
      broken_ = true;
      Forget();
      return std::move(applied).error().In("catalog object " + location.ToString() + ", record " +
                                           std::to_string(i));
    }
  }
  return {};
}

Result<void> IndexFeed::Apply(const CatalogRecord& record) {
  if (const auto* named = std::get_if<TrackRecord>(&record)) {
    return ApplyTrack(*named);
  }
  const uint32_t id = std::visit([](const auto& any) { return any.id; }, record);
  const std::optional<TrackRef> track = index_.FindTrack(node_, id);
  if (!track) {
    return PassOver(id, record);
  }
  if (std::holds_alternative<DropRecord>(record)) {
    blocks_ -= index_.CloseTrack(*track);
    --tracks_;
    return {};
  }
  if (const auto* add = std::get_if<AddRecord>(&record)) {
    return ApplyAdd(*track, *add);
  }
  blocks_ -= index_.Remove(*track, std::get<RemoveRecord>(record).group) ? 1u : 0u;
  return {};
}

Result<void> IndexFeed::PassOver(uint32_t id, const CatalogRecord& record) {
  if (id >= next_id_ || tracks_left_out_ == 0) {
    return Error(ErrorCode::kMalformed, "Track number " + std::to_string(id) + " is not defined.");
  }
  tracks_left_out_ -= std::holds_alternative<DropRecord>(record) ? 1u : 0u;
  left_out_ += std::holds_alternative<AddRecord>(record) ? 1u : 0u;
  return {};
}

Result<void> IndexFeed::ApplyTrack(const TrackRecord& record) {
  if (record.id < next_id_) {
    return Error(ErrorCode::kMalformed,
                 "Track number " + std::to_string(record.id) + " is not above those before it.");
  }
  if (tracks_ + tracks_left_out_ >= limits_.tracks_max) {
    return Error(ErrorCode::kTooLarge,
                 "The catalog names more than " + std::to_string(limits_.tracks_max) + " tracks.");
  }
  next_id_ = uint64_t{record.id} + 1;
  if (index_.OpenTrack(node_, record.id, record.name).ok()) {
    ++tracks_;
  } else {
    ++tracks_left_out_;
    ++left_out_;
  }
  return {};
}

Result<void> IndexFeed::ApplyAdd(TrackRef track, const AddRecord& record) {
  if (blocks_ >= limits_.blocks_max) {
    ++left_out_;
    return {};
  }
  const size_t before = index_.source_count();
  Result<void> added = index_.Add(track, record.group, record.key, record.bytes);
  if (!added.ok() && added.error().code() == ErrorCode::kTooLarge) {
    ++left_out_;
    return {};
  }
  blocks_ += index_.source_count() - before;
  return added;
}

}  // namespace kvcast
