#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kvcast/base/digest.h"
#include "kvcast/base/result.h"
#include "kvcast/codec/half_type.h"
#include "kvcast/kv/block_shape.h"
#include "kvcast/kv/rung.h"
#include "kvcast/kv/slice.h"

namespace kvcast {

// The exponents that one plane of one layer uses: the 15 most frequent ones with their share of
// 256, and the share of all others, which are written out.
struct ExponentTable {
  static constexpr size_t kNamed = 15;
  static constexpr size_t kSymbols = kNamed + 1;
  static constexpr uint32_t kTotal = 256;
  std::array<uint8_t, kNamed> exponents{};  // All different.
  std::array<uint8_t, kSymbols> shares{};   // Each at least 1, kTotal in all; the last: all others.

  bool IsSound() const;
  friend bool operator==(const ExponentTable&, const ExponentTable&) = default;
};

// All that is the same for every object of a track, and is therefore said once: what is cached, at
// which rung, and the rung's own constants. A track carries it as an immutable property.
//
//   format := version:u8 rung:u8 value_type:u8 parts:u8 first_layer:vi64 first_head:vi64
//             block_tokens:vi64 run_tokens:vi64 runs:vi64 run[runs] digest? scale* table*
//   run    := layers:vi64 kv_heads:vi64 key_size:vi64 value_size:vi64    equal layers in a row
//   digest := 32 bytes, of the calibration               if parts & 1
//   scale  := FP32, little-endian                        if parts & 2; how many, the rung says
//   table  := exponents:u8[15] shares:u8[16]             if parts & 4; one per layer and plane
struct TrackFormat {
  static constexpr uint8_t kVersion = 1;
  static constexpr size_t kBytesMax = 65'000;  // What fits in a property beside others.
  static constexpr uint32_t kTokensMax = 65'535;

  Rung rung = Rung::kBf16;
  HalfType value_type = HalfType::kBf16;  // Of the pages it was made from.
  std::vector<LayerShape> layers;         // Of the slice.
  uint32_t first_layer = 0;               // Where the slice begins in the model.
  uint32_t first_head = 0;
  uint32_t block_tokens = 0;
  uint32_t run_tokens = 1;  // In an object; the last of a block may hold fewer.
  std::optional<Digest> calibration;
  // FP8: one per layer, plane and head, in canonical order. FP4: one per layer and plane.
  std::vector<float> scales;
  std::vector<ExponentTable> tables;  // Of the lossless rungs.

  // The format of a rung without constants of its own.
  static TrackFormat Of(Rung rung, HalfType type, const BlockShape& shape, const Slice& slice = {});

  BlockShape Shape() const { return BlockShape(layers, block_tokens); }
  // Planes that hold anything: two a layer, or MLA's one.
  size_t PlaneCount() const;
  size_t RowCount() const;  // Planes times heads.

  // Invalid: a shape, a scale or a table that no codec could work with, or too much of them.
  Result<void> Check() const;
  // REQUIRES: Check() passes.
  std::string Encode() const;
  // What Encode() wrote; nothing else passes.
  static Result<TrackFormat> Parse(std::string_view encoded);

  friend bool operator==(const TrackFormat&, const TrackFormat&) = default;
};

}  // namespace kvcast
