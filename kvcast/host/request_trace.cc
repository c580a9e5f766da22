#include "kvcast/host/request_trace.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "kvcast/base/json.h"
#include "kvcast/base/json_place.h"
#include "kvcast/io/file.h"

namespace kvcast {
namespace {

constexpr size_t kTraceBytesMax = size_t{1} << 30;

// Numbers blocks in the order in which they are first seen.
class BlockNumbers {
 public:
  uint64_t Of(const Json& name) { return numbers_.emplace(name.dump(), size()).first->second; }
  size_t size() const { return numbers_.size(); }

 private:
  std::unordered_map<std::string, uint64_t> numbers_;
};

Result<std::vector<uint64_t>> ParseRequest(std::string_view line, BlockNumbers& numbers) {
  KVCAST_TRY(const Json json, ParseJson(line));
  if (!json.is_object()) {
    return Error(ErrorCode::kMalformed, "A request is an object, as {\"hash_ids\": [1, 2, 3]}.");
  }
  const auto names = json.find("hash_ids");
  if (names == json.end() || !names->is_array()) {
    return Error(ErrorCode::kMalformed,
                 "\"hash_ids\", the list of the request's blocks, is missing.")
        .At(JsonPlace(line, {"hash_ids"}));
  }
  std::vector<uint64_t> blocks;
  for (const Json& name : *names) {
    if (!name.is_number_integer() && !name.is_string()) {
      return Error(ErrorCode::kMalformed, "A block's name is an integer or a string.")
          .At(JsonPlace(line, {"hash_ids", std::to_string(blocks.size())}));
    }
    blocks.push_back(numbers.Of(name));
  }
  return blocks;
}

}  // namespace

Result<RequestTrace> ParseRequestTrace(std::string_view text) {
  RequestTrace trace;
  trace.text_bytes = text.size();
  BlockNumbers numbers;
  size_t line_number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line_number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) {
      continue;
    }
    Result<std::vector<uint64_t>> blocks = ParseRequest(line, numbers);
    if (!blocks.ok()) {
      return std::move(blocks).error().In("line " + std::to_string(line_number));
    }
    trace.block_count += blocks->size();
    trace.requests.push_back(*std::move(blocks));
  }
  trace.distinct_count = numbers.size();
  if (trace.block_count == 0) {
    return Error(ErrorCode::kInvalid, "There is no request with a block in this trace.");
  }
  return trace;
}

Result<RequestTrace> ReadRequestTrace(const std::string& file) {
  const bool is_input = file == "-";
  KVCAST_TRY(const std::string text,
             is_input ? ReadStandardInput(kTraceBytesMax) : ReadFile(file, kTraceBytesMax));
  Result<RequestTrace> trace = ParseRequestTrace(text);
  if (!trace.ok()) {
    return std::move(trace).error().In(is_input ? "standard input" : file);
  }
  return trace;
}

}  // namespace kvcast
