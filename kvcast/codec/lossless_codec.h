#pragma once

#include <vector>

#include "kvcast/codec/codec.h"
#include "kvcast/codec/rans.h"

namespace kvcast {

// The exact rungs BF16-lossless and FP16-lossless: exponents by rANS with the track's tables, signs
// and mantissas, in which there is nothing to save, as they are.
//
//   body   := others:u32 low[values] planes[..] other[others] state:u16[128] byte*
//   low    := BF16: sign << 7 | mantissa; FP16: the mantissa's lower 8 bits
//   planes := FP16 only: 3 times ceil(values / 8) bytes, bit i % 8 of byte i / 8 being value i's
//   sign,
//             mantissa's highest bit, mantissa's second
//   other  := an exponent that its table does not name, in order
//
// Values stand in the order layer, K before V, token, head, value; the heads of one token are a
// unit of the entropy coder.
class LosslessCodec final : public Codec {
 public:
  // REQUIRES: a format that Codec::Of has looked at, of such a rung.
  LosslessCodec(const TrackFormat& format, HalfType pages, const Kernels& kernels);

 private:
  struct Unit {
    uint32_t layer = 0;
    Plane plane = Plane::kKey;
    uint32_t rows = 0;
    uint32_t size = 0;
    RansTable table;
  };
  struct Parts;

  size_t BodyBytesMax(uint32_t tokens) const override;
  size_t EncodeBody(const BlockView& block, uint32_t first_token, uint32_t tokens,
                    std::span<std::byte> body) const override;
  Result<void> DecodeBody(std::span<const std::byte> body, uint32_t first_token, uint32_t tokens,
                          BlockView& block) const override;
  size_t PlaneBytes(size_t values) const;
  void SplitRow(const std::byte* from, uint32_t size, size_t at, size_t values, std::byte* low,
                uint8_t* exponents) const;
  Result<Parts> PartsOf(std::span<const std::byte> body, size_t values) const;

  const Kernels* kernels_;
  std::vector<Unit> units_;
};

}  // namespace kvcast
