#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kvcast/base/json.h"
#include "kvcast/base/result.h"

namespace kvcast {

// One golden vector: what goes in, and what must come out, or that it must be refused.
struct GoldenCase {
  std::string name;
  Json in;
  std::optional<Json> out;  // Absent where the input must be refused.
  std::optional<uint64_t> refused_at;
};

// A file of golden vectors, as docs/reference/vectors holds them for every implementation:
//
//   {"format": "kvcast-vectors/1", "topic": "...", "cases": [
//     {"name": "...", "in": {...}, "out": {...}}, {"name": "...", "in": {...}, "error": true}]}
struct GoldenFile {
  std::string topic;
  std::vector<GoldenCase> cases;

  static Result<GoldenFile> Parse(std::string_view text);
};

}  // namespace kvcast
