#pragma once

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "kvcast/base/golden_file.h"
#include "kvcast/base/hex.h"
#include "kvcast/base/source_folder_test.h"
#include "kvcast/store/disk_record.h"

// Golden vectors of records, as docs/reference/vectors writes them.
namespace kvcast {

inline GoldenFile GoldenVectors(const std::string& topic) {
  std::ifstream stream(std::string(kSourceFolder) + "/docs/reference/vectors/" + topic + ".json");
  std::ostringstream text;
  text << stream.rdbuf();
  return *GoldenFile::Parse(text.str());
}

inline std::string GoldenText(const Json& hex) {
  return std::string(AsText(*FromHex(hex.get<std::string>())));
}

inline std::vector<std::byte> GoldenWhole(size_t size, const Json& parts) {
  std::vector<std::byte> whole(size);
  for (const Json& part : parts) {
    const std::string bytes = GoldenText(part[1]);
    std::ranges::copy(AsBytes(bytes), whole.begin() + part[0].get<std::ptrdiff_t>());
  }
  return whole;
}

inline DirectoryId GoldenId(const Json& hex) {
  DirectoryId directory;
  const std::string bytes = GoldenText(hex);
  std::ranges::copy(AsBytes(bytes), directory.bytes.begin());
  return directory;
}

inline Location GoldenLocation(const Json& pair) {
  return {pair[0].get<uint64_t>(), pair[1].get<uint64_t>()};
}

inline RecordBody GoldenBody(const Json& in) {
  const auto kind = in["kind"].get<std::string>();
  const auto number = [&](const char* name) { return in[name].get<uint64_t>(); };
  if (kind == "object") {
    StoredObject stored;
    Object& object = stored.object;
    object.location = GoldenLocation(in["location"]);
    object.subgroup = number("subgroup");
    object.priority = static_cast<uint8_t>(number("priority"));
    object.forwarding = static_cast<Forwarding>(number("forwarding"));
    object.status = static_cast<ObjectStatus>(number("status"));
    object.properties = *Properties::Parse(GoldenText(in["properties"]));
    object.payload = Bytes::Of(GoldenText(in["payload"]));
    stored.received_us = number("received_us");
    return stored;
  }
  if (kind == "facts") {
    TrackFacts facts;
    facts.properties = *Properties::Parse(GoldenText(in["properties"]));
    facts.largest =
        in["largest"].is_null() ? std::nullopt : std::optional(GoldenLocation(in["largest"]));
    facts.end = in["end"].is_null() ? std::nullopt : std::optional(GoldenLocation(in["end"]));
    for (const Json& gap : in["gaps"]) {
      facts.gaps.push_back({GoldenLocation(gap[0]), GoldenLocation(gap[1])});
    }
    return facts;
  }
  if (kind == "end") {
    return GroupEnd{number("group"), number("end")};
  }
  Removal removal;
  removal.group = in["group"].is_null() ? std::nullopt : std::optional(number("group"));
  const Location before = GoldenLocation(in["before"]);
  removal.before = {static_cast<uint32_t>(before.group), before.object};
  return removal;
}

inline TrackName GoldenTrack(const Json& in) {
  const std::string wire = GoldenText(in["track"]);
  ByteReader reader(AsBytes(wire));
  return *TrackName::ReadFrom(reader);
}

}  // namespace kvcast
