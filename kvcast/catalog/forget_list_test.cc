#include "kvcast/catalog/forget_list.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "kvcast/base/golden_file.h"
#include "kvcast/base/hex.h"
#include "kvcast/base/json.h"
#include "kvcast/base/source_folder_test.h"
#include "kvcast/catalog/catalog_track.h"

namespace kvcast {
namespace {

std::optional<std::string> TextOf(const Json& value) {
  return value.is_null() ? std::nullopt : std::optional(value.get<std::string>());
}
std::optional<Digest> DigestOf(const Json& value) {
  return value.is_null() ? std::nullopt : std::optional(*Digest::FromHex(value.get<std::string>()));
}
ForgetList ListOf(const Json& entries) {
  ForgetList list;
  for (const Json& entry : entries) {
    list.Add(TextOf(entry["model"]), DigestOf(entry["prefix"]), entry["at"].get<uint64_t>());
  }
  return list;
}
Json EntriesOf(const ForgetList& list) {
  Json entries = Json::array();
  for (const ForgetList::Entry& entry : list.entries()) {
    entries.push_back({{"at", entry.at_us},
                       {"model", entry.model ? Json(*entry.model) : Json()},
                       {"prefix", entry.prefix ? Json(entry.prefix->ToHex()) : Json()}});
  }
  return entries;
}

// The same as in Python, docs/reference/kvcast_forgotten.py.
TEST(ForgetList, ReproducesTheGoldenVectors) {
  std::ifstream stream(std::string(kSourceFolder) + "/docs/reference/vectors/forgotten.json");
  std::ostringstream text;
  text << stream.rdbuf();
  const GoldenFile vectors = *GoldenFile::Parse(text.str());
  const auto outcome = [&](const Json& in) -> std::optional<Json> {
    if (in.contains("object")) {
      const auto read =
          ForgetList::Parse(Bytes::Of(AsText(*FromHex(in["object"].get<std::string>()))));
      return read.ok() ? std::optional(Json{{"entries", EntriesOf(*read)}}) : std::nullopt;
    }
    ForgetList list = ListOf(in["entries"]);
    if (!in.contains("add")) {
      return Json{{"object", ToHex(AsBytes(list.Encode().ToString()))}};
    }
    for (const Json& one : in["add"]) {
      list.Add(TextOf(one["model"]), DigestOf(one["prefix"]), one["now"].get<uint64_t>());
    }
    return Json{{"entries", EntriesOf(list)}};
  };
  EXPECT_GT(vectors.cases.size(), 25u);
  for (const GoldenCase& golden : vectors.cases) {
    const std::optional<Json> result = outcome(golden.in);
    ASSERT_EQ(result.has_value(), golden.out.has_value()) << golden.name;
    if (result) {
      EXPECT_EQ(*result, *golden.out) << golden.name;
    }
  }
}

TEST(ForgetList, StaysBoundedHoweverMuchIsForgotten) {
  ForgetList list;
  for (uint64_t i = 0; i < 10 * ForgetList::kEntriesMax; ++i) {
    list.Add(std::string(ForgetList::kModelBytesMax - 5, 'm') + std::to_string(i % 100'000),
             Sha256::Of(std::to_string(i)), i);
    ASSERT_LE(list.entries().size(), ForgetList::kEntriesMax);
  }
  EXPECT_FALSE(list.entries().front().model.has_value());
  EXPECT_LT(list.Encode().size(), size_t{1} << 20);
  EXPECT_EQ(*ForgetList::Parse(list.Encode()), list);
}

TEST(ForgetList, HasATrackBesideTheCatalogsThatIsNoCatalog) {
  CatalogTrack track{*TrackNamespace::Of({"service", "acme"}), {}, {}};
  track.node.fill(std::byte{1});
  track.boot.fill(std::byte{2});
  EXPECT_EQ(*CatalogTrack::ParseForgotten(track.ForgottenName()), track);
  EXPECT_FALSE(CatalogTrack::Parse(track.ForgottenName()).ok());
  EXPECT_FALSE(CatalogTrack::ParseForgotten(track.Name()).ok());
  EXPECT_TRUE(track.Prefix().IsPrefixOf(track.ForgottenName().space()));
}

}  // namespace
}  // namespace kvcast
