#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kvcast/base/digest.h"
#include "kvcast/codec/survey.h"
#include "kvcast/codec/track_format.h"

namespace kvcast {

// What the caches of a model look like, as far as its rungs depend on it: made once from samples,
// and the same for all who publish that model's caches.
//
//   file := "KVCAL" version:u8 value_type:u8 runs:vi64 run[runs] fp8:f32[rows] fp4:f32[planes]
//           table[planes] digest                                          little-endian
//   run and table as in a track's format; the digest is the SHA-256 of all before it
//
// A track that was encoded with it carries its digest, so that two calibrations are never taken for
// one another.
class Calibration {
 public:
  static constexpr size_t kBytesMax = 16 * 1024 * 1024;

  // REQUIRES: a survey of whole caches, not of a slice.
  static Calibration Of(const Survey& survey);
  // Malformed: damaged, or not such a file. Unsupported: one of another version.
  static Result<Calibration> Parse(std::string_view file);
  const std::string& file() const { return file_; }

  const Digest& digest() const { return digest_; }
  HalfType value_type() const { return type_; }
  std::span<const LayerShape> layers() const { return layers_; }

  // The format of a rung for blocks of so many tokens. Invalid: a slice of what is not there, or
  // more constants than one track can carry.
  Result<TrackFormat> FormatOf(Rung rung, uint32_t block_tokens, const Slice& slice = {}) const;

 private:
  Calibration() = default;
  void Write();

  HalfType type_ = HalfType::kBf16;
  std::vector<LayerShape> layers_;
  RungConstants constants_;
  std::string file_;
  Digest digest_;
};

}  // namespace kvcast
