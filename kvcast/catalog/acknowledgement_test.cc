#include "kvcast/catalog/acknowledgement.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "kvcast/base/golden_file.h"
#include "kvcast/base/hex.h"
#include "kvcast/base/json.h"
#include "kvcast/base/source_folder_test.h"
#include "kvcast/catalog/block_key.h"

namespace kvcast {
namespace {

TEST(Durability, IsAskedForWhereNoRelayMayTouchIt) {
  for (const Durability level : {Durability::kMemory, Durability::kDisk, Durability::kBucket}) {
    EXPECT_EQ(*DurabilityIn(DurabilityProperties(level)), level);
    EXPECT_EQ(DurabilityOf(ToString(level)), level);
  }
  // Outside it is somebody else's claim.
  EXPECT_EQ(*DurabilityIn(PropertiesBuilder().Number(kDurabilityProperty, 1).Build()),
            Durability::kMemory);
  EXPECT_EQ(*DurabilityIn({}), Durability::kMemory);
  EXPECT_FALSE(DurabilityOf("paper").has_value());
}

TEST(Durability, RefusesALevelThatThereIsNot) {
  const auto of = [](const Properties& inner) {
    return DurabilityIn(PropertiesBuilder().Immutable(inner).Build());
  };
  const auto unknown = of(PropertiesBuilder().Number(kDurabilityProperty, 3).Build());
  EXPECT_EQ(unknown.error().code(), ErrorCode::kMalformed);
  EXPECT_EQ(unknown.error().offset(), 2u);  // Behind the type and the length of immutable ones.
  const auto twice =
      of(PropertiesBuilder().Number(kDurabilityProperty, 1).Number(kDurabilityProperty, 1).Build());
  EXPECT_EQ(twice.error().code(), ErrorCode::kMalformed);
  EXPECT_EQ(twice.error().offset(), 5u);
}

TEST(BlockKey, SaysWhereAHashIsWrong) {
  const auto of = [](const Properties& inner) {
    // Another property on either side, whose bytes are none of the hash.
    return BlockKeyIn(PropertiesBuilder()
                          .Number(2, 300)
                          .Immutable(inner)
                          .Bytes(kBlockKeyProperty, "outside")
                          .Build());
  };
  const std::string key(32, 'k');
  EXPECT_EQ(of(PropertiesBuilder().Bytes(kBlockKeyProperty, "short").Build()).error().offset(), 5u);
  const auto twice = PropertiesBuilder()
                         .Bytes(1, "abc")
                         .Bytes(kBlockKeyProperty, key)
                         .Bytes(kBlockKeyProperty, key)
                         .Build();
  EXPECT_EQ(of(twice).error().offset(), 5u + 5 + 3 + 32);
}

TEST(Acknowledgement, IsReadAsItWasWritten) {
  const std::vector<AckRecord> records = {{Durability::kDisk, "BF16", 0, 6},
                                          {std::nullopt, "", 7, 7},
                                          {Durability::kBucket, "FP8;h=0-1", 1u << 30, 1u << 31}};
  const Result<std::vector<AckRecord>> read = ParseAcks(EncodeAcks(records));
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_EQ(*read, records);
}

TEST(Acknowledgement, IsRefusedWhenAnyByteIsMissingOrUnknown) {
  const std::string whole = EncodeAcks({{Durability::kDisk, "BF16", 3, 6}}).ToString();
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(ParseAcks(Bytes::Of(whole.substr(0, length))).ok()) << length;
  }
  const auto with = [&](size_t at, char value) {
    std::string changed = whole;
    changed[at] = value;
    return ParseAcks(Bytes::Of(changed));
  };
  EXPECT_EQ(with(0, 'K').error().code(), ErrorCode::kMalformed);
  EXPECT_EQ(with(0, 'K').error().offset(), 0u);
  EXPECT_EQ(with(4, 2).error().code(), ErrorCode::kUnsupported);
  EXPECT_EQ(with(4, 2).error().offset(), 4u);
  EXPECT_EQ(with(5, 1).error().code(), ErrorCode::kMalformed);
  EXPECT_EQ(with(5, 1).error().offset(), 5u);
  EXPECT_EQ(with(8, 3).error().code(), ErrorCode::kMalformed);
  EXPECT_EQ(with(whole.size() - 1, 2).error().code(), ErrorCode::kMalformed);
  EXPECT_FALSE(ParseAcks(Bytes::Of(whole + "x")).ok());
}

// The same as in Python, docs/reference/kvcast_durability.py.
TEST(Acknowledgement, ReproducesTheGoldenVectors) {
  std::ifstream stream(std::string(kSourceFolder) + "/docs/reference/vectors/durability.json");
  std::ostringstream text;
  text << stream.rdbuf();
  const GoldenFile vectors = *GoldenFile::Parse(text.str());
  const auto bytes = [](const Json& hex) {
    return std::string(AsText(*FromHex(hex.get<std::string>())));
  };
  const auto outcome = [&](const Json& in) -> std::optional<Json> {
    if (in.contains("level")) {
      const Properties made = DurabilityProperties(*DurabilityOf(in["level"].get<std::string>()));
      return Json{{"properties", ToHex(AsBytes(made.encoded()))}};
    }
    if (in.contains("properties")) {
      const auto level = DurabilityIn(*Properties::Parse(bytes(in["properties"])));
      return level.ok() ? std::optional(Json{{"level", std::string(ToString(*level))}})
                        : std::nullopt;
    }
    if (in.contains("records")) {
      std::vector<AckRecord> records;
      for (const Json& record : in["records"]) {
        records.push_back({record["level"].is_null()
                               ? std::nullopt
                               : DurabilityOf(record["level"].get<std::string>()),
                           bytes(record["name"]), record["first"].get<uint64_t>(),
                           record["last"].get<uint64_t>()});
      }
      return Json{{"object", ToHex(AsBytes(EncodeAcks(records).ToString()))}};
    }
    const auto read = ParseAcks(Bytes::Of(bytes(in["object"])));
    if (!read.ok()) {
      return std::nullopt;
    }
    Json records = Json::array();
    for (const AckRecord& record : *read) {
      records.push_back(
          {{"level", record.level ? Json(std::string(ToString(*record.level))) : Json()},
           {"name", ToHex(AsBytes(record.name))},
           {"first", record.first},
           {"last", record.last}});
    }
    return Json{{"records", records}};
  };
  EXPECT_GT(vectors.cases.size(), 15u);
  for (const GoldenCase& golden : vectors.cases) {
    const std::optional<Json> result = outcome(golden.in);
    ASSERT_EQ(result.has_value(), golden.out.has_value()) << golden.name;
    if (result) {
      EXPECT_EQ(*result, *golden.out) << golden.name;
    }
  }
}

}  // namespace
}  // namespace kvcast
