// Every golden vector of docs/reference/vectors, which other implementations reproduce too. One
// function per topic turns a case's input into its output, or into an error.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kvcast/base/byte_reader.h"
#include "kvcast/base/byte_writer.h"
#include "kvcast/base/hex.h"
#include "kvcast/base/vi64.h"
#include "kvcast/kv/cache_track.h"
#include "kvcast/kv/canonical_value.h"
#include "kvcast/kv/golden_topic_test.h"
#include "kvcast/kv/model_config.h"
#include "kvcast/kv/model_files.h"
#include "kvcast/kv/model_key.h"
#include "kvcast/kv/prefix_chain.h"
#include "kvcast/object/properties.h"
#include "kvcast/object/track_name.h"

namespace kvcast {
namespace {

Result<Digest> DigestIn(const Json& hex) { return Digest::FromHex(hex.get<std::string>()); }

TEST(Golden, Vi64) {
  CheckTopic("vi64", [](const Json& in) -> Result<Json> {
    if (in.contains("value")) {
      ByteWriter writer;
      writer.Vi64(in["value"].get<uint64_t>());
      return Json{{"bytes", Hex(writer.Take().ToString())}};
    }
    const std::string bytes = Unhex(in["bytes"]);
    ByteReader reader(AsBytes(bytes));
    KVCAST_TRY(const uint64_t value, reader.Vi64());
    return Json{{"value", value}, {"used", reader.offset()}};
  });
}

Result<TrackName> NameIn(const Json& in) {
  if (in.contains("rendered")) {
    return TrackName::Parse(in["rendered"].get<std::string>());
  }
  if (in.contains("wire")) {
    const std::string wire = Unhex(in["wire"]);
    ByteReader reader(AsBytes(wire));
    KVCAST_TRY(TrackName name, TrackName::ReadFrom(reader));
    if (!reader.done()) {
      return reader.Malformed("Bytes are left over.");
    }
    return name;
  }
  std::vector<std::string> fields;
  for (const Json& field : in["fields"]) {
    fields.push_back(Unhex(field));
  }
  const std::vector<std::string_view> views(fields.begin(), fields.end());
  KVCAST_TRY(TrackNamespace space, TrackNamespace::Of(views));
  return TrackName::Of(std::move(space), Unhex(in["name"]));
}

TEST(Golden, TrackNames) {
  CheckTopic("track_name", [](const Json& in) -> Result<Json> {
    KVCAST_TRY(const TrackName name, NameIn(in));
    return NameOut(name);
  });
}

Result<Json> WrittenProperties(const Json& list) {
  PropertiesBuilder builder;
  uint64_t previous = 0;
  for (const Json& property : list) {
    const uint64_t type = property["type"].get<uint64_t>();
    const std::string bytes = property.contains("bytes") ? Unhex(property["bytes"]) : "";
    // What the builder demands of its caller; it sorts by itself.
    if (type < previous || (type % 2 == 1) != property.contains("bytes") || bytes.size() > 65535) {
      return Error(ErrorCode::kInvalid, "The builder is not made for this.");
    }
    previous = type;
    if (type % 2 == 1) {
      builder.Bytes(type, bytes);
    } else {
      builder.Number(type, property["value"].get<uint64_t>());
    }
  }
  return Json{{"wire", Hex(builder.Build().encoded())}};
}

TEST(Golden, Properties) {
  CheckTopic("properties", [](const Json& in) -> Result<Json> {
    if (in.contains("properties")) {
      return WrittenProperties(in["properties"]);
    }
    if (in.contains("block_hash")) {
      KVCAST_TRY(const Digest hash, DigestIn(in["block_hash"]));
      return Json{{"wire", Hex(BlockHashProperties(hash).encoded())}};
    }
    if (in.contains("first_object")) {
      KVCAST_TRY(const Properties properties, Properties::Parse(Unhex(in["first_object"])));
      KVCAST_TRY(const std::optional<BlockHash> hash, BlockHashIn(properties));
      if (!hash) {
        return Error(ErrorCode::kNotFound, "There is no hash.");
      }
      return Json{{"block_hash", hash->ToHex()}};
    }
    KVCAST_TRY(const Properties properties, Properties::Parse(Unhex(in["wire"])));
    Json list = Json::array();
    for (const Property& property : properties.List()) {
      list.push_back(property.is_bytes()
                         ? Json{{"type", property.type}, {"bytes", Hex(property.bytes)}}
                         : Json{{"type", property.type}, {"value", property.number}});
    }
    return Json{{"properties", list}};
  });
}

TEST(Golden, CanonicalValues) {
  CheckTopic("canonical", [](const Json& in) -> Result<Json> {
    KVCAST_TRY(const Json value, ParseJson(in["json"].get<std::string>()));
    return Json{{"value", Hex(CanonicalValue(value))}};
  });
}

TEST(Golden, FileDigests) {
  CheckTopic("file_digest", [](const Json& in) -> Result<Json> {
    FileNames folder;
    for (const auto& file : in["files"].items()) {
      folder.insert(file.key());
    }
    const std::string use = in["use"].get<std::string>();
    if (use == "weights" && !in.value("adapter", false)) {
      KVCAST_TRY_VOID(CheckNoAdapter(folder));
    }
    std::optional<std::string> index;
    if (folder.contains(kWeightIndexFile)) {
      index = in["files"][std::string(kWeightIndexFile)].get<std::string>();
    }
    KVCAST_TRY(const std::vector<std::string> names, use == "weights" ? WeightFiles(folder, index)
                                                     : use == "tokenizer" ? TokenizerFiles(folder)
                                                                          : AdapterFiles(folder));
    if (use == "adapter") {
      KVCAST_TRY_VOID(CheckAdapterConfig(in["files"]["adapter_config.json"].get<std::string>()));
    }
    std::vector<Digest> digests;
    for (const std::string& name : names) {
      digests.push_back(Sha256::Of(in["files"][name].get<std::string>()));
    }
    return Json{{"digest", DigestOfFiles(digests).ToHex()}};
  });
}

Json GroupOut(const LayerGroup& group) {
  return {{"attention", ToString(group.attention)},
          {"layers", group.layers},
          {"kv_heads", group.kv_heads},
          {"key_size", group.key_size},
          {"value_size", group.value_size},
          {"rotary_size", group.rotary_size},
          {"window_kind", ToString(group.window_kind)},
          {"window", group.window},
          {"rope", Hex(group.rope)}};
}

TEST(Golden, Models) {
  CheckTopic("model", [](const Json& in) -> Result<Json> {
    KVCAST_TRY(ModelConfig config, ModelConfig::Parse(in["config"].get<std::string>()));
    ModelDescription model;
    KVCAST_TRY(model.weights, DigestIn(in["weights"]));
    KVCAST_TRY(model.tokenizer, DigestIn(in["tokenizer"]));
    if (!in["adapter"].is_null()) {
      KVCAST_TRY(model.adapter, DigestIn(in["adapter"]));
    }
    const Json& dtype = in["kv_dtype"];
    KVCAST_TRY(model.kv_dtype,
               dtype.is_null() ? config.kv_dtype : KvDtypeOf(dtype.get<std::string>()));
    const uint64_t block_tokens = in["block_tokens"].get<uint64_t>();
    KVCAST_TRY(model.block_tokens, BlockTokensOf(block_tokens));
    model.config = config.digest;
    model.groups = std::move(config.groups);
    Json groups = Json::array();
    for (const LayerGroup& group : model.groups) {
      groups.push_back(GroupOut(group));
    }
    return Json{{"groups", groups},
                {"config_digest", model.config.ToHex()},
                {"description", Hex(model.Encode())},
                {"model_fp", model.Fingerprint().ToHex()}};
  });
}

Result<PrefixChain> ChainIn(const Json& in) {
  const std::string key_bytes = in.contains("key") ? Unhex(in["key"]) : "";
  KVCAST_TRY(const NamingKey key, in.contains("key") ? NamingKey::Of(AsBytes(key_bytes))
                                                     : Result<NamingKey>(NamingKey::Public()));
  KVCAST_TRY(const Digest model_fp, DigestIn(in["model_fp"]));
  KVCAST_TRY(BlockNamer namer, BlockNamer::Of(key, model_fp, Unhex(in["salt"])));
  if (in.contains("hashes")) {
    std::vector<std::string> hashes;
    for (const Json& hash : in["hashes"]) {
      hashes.push_back(Unhex(hash));
    }
    const std::vector<std::string_view> views(hashes.begin(), hashes.end());
    return PrefixChain::OfEngineHashes(namer, views);
  }
  std::vector<Token> tokens;
  for (const Json& token : in["tokens"]) {
    if (!token.is_number_unsigned() || token.get<uint64_t>() > UINT32_MAX) {
      return Error(ErrorCode::kInvalid, "A token is a u32.");
    }
    tokens.push_back(token.get<Token>());
  }
  std::vector<ForeignInput> inputs;
  for (const Json& input : in["inputs"]) {
    KVCAST_TRY(const Digest digest, DigestIn(input["digest"]));
    if (!input["position"].is_number_unsigned()) {
      return Error(ErrorCode::kInvalid, "A position is not negative.");
    }
    inputs.push_back({input["position"].get<uint64_t>(), digest});
  }
  KVCAST_TRY(const uint32_t block_tokens, BlockTokensOf(in["block_tokens"].get<uint64_t>()));
  return PrefixChain::Of(namer, tokens, block_tokens, inputs);
}

TEST(Golden, PrefixChains) {
  CheckTopic("prefix_chain", [](const Json& in) -> Result<Json> {
    KVCAST_TRY(const PrefixChain chain, ChainIn(in));
    Json blocks = Json::array();
    for (const BlockHash& block : chain.blocks()) {
      blocks.push_back(block.ToHex());
    }
    return Json{{"root", chain.root().ToHex()}, {"blocks", blocks}};
  });
}

Result<std::optional<IndexRange>> RangeIn(const Json& range) {
  if (range.is_null()) {
    return std::optional<IndexRange>();
  }
  if (range.size() != 2 || !range[0].is_number_unsigned() || !range[1].is_number_unsigned()) {
    return Error(ErrorCode::kInvalid, "A range has two ends.");
  }
  return std::optional(IndexRange{range[0].get<uint32_t>(), range[1].get<uint32_t>()});
}

Json RangeOut(const std::optional<IndexRange>& range) {
  return range ? Json{range->first, range->last} : Json();
}

Result<TrackName> CacheTrackIn(const Json& in) {
  KVCAST_TRY(const Tenant tenant, Tenant::Of(in["tenant"].get<std::string>()));
  KVCAST_TRY(const Digest model_fp, DigestIn(in["model_fp"]));
  KVCAST_TRY(const ModelScope scope,
             ModelScope::Of(tenant, in["model_name"].get<std::string>(), model_fp));
  KVCAST_TRY(const Digest prefix, DigestIn(in["prefix"]));
  const std::string generation = Unhex(in["generation"]);
  const std::optional<Rung> rung = RungOf(in["rung"].get<std::string>());
  if (generation.size() != sizeof(Generation) || !rung) {
    return Error(ErrorCode::kInvalid, "A generation of 16 bytes and a known rung are needed.");
  }
  CacheTrack track{scope, prefix, {}, *rung, {}};
  std::ranges::copy(AsBytes(generation), track.generation.begin());
  KVCAST_TRY(track.slice.layers, RangeIn(in["layers"]));
  KVCAST_TRY(track.slice.heads, RangeIn(in["heads"]));
  // A slice that cannot be is refused when its name is read.
  const TrackName name = track.Name();
  KVCAST_TRY(const CacheTrack again, CacheTrack::Parse(name));
  EXPECT_EQ(again, track);
  return name;
}

TEST(Golden, CacheTracks) {
  CheckTopic("track_naming", [](const Json& in) -> Result<Json> {
    if (in.contains("tenant")) {
      KVCAST_TRY(const TrackName name, CacheTrackIn(in));
      return NameOut(name);
    }
    KVCAST_TRY(const TrackName name, NameIn(in));
    KVCAST_TRY(const CacheTrack track, CacheTrack::Parse(name));
    return Json{{"tenant", track.scope.tenant().name()},  {"model_name", track.scope.model_name()},
                {"model_tag", track.scope.short_fp()},    {"prefix", track.prefix.ToHex()},
                {"generation", ToHex(track.generation)},  {"rung", ToString(track.rung)},
                {"layers", RangeOut(track.slice.layers)}, {"heads", RangeOut(track.slice.heads)}};
  });
}

}  // namespace
}  // namespace kvcast
