#include "kvcast/kv/slice.h"

#include <charconv>

namespace kvcast {
namespace {

constexpr uint32_t kSliceLayersMax = 4096;
constexpr uint32_t kHeadsMax = 65536;

std::string RangeText(std::string_view key, const IndexRange& range) {
  return std::string(key) + std::to_string(range.first) + "-" + std::to_string(range.last);
}

Error MalformedSlice(size_t offset) {
  return Error(ErrorCode::kMalformed, "A slice is written ;l=FIRST-LAST or ;h=FIRST-LAST.")
      .At(offset);
}

Result<uint32_t> ParseIndex(std::string_view text, size_t& at) {
  uint32_t index = 0;
  const char* begin = text.data() + at;
  const auto parsed = std::from_chars(begin, text.data() + text.size(), index);
  const size_t digits = static_cast<size_t>(parsed.ptr - begin);
  if (parsed.ec != std::errc() || (digits > 1 && *begin == '0')) {
    return MalformedSlice(at);
  }
  at += digits;
  return index;
}

// Reads `key` and a range, if the text goes on with that key.
Result<std::optional<IndexRange>> ParseRange(std::string_view text, std::string_view key,
                                             uint32_t last_max, size_t& at) {
  if (!text.substr(at).starts_with(key)) {
    return std::optional<IndexRange>();
  }
  at += key.size();
  const size_t start = at;
  IndexRange range;
  KVCAST_TRY(range.first, ParseIndex(text, at));
  if (at == text.size() || text[at++] != '-') {
    return MalformedSlice(start);
  }
  KVCAST_TRY(range.last, ParseIndex(text, at));
  if (range.last < range.first || range.last > last_max) {
    return MalformedSlice(start);
  }
  return std::optional(range);
}

}  // namespace

std::string Slice::Suffix() const {
  return (layers ? RangeText(";l=", *layers) : "") + (heads ? RangeText(";h=", *heads) : "");
}

Result<Slice> Slice::ParseSuffix(std::string_view suffix) {
  Slice slice;
  size_t at = 0;
  KVCAST_TRY(slice.layers, ParseRange(suffix, ";l=", kSliceLayersMax - 1, at));
  KVCAST_TRY(slice.heads, ParseRange(suffix, ";h=", kHeadsMax - 1, at));
  if (at != suffix.size()) {
    return MalformedSlice(at);
  }
  return slice;
}

}  // namespace kvcast
