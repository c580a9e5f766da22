#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "kvcast/codec/half_type.h"

namespace kvcast {

struct MatrixProduct;
struct NumberRounding;
struct RansReader;
struct RansTable;
struct RansWriter;
struct RawPlanes;
template <typename Byte>
struct HeadRows;
template <typename Number>
struct NumberRows;

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

// What FP8's codes are worth with one head's scale, in the type of the pages, and which codes
// BF16's values become: kernels that look things up find it here.
struct Fp8Table {
  static constexpr size_t kMagnitudes = 128;
  alignas(64) uint8_t low[kMagnitudes];  // Of each magnitude's value: the lower byte,
  uint8_t high[kMagnitudes];             // and the upper.
  // The code of a value by the 7 bits of its mantissa, if it has this exponent: the least with
  // which all are normal as codes. The next exponent has codes larger by 8.
  uint8_t codes[kMagnitudes];
  uint8_t first_exponent;

  static Fp8Table Of(float scale, HalfType pages);
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
  const Fp8Table* tables = nullptr;  // FP8: of each row.
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

// The entropy coder, and what it codes of the exact rungs.
struct CoderKernels {
  // A unit; false if its stream is too short for it.
  bool (*read_values)(RansReader& reader, const RansTable& table, std::span<uint8_t> values);
  void (*write_symbols)(RansWriter& writer, const RansTable& table,
                        std::span<const uint8_t> symbols);
  // The symbols of values.
  void (*name_values)(const RansTable& table, std::span<const uint8_t> values, uint8_t* symbols);
  // Exponents with their signs and mantissas (`low`) as BF16, and back.
  void (*join_bf16)(const uint8_t* exponents, const std::byte* low, uint32_t count, std::byte* to);
  void (*split_bf16)(const std::byte* from, uint32_t count, uint8_t* exponents, std::byte* low);
};

// The numbers of AC and KTC. Strides are in numbers, and sizes are filled up to whole groups of 32
// where numbers lie by token, or by component.
struct BandKernels {
  // Numbers, or what a matrix made of them (in split places), times scales, as a head's values.
  void (*restore_numbers)(const HeadRows<std::byte>& to, const float* scales,
                          const int16_t* numbers, size_t stride);
  void (*restore_sums)(const HeadRows<std::byte>& to, const float* scales, const uint32_t* sums,
                       size_t stride);
  // A head's values as whole numbers for a matrix, or as numbers of steps; and its products so.
  void (*whole_values)(const HeadRows<const std::byte>& from, const float* scales, int16_t* whole,
                       size_t stride);
  void (*number_values)(const HeadRows<const std::byte>& from, const NumberRounding& by,
                        int16_t* numbers, size_t stride);
  void (*number_sums)(const uint32_t* sums, size_t rows, size_t count, const NumberRounding& by,
                      int16_t* numbers);
  // Rows of numbers by component as rows by token, and back. May read 7 numbers behind a row.
  void (*gather_rows)(const NumberRows<const int16_t>& rows, uint32_t count, uint32_t tokens,
                      int16_t* to, size_t stride);
  void (*scatter_rows)(const int16_t* from, size_t stride, uint32_t count, uint32_t tokens,
                       const NumberRows<int16_t>& rows);
  // Upper parts with their lower bits; whether any is far.
  bool (*widen_uppers)(std::span<const uint8_t> uppers, const RawPlanes& raw,
                       const std::byte* planes, size_t first, int16_t* numbers);
  // The other way, from number `first` of a unit on: symbols of upper parts.
  void (*narrow_numbers)(std::span<const int16_t> numbers, const RansTable& table,
                         const RawPlanes& raw, size_t first, std::byte* planes, uint8_t* symbols);
};

// The same for numbers of 8 bits, which nearly all of AC's are. Those that cannot do all of it say
// so by false, and leave anything behind.
struct ByteKernels {
  void (*restore_numbers)(const HeadRows<std::byte>& to, const float* scales, const int8_t* numbers,
                          size_t stride);
  // Some of the pairs of groups that all heads have, as rows by component. False, too, where a
  // value is out of its bounds.
  bool (*number_rows)(const HeadRows<const std::byte>& from, const NumberRounding& by,
                      uint32_t first_pair, uint32_t pairs, const NumberRows<int8_t>& rows);
  // May read 15 numbers behind a row.
  void (*gather_rows)(const NumberRows<const int8_t>& rows, uint32_t count, uint32_t tokens,
                      int8_t* to, size_t stride);
  bool (*widen_uppers)(std::span<const uint8_t> uppers, const RawPlanes& raw,
                       const std::byte* planes, size_t first, int8_t* numbers);
  void (*narrow_numbers)(std::span<const int8_t> numbers, const RansTable& table,
                         const RawPlanes& raw, size_t first, std::byte* planes, uint8_t* symbols);
};

// The inner loops for one instruction set. All sets give the same bits for the same input; which
// one runs is a question of speed only.
struct Kernels {
  std::string_view name;
  RowKernel int8;
  RowKernel fp8;
  RowKernel int4;
  RowKernel fp4;
  const CoderKernels* coder;
  const BandKernels* bands;
  const ByteKernels* bytes;
  void (*multiply)(const MatrixProduct& product);
};

const Kernels& ScalarKernels();
// Those that this processor can run, the slowest first; never empty.
std::span<const Kernels* const> UsableKernels();
// The last of them.
const Kernels& BestKernels();

}  // namespace kvcast
