#include "kvcast/base/golden_file.h"

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <set>

#include "kvcast/base/json_place.h"

namespace kvcast {
namespace {

Error Malformed(std::string message) { return Error(ErrorCode::kMalformed, std::move(message)); }

// The trouble with a value, and where in `text` that stands.
template <typename T>
Result<T> At(std::string_view text, std::initializer_list<std::string_view> path,
             Result<T> result) {
  if (!result.ok()) {
    return std::move(result).error().At(JsonPlace(text, path));
  }
  return result;
}

Result<std::string> Text(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) {
    return Malformed("\"" + std::string(key) + "\" must be a text.");
  }
  return found->get<std::string>();
}

// Case `index` of the file.
Result<GoldenCase> ParseCase(std::string_view text, const Json& json, const std::string& index) {
  const auto place = [&](const char* key) { return JsonPlace(text, {"cases", index, key}); };
  if (!json.is_object()) {
    return Malformed("A case must be an object.").At(JsonPlace(text, {"cases", index}));
  }
  GoldenCase golden;
  KVCAST_TRY(golden.name, At(text, {"cases", index, "name"}, Text(json, "name")));
  const auto in = json.find("in");
  if (in == json.end() || !in->is_object()) {
    return Malformed("\"in\" must be an object.")
        .At(place("in"))
        .In("case \"" + golden.name + "\"");
  }
  golden.in = *in;
  const auto out = json.find("out");
  const bool refused = json.value("error", Json(false)) == Json(true);
  if ((out == json.end()) != refused || (out != json.end() && !out->is_object())) {
    return Malformed("There must be either an \"out\", which is an object, or \"error\": true.")
        .At(place("out"))
        .In("case \"" + golden.name + "\"");
  }
  if (out != json.end()) {
    golden.out = *out;
  }
  KVCAST_TRY(golden.refused_at, At(text, {"cases", index, "at"}, JsonCount(json, "at")));
  return golden;
}

}  // namespace

Result<GoldenFile> GoldenFile::Parse(std::string_view text) {
  KVCAST_TRY(const Json json, ParseJson(text));
  if (!json.is_object()) {
    return Malformed("A file of golden vectors is an object.").At(JsonPlace(text, {}));
  }
  KVCAST_TRY(const std::string format, At(text, {"format"}, Text(json, "format")));
  if (format != "kvcast-vectors/1") {
    return Error(ErrorCode::kUnsupported, "The format is not kvcast-vectors/1.")
        .At(JsonPlace(text, {"format"}));
  }
  GoldenFile file;
  KVCAST_TRY(file.topic, At(text, {"topic"}, Text(json, "topic")));
  const auto cases = json.find("cases");
  if (cases == json.end() || !cases->is_array()) {
    return Malformed("\"cases\" must be a list.").At(JsonPlace(text, {"cases"}));
  }
  std::set<std::string> names;
  for (const Json& each : *cases) {
    const std::string index = std::to_string(file.cases.size());
    KVCAST_TRY(GoldenCase golden, ParseCase(text, each, index));
    if (!names.insert(golden.name).second) {
      return Malformed("Two cases have one name.")
          .At(JsonPlace(text, {"cases", index, "name"}))
          .In("case \"" + golden.name + "\"");
    }
    file.cases.push_back(std::move(golden));
  }
  return file;
}

}  // namespace kvcast
