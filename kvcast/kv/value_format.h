#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kvcast/base/digest.h"
#include "kvcast/base/result.h"

namespace kvcast {

// The track on which values are published. No rung: what the bytes mean, their engine alone knows.
inline constexpr std::string_view kValueTrackName = "Opaque";

// What makes the bytes of one engine mean the same to another. A value is a block as an engine lays
// it out, under a key of the engine's: nobody else can look into it, so whatever would have it read
// wrongly has to be in here, and is so in the name of every value.
struct ValueFormat {
  static constexpr uint32_t kBlockTokensMin = 16;
  static constexpr uint32_t kBlockTokensMax = 1024;
  static constexpr size_t kLayoutBytesMax = 4096;
  static constexpr size_t kKeyBytesMax = 1024;  // What BlockNamer takes of an engine.

  std::string model;  // Its name.
  // In the engine's own words: weights, its version, dtype, order of dimensions, rank and how many.
  std::string layout;
  uint32_t block_tokens = kBlockTokensMin;

  // Invalid: no layout, one that is too long, or blocks of fewer or more tokens.
  Result<void> Check() const;
  //   format := "kvcast/values/1" (tag:u8 len:u32 bytes)*          1 model, 2 layout, 3 tokens:u32
  std::string Encode() const;
  // What stands in place of a model's fingerprint.
  Digest Fingerprint() const { return Sha256::Of(Encode()); }
};

}  // namespace kvcast
