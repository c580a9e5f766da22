#include "kvcast/base/golden_file.h"

#include <nlohmann/json.hpp>
#include <set>

namespace kvcast {
namespace {

Error Malformed(std::string message) { return Error(ErrorCode::kMalformed, std::move(message)); }

Result<std::string> Text(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) {
    return Malformed("\"" + std::string(key) + "\" must be a text.");
  }
  return found->get<std::string>();
}

Result<GoldenCase> ParseCase(const Json& json) {
  if (!json.is_object()) {
    return Malformed("A case must be an object.");
  }
  GoldenCase golden;
  KVCAST_TRY(golden.name, Text(json, "name"));
  const auto in = json.find("in");
  if (in == json.end() || !in->is_object()) {
    return Malformed("\"in\" must be an object.").In("case \"" + golden.name + "\"");
  }
  golden.in = *in;
  const auto out = json.find("out");
  const bool refused = json.value("error", Json(false)) == Json(true);
  if ((out == json.end()) != refused || (out != json.end() && !out->is_object())) {
    return Malformed("There must be either an \"out\", which is an object, or \"error\": true.")
        .In("case \"" + golden.name + "\"");
  }
  if (out != json.end()) {
    golden.out = *out;
  }
  KVCAST_TRY(golden.refused_at, JsonCount(json, "at"));
  return golden;
}

}  // namespace

Result<GoldenFile> GoldenFile::Parse(std::string_view text) {
  KVCAST_TRY(const Json json, ParseJson(text));
  if (!json.is_object()) {
    return Malformed("A file of golden vectors is an object.");
  }
  KVCAST_TRY(const std::string format, Text(json, "format"));
  if (format != "kvcast-vectors/1") {
    return Error(ErrorCode::kUnsupported, "The format is not kvcast-vectors/1.");
  }
  GoldenFile file;
  KVCAST_TRY(file.topic, Text(json, "topic"));
  const auto cases = json.find("cases");
  if (cases == json.end() || !cases->is_array()) {
    return Malformed("\"cases\" must be a list.");
  }
  std::set<std::string> names;
  for (const Json& each : *cases) {
    KVCAST_TRY(GoldenCase golden, ParseCase(each));
    if (!names.insert(golden.name).second) {
      return Malformed("Two cases have one name.").In("case \"" + golden.name + "\"");
    }
    file.cases.push_back(std::move(golden));
  }
  return file;
}

}  // namespace kvcast
