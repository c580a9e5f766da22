// The golden vectors of catalogs and KV files; see golden_test.cc for the others.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kvcast/base/hex.h"
#include "kvcast/catalog/catalog_object.h"
#include "kvcast/catalog/catalog_track.h"
#include "kvcast/catalog/delta.h"
#include "kvcast/catalog/holdings.h"
#include "kvcast/catalog/reader.h"
#include "kvcast/kv/cache_track.h"
#include "kvcast/kv/golden_topic_test.h"
#include "kvcast/kv/kv_file.h"

namespace kvcast {
namespace {

Result<CatalogRecord> RecordIn(const Json& in) {
  const std::string op = in["op"].get<std::string>();
  if (in["id"].get<uint64_t>() > UINT32_MAX) {
    return Error(ErrorCode::kInvalid, "A number is below 2^32.");
  }
  const uint32_t id = in["id"].get<uint32_t>();
  if (op == "track") {
    KVCAST_TRY(TrackName name, TrackName::Parse(in["name"].get<std::string>()));
    return CatalogRecord(TrackRecord{id, std::move(name)});
  }
  if (op == "drop") {
    return CatalogRecord(DropRecord{id});
  }
  const uint64_t group = in["group"].get<uint64_t>();
  if (op == "remove") {
    return CatalogRecord(RemoveRecord{id, group});
  }
  KVCAST_TRY(const Digest key, Digest::FromHex(in["key"].get<std::string>()));
  return CatalogRecord(AddRecord{id, group, in["bytes"].get<uint64_t>(), key});
}

struct RecordOut {
  Json operator()(const TrackRecord& record) const {
    return {{"op", "track"}, {"id", record.id}, {"name", record.name.Render()}};
  }
  Json operator()(const AddRecord& record) const {
    return {{"op", "add"},
            {"id", record.id},
            {"group", record.group},
            {"bytes", record.bytes},
            {"key", record.key.ToHex()}};
  }
  Json operator()(const RemoveRecord& record) const {
    return {{"op", "remove"}, {"id", record.id}, {"group", record.group}};
  }
  Json operator()(const DropRecord& record) const { return {{"op", "drop"}, {"id", record.id}}; }
};

Result<CatalogRecords> RecordsIn(const Json& list) {
  CatalogRecords records;
  for (const Json& each : list) {
    KVCAST_TRY(CatalogRecord record, RecordIn(each));
    records.push_back(std::move(record));
  }
  return records;
}

// Follows an epoch; `at` is the object being read.
Result<Json> HoldingsOut(const Json& in, uint64_t& at) {
  CatalogLimits limits;
  limits.tracks_max = in.value("max_tracks", limits.tracks_max);
  limits.blocks_max = in.value("max_blocks", limits.blocks_max);
  CatalogReader reader;
  Holdings holdings(limits);
  for (at = 0; at < in["objects"].size(); ++at) {
    KVCAST_TRY(const CatalogReader::Update update,
               reader.OnObject({0, at}, Bytes::Of(Unhex(in["objects"][at]))));
    for (const CatalogRecord& record : update.records) {
      KVCAST_TRY_VOID(holdings.Apply(record));
    }
  }
  std::map<std::pair<std::string, uint64_t>, Json> sorted;
  for (const auto& [id, track] : holdings.tracks()) {
    for (const auto& [group, block] : track.groups) {
      const std::string name = track.name.Render();
      sorted[{name, group}] = {
          {"track", name}, {"group", group}, {"bytes", block.bytes}, {"key", block.key.ToHex()}};
    }
  }
  Json list = Json::array();
  for (const auto& [place, held] : sorted) {
    list.push_back(held);
  }
  return Json{{"holdings", list}};
}

Result<Json> ObjectOut(const Json& in) {
  CatalogObject object;
  object.kind = in["kind"] == "snapshot" ? CatalogKind::kSnapshot : CatalogKind::kDelta;
  object.part = in["part"].get<uint32_t>();
  object.parts = in["parts"].get<uint32_t>();
  KVCAST_TRY(object.records, RecordsIn(in["records"]));
  const Bytes encoded = object.Encode();
  KVCAST_TRY_VOID(CatalogObject::Parse(encoded));  // Parts that cannot be are refused there.
  return Json{{"object", Hex(encoded.ToString())}};
}

Result<Json> MergedOut(const Json& in) {
  Delta merged;
  for (const char* side : {"a", "b"}) {
    KVCAST_TRY(const CatalogRecords records, RecordsIn(in[side]));
    for (const CatalogRecord& record : records) {
      KVCAST_TRY_VOID(merged.Add(record));
    }
  }
  Json list = Json::array();
  for (const CatalogRecord& record : merged.ToRecords()) {
    list.push_back(std::visit(RecordOut{}, record));
  }
  return Json{{"merged", list}};
}

Result<Json> CatalogTrackOut(const Json& in) {
  if (in.contains("fields")) {
    std::vector<std::string> fields;
    for (const Json& field : in["fields"]) {
      fields.push_back(Unhex(field));
    }
    const std::vector<std::string_view> views(fields.begin(), fields.end());
    KVCAST_TRY(TrackNamespace space, TrackNamespace::Of(views));
    KVCAST_TRY(const TrackName name, TrackName::Of(std::move(space), Unhex(in["name"])));
    KVCAST_TRY(const CatalogTrack track, CatalogTrack::Parse(name));
    KVCAST_TRY(const ModelScope scope, ModelScope::Parse(track.scope));
    return Json{{"tenant", scope.tenant().name()},
                {"model_name", scope.model_name()},
                {"model_tag", scope.short_fp()},
                {"node", ToHex(track.node)},
                {"boot", ToHex(track.boot)}};
  }
  KVCAST_TRY(const Tenant tenant, Tenant::Of(in["tenant"].get<std::string>()));
  KVCAST_TRY(const Digest model_fp, Digest::FromHex(in["model_fp"].get<std::string>()));
  KVCAST_TRY(const ModelScope scope,
             ModelScope::Of(tenant, in["model_name"].get<std::string>(), model_fp));
  CatalogTrack track{scope.Namespace(), {}, {}};
  const std::string node = Unhex(in["node"]);
  const std::string boot = Unhex(in["boot"]);
  if (node.size() != track.node.size() || boot.size() != track.boot.size()) {
    return Error(ErrorCode::kInvalid, "Ids have 16 bytes.");
  }
  std::ranges::copy(AsBytes(node), track.node.begin());
  std::ranges::copy(AsBytes(boot), track.boot.begin());
  return NameOut(track.Name());
}

TEST(Golden, Catalogs) {
  uint64_t at = 0;
  const auto answer = [&](const Json& in) {
    at = 0;
    return in.contains("objects") ? HoldingsOut(in, at)
           : in.contains("kind")  ? ObjectOut(in)
           : in.contains("a")     ? MergedOut(in)
                                  : CatalogTrackOut(in);
  };
  CheckTopic("catalog", answer, &at);
}

Result<Json> KvFileOut(const Json& in) {
  const std::string bytes = Unhex(in["file"]);
  KVCAST_TRY(const KvFile file, KvFile::Parse(AsBytes(bytes)));
  Json layers = Json::array();
  for (const LayerShape& layer : file.layers()) {
    layers.push_back({{"kind", layer.value_size == 0 ? "latent" : "heads"},
                      {"kv_heads", layer.kv_heads},
                      {"key_size", layer.key_size},
                      {"value_size", layer.value_size}});
  }
  return Json{{"tokens", file.tokens()}, {"dtype", ToString(file.type())}, {"layers", layers}};
}

// Writes what the case describes, and reads it back: a file we would refuse is an error.
Result<Json> WrittenKvFile(const Json& in) {
  std::vector<LayerShape> layers;
  std::string data;
  for (const Json& layer : in["layers"]) {
    layers.push_back({layer["kv_heads"].get<uint32_t>(), layer["key_size"].get<uint32_t>(),
                      layer["value_size"].get<uint32_t>()});
    for (const char* key : {"k", "v", "kv"}) {
      data += layer.contains(key) ? Unhex(layer[key]) : "";
    }
  }
  const std::string dtype = in["dtype"].get<std::string>();
  const ValueType type = dtype == "BF16"  ? ValueType::kBf16
                         : dtype == "F16" ? ValueType::kFp16
                                          : ValueType::kFp32;
  const uint64_t tokens = in["tokens"].get<uint64_t>();
  if (tokens > UINT32_MAX || ToString(type) != dtype) {
    return Error(ErrorCode::kInvalid, "No file has this.");
  }
  KVCAST_TRY(const KvFilePlan plan, KvFilePlan::Of(layers, type, static_cast<uint32_t>(tokens),
                                                   in.value("metadata", KvMetadata())));
  const std::string file = plan.header().ToString() + data;
  KVCAST_TRY_VOID(KvFile::Parse(AsBytes(file)));
  return Json{{"file", Hex(file)}};
}

TEST(Golden, KvFiles) {
  CheckTopic("kv_file", [](const Json& in) {
    return in.contains("file") ? KvFileOut(in) : WrittenKvFile(in);
  });
}

}  // namespace
}  // namespace kvcast
