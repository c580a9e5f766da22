#pragma once

#include "kvcast/codec/token_codec.h"

namespace kvcast {

// The rungs that keep values as they are, FP16 and BF16: an object's body is one token's values in
// the canonical order layer, K before V, head, value.
class PlainCodec final : public TokenCodec {
 public:
  // REQUIRES: a format that Codec::Of has looked at.
  PlainCodec(const TrackFormat& format, HalfType pages);

 private:
  size_t TokenBytes() const override { return token_bytes_; }
  void EncodeTokens(const BlockView& block, uint32_t first_token,
                    std::span<std::byte* const> tokens) const override;
  bool IsSound(std::span<const std::byte>) const override { return true; }
  void DecodeTokens(std::span<const std::byte* const> tokens, uint32_t first_token,
                    BlockView& block) const override;

  const size_t token_bytes_;
};

}  // namespace kvcast
