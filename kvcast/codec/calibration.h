#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kvcast/base/digest.h"
#include "kvcast/codec/bands.h"
#include "kvcast/codec/survey.h"
#include "kvcast/codec/track_format.h"

namespace kvcast {

// What the caches of a model look like, as far as its rungs depend on it: made once from samples,
// and the same for all who publish that model's caches.
//
//   file := "KVCAL" version:u8 value_type:u8 runs:vi64 run[runs] fp8:f32[rows] fp4:f32[planes]
//           table[planes] bands? digest                                   little-endian
//   run and table as in a track's format; bands, for AC and KTC, in version 2 and not in 1; the
//   digest is the SHA-256 of all before it
//
// A track that was encoded with it carries its digest, so that two calibrations are never taken for
// one another.
class Calibration {
 public:
  static constexpr size_t kBytesMax = 512 * 1024 * 1024;

  // REQUIRES: a survey of whole caches, not of a slice.
  static Calibration Of(const Survey& survey);
  // The same with what AC and KTC need. REQUIRES: bands of the same layers.
  static Calibration Of(const Survey& survey, Bands bands);
  // Malformed: damaged, or not such a file. Unsupported: one of another version.
  static Result<Calibration> Parse(std::string_view file);
  const std::string& file() const { return file_; }

  const Digest& digest() const { return digest_; }
  HalfType value_type() const { return type_; }
  std::span<const LayerShape> layers() const { return layers_; }
  // Null where it has none.
  const std::shared_ptr<const Bands>& bands() const { return bands_; }

  // The format of a rung for blocks of so many tokens. Invalid: a slice of what is not there or
  // that cuts what is coded together, or more constants than one track can carry. Unsupported: AC
  // or KTC without bands.
  Result<TrackFormat> FormatOf(Rung rung, uint32_t block_tokens, const Slice& slice = {}) const;
  // Whether a format of AC or KTC is one of this calibration's: what it says is what a codec may
  // rely on. Mismatch: it is not; unsupported: there are no bands, or the slice cuts one.
  Result<void> CheckBands(const TrackFormat& format) const;

 private:
  Calibration() = default;
  void Write();

  HalfType type_ = HalfType::kBf16;
  std::vector<LayerShape> layers_;
  RungConstants constants_;
  std::shared_ptr<const Bands> bands_;
  std::string file_;
  Digest digest_;
};

}  // namespace kvcast
