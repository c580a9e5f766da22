#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "kvcast/base/byte_writer.h"
#include "kvcast/base/golden_file.h"
#include "kvcast/base/hex.h"
#include "kvcast/base/result.h"
#include "kvcast/base/source_folder_test.h"
#include "kvcast/object/track_name.h"

namespace kvcast {

inline std::string Hex(std::string_view bytes) { return ToHex(AsBytes(bytes)); }
inline std::string Unhex(const Json& hex) {
  return std::string(AsText(*FromHex(hex.get_ref<const std::string&>())));
}
inline Json NameOut(const TrackName& name) {
  Json fields = Json::array();
  for (size_t i = 0; i < name.space().field_count(); ++i) {
    fields.push_back(Hex(name.space().field(i)));
  }
  ByteWriter writer;
  name.WriteTo(writer);
  return {{"fields", fields},
          {"name", Hex(name.name())},
          {"rendered", name.Render()},
          {"wire", Hex(writer.Take().ToString())}};
}

// What an implementation makes of a case's input: its output, or that it is refused.
using GoldenAnswer = std::function<Result<Json>(const Json&)>;

// Every golden vector of one topic of docs/reference/vectors. `refused_at`, if there is one, is
// where the answer leaves the number of the part that it refused.
inline void CheckTopic(const std::string& topic, const GoldenAnswer& answer,
                       const uint64_t* refused_at = nullptr) {
  std::ifstream stream(std::string(kSourceFolder) + "/docs/reference/vectors/" + topic + ".json");
  std::stringstream text;
  text << stream.rdbuf();
  const Result<GoldenFile> file = GoldenFile::Parse(text.str());
  ASSERT_TRUE(file.ok()) << file.error().ToString();
  ASSERT_EQ(file->topic, topic);
  ASSERT_GT(file->cases.size(), 0u);
  for (const GoldenCase& golden : file->cases) {
    const Result<Json> answered = answer(golden.in);
    if (golden.out) {
      ASSERT_TRUE(answered.ok()) << golden.name << ": " << answered.error().ToString();
      EXPECT_EQ(answered->dump(), golden.out->dump()) << golden.name;
      continue;
    }
    EXPECT_FALSE(answered.ok()) << golden.name << " was accepted: " << answered->dump();
    if (refused_at != nullptr && golden.refused_at) {
      EXPECT_EQ(*refused_at, *golden.refused_at) << golden.name;
    }
  }
}

}  // namespace kvcast
