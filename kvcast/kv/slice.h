#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kvcast/base/result.h"

namespace kvcast {

// Numbers from `first` to `last`, both included.
struct IndexRange {
  uint32_t first = 0;
  uint32_t last = 0;

  uint32_t count() const { return last - first + 1; }
  bool Contains(uint32_t index) const { return first <= index && index <= last; }
  friend bool operator==(const IndexRange&, const IndexRange&) = default;
};

// A part of a cache: some layers, some KV heads, or both; absent means all. A tensor-parallel rank
// publishes and loads its heads, a layer-wise reader fetches layers.
struct Slice {
  std::optional<IndexRange> layers;
  std::optional<IndexRange> heads;

  bool IsWhole() const { return !layers && !heads; }
  // ";l=0-15;h=2-3", or nothing for the whole.
  std::string Suffix() const;
  // Accepts only what Suffix() writes: names compare byte by byte.
  static Result<Slice> ParseSuffix(std::string_view suffix);

  friend bool operator==(const Slice&, const Slice&) = default;
};

}  // namespace kvcast
