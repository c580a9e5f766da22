#include "kvcast/codec/codec.h"

#include <algorithm>
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
  KVCAST_CHECK(block.shape() == shape_ && block.value_bytes() == kPageValueBytes);
  KVCAST_CHECK(pages_ == format_.value_type && first_token % format_.run_tokens == 0);
  const uint32_t tokens = TokensFrom(first_token);
  const size_t bytes_max = ObjectBytesMax(tokens);
  KVCAST_CHECK(out.size() >= bytes_max);
  const std::span<std::byte> body =
      out.subspan(CodedObject::kHeaderBytes, bytes_max - CodedObject::kHeaderBytes);
  const size_t bytes = CodedObject::kHeaderBytes + EncodeBody(block, first_token, tokens, body);
  CodedObject::Seal(format_.rung, tokens, format_sum_, out.first(bytes));
  return bytes;
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
  std::vector<Bytes> objects;
  for (uint32_t token = 0; token < format_.block_tokens; token += format_.run_tokens) {
    objects.push_back(Encode(block, token));
  }
  return objects;
}

Result<uint32_t> Codec::Decode(const Bytes& payload, uint32_t first_token, BlockView& block) const {
  if (payload.piece_count() == 1) {
    return Decode(payload.piece(0), first_token, block);
  }
  if (payload.size() > ObjectBytesMax(format_.run_tokens)) {
    return Error(ErrorCode::kMismatch, "The object is larger than any of this shape and rung.");
  }
  std::vector<std::byte> whole(payload.size());
  payload.CopyTo(whole);
  return Decode(whole, first_token, block);
}

Result<uint32_t> Codec::Decode(std::span<const std::byte> payload, uint32_t first_token,
                               BlockView& block) const {
  KVCAST_CHECK(block.shape() == shape_ && block.value_bytes() == kPageValueBytes);
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
  const Result<void> decoded = DecodeBody(object.body, first_token, object.tokens, block);
  FinishWrites();
  return decoded.ok() ? Result<uint32_t>(uint32_t{object.tokens}) : decoded.error();
}

}  // namespace kvcast
