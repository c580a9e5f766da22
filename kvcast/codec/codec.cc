#include "kvcast/codec/codec.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "kvcast/base/check.h"
#include "kvcast/base/check_sum.h"
#include "kvcast/codec/band_codec.h"
#include "kvcast/codec/calibration.h"
#include "kvcast/codec/coded_object.h"
#include "kvcast/codec/lossless_codec.h"
#include "kvcast/codec/plain_codec.h"
#include "kvcast/codec/row_codec.h"

namespace kvcast {
namespace {

// Kernels write past the caches, in no order: whoever is told of it next must find it written.
void FinishWrites() {
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#endif
}

}  // namespace

std::optional<HalfType> ExactTypeOf(Rung rung) {
  switch (rung) {
    case Rung::kBf16:
    case Rung::kBf16Lossless:
      return HalfType::kBf16;
    case Rung::kFp16:
    case Rung::kFp16Lossless:
      return HalfType::kFp16;
    default:
      return std::nullopt;
  }
}

Result<std::unique_ptr<const Codec>> Codec::Of(const TrackFormat& format, HalfType pages,
                                               const Kernels& kernels) {
  KVCAST_TRY_VOID(format.Check());
  const std::optional<HalfType> exact = ExactTypeOf(format.rung);
  if (exact && (format.value_type != *exact || pages != *exact)) {
    return Error(ErrorCode::kUnsupported, "The rung " + std::string(ToString(format.rung)) +
                                              " keeps values as they are, and pages of " +
                                              std::string(ToString(pages)) + " cannot hold them.");
  }
  switch (format.rung) {
    case Rung::kBf16:
    case Rung::kFp16:
      return std::unique_ptr<const Codec>(new PlainCodec(format, pages));
    case Rung::kFp8:
    case Rung::kInt8:
    case Rung::kFp4:
    case Rung::kInt4:
      return std::unique_ptr<const Codec>(new RowCodec(format, pages, kernels));
    case Rung::kBf16Lossless:
    case Rung::kFp16Lossless:
      return std::unique_ptr<const Codec>(new LosslessCodec(format, pages, kernels));
    case Rung::kAc:
    case Rung::kKtcCoarse:
    case Rung::kKtcMedium:
    case Rung::kKtcFine:
      break;
  }
  return Error(ErrorCode::kUnsupported, "The rung " + std::string(ToString(format.rung)) +
                                            " is nothing without its calibration.");
}

Result<std::unique_ptr<const Codec>> Codec::Of(const TrackFormat& format, HalfType pages,
                                               const Calibration& calibration,
                                               const Kernels& kernels) {
  KVCAST_TRY_VOID(format.Check());
  if (format.calibration && *format.calibration != calibration.digest()) {
    return Error(ErrorCode::kMismatch, "The cache was encoded with another calibration, " +
                                           format.calibration->ToHex().substr(0, 16) + ".");
  }
  if (!BandRungIndex(format.rung)) {
    return Of(format, pages, kernels);
  }
  KVCAST_TRY_VOID(calibration.CheckBands(format));
  return std::unique_ptr<const Codec>(
      new BandCodec(format, pages, kernels, calibration.bands(), calibration.layers()));
}

std::unique_ptr<const Codec> Codec::Plain(Rung rung, const BlockShape& shape) {
  KVCAST_CHECK(rung == Rung::kBf16 || rung == Rung::kFp16);
  const HalfType type = *ExactTypeOf(rung);
  return *Of(TrackFormat::Of(rung, type, shape), type);
}

Codec::Codec(TrackFormat format, HalfType pages)
    : format_(std::move(format)),
      shape_(format_.Shape()),
      pages_(pages),
      format_sum_(Crc32c(AsBytes(format_.Encode()))) {}

uint32_t Codec::TokensFrom(uint32_t first_token) const {
  KVCAST_CHECK(first_token < format_.block_tokens);
  return std::min(format_.run_tokens, format_.block_tokens - first_token);
}

size_t Codec::ObjectBytesMax(uint32_t tokens) const {
  return CodedObject::kHeaderBytes + BodyBytesMax(tokens);
}

size_t Codec::EncodeInto(const BlockView& block, uint32_t first_token,
                         std::span<std::byte> out) const {
  EncodeSeveral(block, first_token, {&out, 1});
  return out.size();
}

void Codec::EncodeSeveral(const BlockView& block, uint32_t first_token,
                          std::span<std::span<std::byte>> outs) const {
  KVCAST_CHECK(block.shape() == shape_ && block.value_bytes() == kPageValueBytes);
  KVCAST_CHECK(pages_ == format_.value_type && first_token % format_.run_tokens == 0);
  std::array<Body<std::byte>, kTogetherMax> bodies;
  while (!outs.empty()) {
    const size_t count = std::min(outs.size(), Together());
    for (size_t i = 0; i < count; ++i) {
      const uint32_t tokens = TokensFrom(first_token);
      KVCAST_CHECK(outs[i].size() >= ObjectBytesMax(tokens));
      bodies[i] = {first_token, tokens,
                   outs[i].subspan(CodedObject::kHeaderBytes, BodyBytesMax(tokens))};
      first_token += tokens;
    }
    EncodeBodies(block, std::span(bodies).first(count));
    for (size_t i = 0; i < count; ++i) {
      outs[i] = outs[i].first(CodedObject::kHeaderBytes + bodies[i].bytes.size());
      CodedObject::Seal(format_.rung, bodies[i].tokens, format_sum_, outs[i]);
    }
    outs = outs.subspan(count);
  }
}

void Codec::EncodeBodies(const BlockView& block, std::span<Body<std::byte>> bodies) const {
  for (Body<std::byte>& body : bodies) {
    body.bytes = body.bytes.first(EncodeBody(block, body.first_token, body.tokens, body.bytes));
  }
}

Bytes Codec::Encode(const BlockView& block, uint32_t first_token) const {
  const size_t bytes_max = ObjectBytesMax(TokensFrom(first_token));
  if (format_.run_tokens == 1 && bytes_max <= kChunkBytesMax) {  // Where it stays.
    ChunkRef chunk = ChunkRef::OnHeap(bytes_max);
    const size_t bytes = EncodeInto(block, first_token, {chunk.mutable_data(), bytes_max});
    return Bytes::Of(std::move(chunk), 0, bytes);
  }
  std::vector<std::byte> object(bytes_max);
  return Bytes::Copy(std::span(object).first(EncodeInto(block, first_token, object)));
}

std::vector<Bytes> Codec::EncodeBlock(const BlockView& block) const {
  return EncodeObjects(block, 0,
                       (format_.block_tokens + format_.run_tokens - 1) / format_.run_tokens);
}

std::vector<Bytes> Codec::EncodeObjects(const BlockView& block, uint32_t first_token,
                                        size_t count) const {
  std::vector<Bytes> objects;
  objects.reserve(count);
  if (format_.run_tokens != 1 || ObjectBytesMax() > kChunkBytesMax) {
    for (uint32_t token = first_token; objects.size() < count; token += format_.run_tokens) {
      objects.push_back(Encode(block, token));
    }
    return objects;
  }
  std::array<std::span<std::byte>, kTogetherMax> outs;
  std::array<ChunkRef, kTogetherMax> chunks;
  while (objects.size() < count) {
    const size_t now = std::min(count - objects.size(), Together());
    for (size_t i = 0; i < now; ++i) {
      chunks[i] = ChunkRef::OnHeap(ObjectBytesMax());
      outs[i] = {chunks[i].mutable_data(), ObjectBytesMax()};
    }
    EncodeSeveral(block, first_token, std::span(outs).first(now));
    for (size_t i = 0; i < now; ++i) {
      objects.push_back(Bytes::Of(std::move(chunks[i]), 0, outs[i].size()));
    }
    first_token += static_cast<uint32_t>(now);
  }
  return objects;
}

Result<uint32_t> Codec::Decode(const Bytes& payload, uint32_t first_token, BlockView& block) const {
  const Decoded decoded = DecodeSeveral(std::span(&payload, 1), first_token, block);
  if (decoded.fault) {
    return *decoded.fault;
  }
  return TokensFrom(first_token);
}

Codec::Decoded Codec::DecodeSeveral(std::span<const Bytes> payloads, uint32_t first_token,
                                    BlockView& block) const {
  std::vector<std::span<const std::byte>> spans;
  std::vector<std::unique_ptr<std::byte[]>> copies;  // Of those that came in pieces.
  spans.reserve(payloads.size());
  std::optional<Error> fault;
  for (const Bytes& payload : payloads) {
    if (payload.size() > ObjectBytesMax(format_.run_tokens)) {
      fault.emplace(ErrorCode::kMismatch, "The object is larger than any of this shape and rung.");
      break;
    }
    if (payload.piece_count() == 1) {
      spans.push_back(payload.piece(0));
      continue;
    }
    copies.push_back(std::make_unique_for_overwrite<std::byte[]>(payload.size()));
    spans.emplace_back(copies.back().get(), payload.size());
    payload.CopyTo({copies.back().get(), payload.size()});
  }
  Decoded decoded = DecodeSeveral(spans, first_token, block);
  if (!decoded.fault) {
    decoded.fault = fault;
  }
  return decoded;
}

Result<Codec::Body<const std::byte>> Codec::Open(std::span<const std::byte> payload,
                                                 uint32_t first_token) const {
  KVCAST_CHECK(first_token < format_.block_tokens);
  KVCAST_TRY(const CodedObject object, CodedObject::Open(format_sum_, payload));
  if (object.rung != format_.rung) {
    return Error(ErrorCode::kMismatch, "The object is of another rung than its track.").At(1);
  }
  if (first_token % format_.run_tokens != 0 || object.tokens != TokensFrom(first_token)) {
    return Error(ErrorCode::kMismatch, "An object that begins with token " +
                                           std::to_string(first_token) + " does not hold " +
                                           std::to_string(object.tokens) + ".")
        .At(2);
  }
  return Body<const std::byte>{first_token, object.tokens, object.body};
}

Result<uint32_t> Codec::Decode(std::span<const std::byte> payload, uint32_t first_token,
                               BlockView& block) const {
  const Decoded decoded = DecodeSeveral({&payload, 1}, first_token, block);
  if (decoded.fault) {
    return *decoded.fault;
  }
  return TokensFrom(first_token);
}

Codec::Decoded Codec::DecodeSeveral(std::span<const std::span<const std::byte>> payloads,
                                    uint32_t first_token, BlockView& block) const {
  KVCAST_CHECK(block.shape() == shape_ && block.value_bytes() == kPageValueBytes);
  Decoded decoded;
  std::array<Body<const std::byte>, kTogetherMax> bodies;
  while (decoded.objects < payloads.size() && !decoded.fault) {
    const auto next = payloads.subspan(decoded.objects);
    size_t count = 0;
    for (; count < std::min(Together(), next.size()); ++count) {
      const Result<Body<const std::byte>> body = Open(next[count], first_token);
      if (!body.ok()) {
        decoded.fault = body.error();
        break;
      }
      bodies[count] = *body;
      first_token += body->tokens;
    }
    const Decoded part = DecodeBodies(std::span(bodies).first(count), block);
    decoded.objects += part.objects;
    if (part.fault) {
      decoded.fault = part.fault;
    }
  }
  FinishWrites();
  return decoded;
}

Codec::Decoded Codec::DecodeBodies(std::span<const Body<const std::byte>> bodies,
                                   BlockView& block) const {
  Decoded decoded;
  for (const Body<const std::byte>& body : bodies) {
    const Result<void> written = DecodeBody(body.bytes, body.first_token, body.tokens, block);
    if (!written.ok()) {
      decoded.fault = written.error();
      break;
    }
    ++decoded.objects;
  }
  return decoded;
}

}  // namespace kvcast
