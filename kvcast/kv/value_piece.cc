#include "kvcast/kv/value_piece.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "kvcast/base/check.h"
#include "kvcast/base/check_sum.h"
#include "kvcast/base/chunk.h"

namespace kvcast {
namespace {

constexpr size_t kCheckAt = 4;
constexpr size_t kLengthAt = 8;
constexpr size_t kOffsetAt = 16;

using Header = std::array<std::byte, ValuePiece::kHeaderBytes>;

void Put(uint64_t value, size_t bytes, std::byte* to) {
  for (size_t i = 0; i < bytes; ++i) {
    to[i] = static_cast<std::byte>(value >> (8 * i));
  }
}

uint64_t Get(std::span<const std::byte> from, size_t bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) {
    value |= static_cast<uint64_t>(from[i]) << (8 * i);
  }
  return value;
}

// Of all that stands before the body.
uint32_t HeaderSum(const BlockHash& name, std::span<const std::byte> header) {
  return Crc32c(header.subspan(kLengthAt, ValuePiece::kHeaderBytes - kLengthAt),
                Crc32c(header.first(kCheckAt), Crc32c(name.span())));
}

Error Wrong(const char* message) { return Error(ErrorCode::kMismatch, message); }

}  // namespace

uint32_t ValuePiece::CountOf(uint64_t length) {
  KVCAST_CHECK(length > 0 && length <= kValueBytesMax);
  return static_cast<uint32_t>((length + kBodyMax - 1) / kBodyMax);
}

uint64_t ValuePiece::LengthOf(uint64_t object_bytes) {
  constexpr uint64_t kObjectMax = kHeaderBytes + kBodyMax;
  const uint64_t headers = (object_bytes + kObjectMax - 1) / kObjectMax * kHeaderBytes;
  return object_bytes - std::min(object_bytes, headers);
}

Bytes ValuePiece::Make(const BlockHash& name, std::span<const std::byte> value, uint32_t index) {
  KVCAST_CHECK(index < CountOf(value.size()));
  const uint64_t offset = uint64_t{index} * kBodyMax;
  const std::span<const std::byte> body =
      value.subspan(offset, std::min<size_t>(kBodyMax, value.size() - offset));
  const size_t bytes = kHeaderBytes + body.size();
  ChunkRef chunk = ChunkRef::OnHeap(bytes);
  const std::span<std::byte> piece(chunk.mutable_data(), bytes);
  std::ranges::fill(piece.first(kHeaderBytes), std::byte{0});
  Put(kVersion, 1, piece.data());
  Put(value.size(), sizeof(uint64_t), piece.data() + kLengthAt);
  Put(offset, sizeof(uint64_t), piece.data() + kOffsetAt);
  std::ranges::copy(body, piece.data() + kHeaderBytes);
  // Of the copy: the engine's memory might be written to meanwhile, by mistake.
  const uint32_t sum = Crc32c(piece.subspan(kHeaderBytes), HeaderSum(name, piece));
  Put(sum, sizeof(sum), piece.data() + kCheckAt);
  return Bytes::Of(std::move(chunk), 0, bytes);
}

Result<void> ValuePiece::Take(const BlockHash& name, const Bytes& piece, uint32_t index,
                              std::span<std::byte> value) {
  KVCAST_CHECK(index < CountOf(value.size()));
  if (piece.size() <= kHeaderBytes || piece.size() > kHeaderBytes + kBodyMax) {
    return Wrong("A piece of a value has a header, and 1 to 262,120 bytes behind it.");
  }
  Header header;
  piece.Slice(0, kHeaderBytes).CopyTo(header);
  const Bytes body = piece.Slice(kHeaderBytes, piece.size() - kHeaderBytes);
  if (Get(header, 1) != kVersion) {
    return Wrong("The piece was written by another version.");
  }
  if (Get(std::span(header).subspan(kCheckAt), sizeof(uint32_t)) !=
      Crc32c(body, HeaderSum(name, header))) {
    return Wrong("The piece is damaged, or another value's: its check does not match.");
  }
  const uint64_t length = Get(std::span(header).subspan(kLengthAt), sizeof(uint64_t));
  if (length != value.size()) {
    return Error(ErrorCode::kTooLarge, "The value has " + std::to_string(length) +
                                           " bytes, and its place " + std::to_string(value.size()) +
                                           ".");
  }
  const uint64_t offset = uint64_t{index} * kBodyMax;
  if (Get(std::span(header).subspan(kOffsetAt), sizeof(uint64_t)) != offset ||
      body.size() != std::min<uint64_t>(kBodyMax, length - offset)) {
    return Wrong("The piece is not the one that belongs there.");
  }
  body.CopyTo(value.subspan(offset, body.size()));
  return {};
}

}  // namespace kvcast
