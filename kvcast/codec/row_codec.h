#pragma once

#include <vector>

#include "kvcast/codec/token_codec.h"

namespace kvcast {

// The fixed-rate rungs Int8, FP8, Int4 and FP4: one token an object, whose body is all scales, then
// all offsets, then all codes, each in canonical order (layer, K before V, head).
class RowCodec final : public TokenCodec {
 public:
  // REQUIRES: a format that Codec::Of has looked at, of such a rung.
  RowCodec(const TrackFormat& format, HalfType pages, const Kernels& kernels);

 private:
  // One plane of one layer, and where its parts begin in a token's body.
  struct Segment {
    uint32_t layer = 0;
    Plane plane = Plane::kKey;
    uint32_t rows = 0;
    uint32_t size = 0;
    size_t scales = 0;
    size_t offsets = 0;
    size_t codes = 0;
    size_t statics = 0;
  };

  size_t TokenBytes() const override { return scale_bytes_ + offset_bytes_ + code_bytes_; }
  void EncodeTokens(const BlockView& block, uint32_t first_token,
                    std::span<std::byte* const> tokens) const override;
  bool IsSound(std::span<const std::byte> token) const override;
  void DecodeTokens(std::span<const std::byte* const> tokens, uint32_t first_token,
                    BlockView& block) const override;
  template <typename Byte>
  CodedRows<Byte> PartsOf(const Segment& segment, Byte* token) const;

  const RowKernel kernel_;
  std::vector<Segment> segments_;
  std::vector<Fp8Table> tables_;  // FP8: one a static.
  size_t scale_bytes_ = 0;        // Of a token.
  size_t offset_bytes_ = 0;
  size_t code_bytes_ = 0;
};

}  // namespace kvcast
