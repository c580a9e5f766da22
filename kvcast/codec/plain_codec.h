#pragma once

#include "kvcast/codec/codec.h"

namespace kvcast {

// The rungs that keep values as they are, FP16 and BF16: an object's body is one token's values in
// the canonical order layer, K before V, head, value.
class PlainCodec final : public Codec {
 public:
  // REQUIRES: a format that Codec::Of has looked at.
  PlainCodec(const TrackFormat& format, HalfType pages);

 private:
  size_t BodyBytesMax(uint32_t tokens) const override;
  size_t EncodeBody(const BlockView& block, uint32_t first_token, uint32_t tokens,
                    std::span<std::byte> body) const override;
  Result<void> DecodeBody(std::span<const std::byte> body, uint32_t first_token, uint32_t tokens,
                          BlockView& block) const override;

  const size_t token_bytes_;
};

}  // namespace kvcast
