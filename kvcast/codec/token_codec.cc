#include "kvcast/codec/token_codec.h"

#include <algorithm>
#include <array>
#include <string>

namespace kvcast {

// As many as a page often has: their bytes stay in the nearer caches from one plane to the next.
size_t TokenCodec::Together() const { return format().run_tokens == 1 ? kTogetherMax : 1; }

size_t TokenCodec::EncodeBody(const BlockView& block, uint32_t first_token, uint32_t tokens,
                              std::span<std::byte> body) const {
  for (uint32_t i = 0; i < tokens; ++i) {
    std::byte* const token = body.data() + i * TokenBytes();
    EncodeTokens(block, first_token + i, {&token, 1});
  }
  return BodyBytesMax(tokens);
}

void TokenCodec::EncodeBodies(const BlockView& block, std::span<Body<std::byte>> bodies) const {
  if (format().run_tokens != 1) {
    Codec::EncodeBodies(block, bodies);
    return;
  }
  std::array<std::byte*, kTogetherMax> tokens{};
  std::ranges::transform(bodies, tokens.begin(),
                         [](const auto& body) { return body.bytes.data(); });
  EncodeTokens(block, bodies.front().first_token, std::span(tokens).first(bodies.size()));
}

Result<void> TokenCodec::DecodeBody(std::span<const std::byte> body, uint32_t first_token,
                                    uint32_t tokens, BlockView& block) const {
  KVCAST_TRY_VOID(CheckBody(body, tokens));
  for (uint32_t i = 0; i < tokens; ++i) {
    const std::byte* const token = body.data() + i * TokenBytes();
    DecodeTokens({&token, 1}, first_token + i, block);
  }
  return {};
}

Codec::Decoded TokenCodec::DecodeBodies(std::span<const Body<const std::byte>> bodies,
                                        BlockView& block) const {
  if (format().run_tokens != 1) {
    return Codec::DecodeBodies(bodies, block);
  }
  Decoded decoded;
  std::array<const std::byte*, kTogetherMax> tokens{};
  for (const Body<const std::byte>& body : bodies) {
    const Result<void> checked = CheckBody(body.bytes, 1);
    if (!checked.ok()) {
      decoded.fault = checked.error();
      break;
    }
    tokens[decoded.objects++] = body.bytes.data();
  }
  if (decoded.objects > 0) {
    DecodeTokens(std::span(tokens).first(decoded.objects), bodies.front().first_token, block);
  }
  return decoded;
}

Result<void> TokenCodec::CheckBody(std::span<const std::byte> body, uint32_t tokens) const {
  const size_t token_bytes = TokenBytes();
  if (body.size() != tokens * token_bytes) {
    return Error(ErrorCode::kMismatch, "Tokens of this shape and rung have " +
                                           std::to_string(token_bytes) + " bytes each; " +
                                           std::to_string(tokens) + " of them have " +
                                           std::to_string(body.size()) + " here.");
  }
  for (uint32_t i = 0; i < tokens; ++i) {
    if (!IsSound(body.subspan(i * token_bytes, token_bytes))) {
      return Error(ErrorCode::kMalformed, "A scale of the object is not one that is ever written.");
    }
  }
  return {};
}

}  // namespace kvcast
