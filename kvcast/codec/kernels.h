#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "kvcast/codec/half_type.h"

namespace kvcast {

struct MatrixProduct;
struct RansReader;
struct RansTable;

// The heads of one token, layer and plane where they lie in an engine's pages.
template <typename Byte>
struct PageRows {
  Byte* values = nullptr;
  size_t stride = 0;  // From one head to the next, in bytes.
  uint32_t rows = 0;
  uint32_t size = 0;  // Values of a head.
  HalfType type = HalfType::kBf16;

  Byte* Row(uint32_t row) const { return values + row * stride; }
};

// The same as codes, dense, with what they are multiplied by; which parts there are, the rung says.
//
//   Int8  codes int8 per value; scales BF16 per row
//   FP8   codes E4M3 per value; statics FP32 per row
//   Int4  codes 4 bits per value, groups of 32; scales BF16 and offsets per group
//   FP4   codes E2M1, packed as those of Int4; scales E4M3 per 16 values; one static FP32
template <typename Byte>
struct CodedRows {
  Byte* codes = nullptr;
  Byte* scales = nullptr;
  Byte* offsets = nullptr;
  const float* statics = nullptr;
  HalfType offset_type = HalfType::kBf16;
  bool careful = false;  // Take the time to look for the scale that errs least.
};

inline constexpr uint32_t kGroupValues = 32;
inline constexpr uint32_t kScaleBlockValues = 16;

// Two codes a byte: in a group of n values, value i shares its byte with value i + ceil(n / 2),
// which has the upper half.
inline constexpr uint32_t PackedBytes(uint32_t values) { return (values + 1) / 2; }
inline constexpr uint32_t PackedRowBytes(uint32_t size) {
  return size / kGroupValues * PackedBytes(kGroupValues) + PackedBytes(size % kGroupValues);
}
inline constexpr uint32_t GroupsOf(uint32_t size) {
  return (size + kGroupValues - 1) / kGroupValues;
}
inline constexpr uint32_t ScaleBlocksOf(uint32_t size) {
  return (size + kScaleBlockValues - 1) / kScaleBlockValues;
}

struct RowKernel {
  void (*encode)(const PageRows<const std::byte>& from, const CodedRows<std::byte>& to);
  // Scales and offsets must be in the range that encode writes.
  void (*decode)(const CodedRows<const std::byte>& from, const PageRows<std::byte>& to);
};

// The inner loops for one instruction set. All sets give the same bits for the same input; which
// one runs is a question of speed only.
struct Kernels {
  std::string_view name;
  RowKernel int8;
  RowKernel fp8;
  RowKernel int4;
  RowKernel fp4;
  // A unit of the entropy coder; false if its stream is too short for it.
  bool (*read_exponents)(RansReader& reader, const RansTable& table, std::span<uint8_t> exponents);
  // Exponents with their signs and mantissas (`low`) as BF16.
  void (*join_bf16)(const uint8_t* exponents, const std::byte* low, uint32_t count, std::byte* to);
  void (*multiply)(const MatrixProduct& product);
};

const Kernels& ScalarKernels();
// Those that this processor can run, the slowest first; never empty.
std::span<const Kernels* const> UsableKernels();
// The last of them.
const Kernels& BestKernels();

}  // namespace kvcast
