#pragma once

#include "kvcast/codec/codec.h"

namespace kvcast {

// Rungs at which every token takes the same bytes, whatever its values. Tokens that follow one
// another are worked on together: what they have of a plane lies side by side in a page, and what
// one of them has of all planes lies far apart.
class TokenCodec : public Codec {
 public:
  size_t Together() const final;

 protected:
  TokenCodec(const TrackFormat& format, HalfType pages) : Codec(format, pages) {}

 private:
  virtual size_t TokenBytes() const = 0;
  virtual void EncodeTokens(const BlockView& block, uint32_t first_token,
                            std::span<std::byte* const> tokens) const = 0;
  // Whether an encoder could have written such bytes.
  virtual bool IsSound(std::span<const std::byte> token) const = 0;
  // REQUIRES: bytes that are sound.
  virtual void DecodeTokens(std::span<const std::byte* const> tokens, uint32_t first_token,
                            BlockView& block) const = 0;

  size_t BodyBytesMax(uint32_t tokens) const final { return tokens * TokenBytes(); }
  size_t EncodeBody(const BlockView& block, uint32_t first_token, uint32_t tokens,
                    std::span<std::byte> body) const final;
  void EncodeBodies(const BlockView& block, std::span<Body<std::byte>> bodies) const final;
  Result<void> DecodeBody(std::span<const std::byte> body, uint32_t first_token, uint32_t tokens,
                          BlockView& block) const final;
  Decoded DecodeBodies(std::span<const Body<const std::byte>> bodies, BlockView& block) const final;
  // Mismatch: bytes of another size. Malformed: they are not sound.
  Result<void> CheckBody(std::span<const std::byte> body, uint32_t tokens) const;
};

}  // namespace kvcast
