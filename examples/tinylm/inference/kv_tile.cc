#include "examples/tinylm/inference/kv_tile.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "examples/tinylm/inference/bfloat16.h"

namespace kvcast::tinylm {
namespace {

// Tokens that are transposed together: a register of eight BF16 values from each.
constexpr size_t kTogether = 8;
using Values = uint16_t __attribute__((vector_size(16)));

Values InterleaveLow(Values a, Values b) {
  return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
}
Values InterleaveHigh(Values a, Values b) {
  return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}

// Eight values of eight tokens: to[value * kPanelColumns + token], widened to FP32.
void TransposeEight(const std::array<const std::byte*, kTogether>& tokens, size_t offset,
                    float* to) {
  std::array<Values, kTogether> rows;
  for (size_t i = 0; i < kTogether; ++i) {
    std::memcpy(&rows[i], tokens[i] + offset, sizeof(Values));
  }
  // Dealing rows out like cards moves each value's row number one bit into its column number;
  // after three times they have changed places.
  for (int bit = 0; bit < 3; ++bit) {
    std::array<Values, kTogether> dealt;
    for (size_t i = 0; i < kTogether / 2; ++i) {
      dealt[2 * i] = InterleaveLow(rows[i], rows[i + kTogether / 2]);
      dealt[2 * i + 1] = InterleaveHigh(rows[i], rows[i + kTogether / 2]);
    }
    rows = dealt;
  }
  // An FP32 value is a BF16 value with 16 more bits behind it.
  for (size_t i = 0; i < kTogether; ++i) {
    const std::array<Values, 2> widened = {InterleaveLow(Values{}, rows[i]),
                                           InterleaveHigh(Values{}, rows[i])};
    std::memcpy(to + i * kPanelColumns, widened.data(), sizeof(widened));
  }
}

}  // namespace

KvTile::KvTile(size_t head_size)
    : head_size_(head_size), keys_(kTokens * head_size), values_(kTokens * head_size) {}

void KvTile::Load(const KvCache& cache, std::span<const uint32_t> pages, size_t layer,
                  uint32_t head, size_t begin, size_t end) {
  const auto at = [&](Plane plane, size_t token) {
    return cache.At(layer, plane, pages[token / cache.page_tokens()],
                    static_cast<uint32_t>(token % cache.page_tokens()), head);
  };
  for (size_t token = begin; token < end; token += kTogether) {
    std::array<const std::byte*, kTogether> tokens{};
    for (size_t i = 0; i < kTogether; ++i) {
      tokens[i] = at(Plane::kKey, std::min(token + i, end - 1));
    }
    const size_t column = token - begin;
    float* const to =
        keys_.data() + column / kPanelColumns * key_panel_stride() + column % kPanelColumns;
    for (size_t value = 0; value < head_size_; value += kTogether) {
      TransposeEight(tokens, value * sizeof(uint16_t), to + value * kPanelColumns);
    }
  }
  for (size_t token = begin; token < end; ++token) {
    const std::byte* const from = at(Plane::kValue, token);
    for (size_t panel = 0; panel < head_size_ / kPanelColumns; ++panel) {
      float* const to =
          values_.data() + panel * value_panel_stride() + (token - begin) * kPanelColumns;
      for (size_t i = 0; i < kPanelColumns; ++i) {
        to[i] = LoadBfloat16(from + (panel * kPanelColumns + i) * sizeof(uint16_t));
      }
    }
  }
}

}  // namespace kvcast::tinylm
