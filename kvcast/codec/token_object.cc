#include "kvcast/codec/token_object.h"

#include <array>
#include <string>

#include "kvcast/base/byte_reader.h"
#include "kvcast/base/check.h"
#include "kvcast/base/check_sum.h"

namespace kvcast {
namespace {

constexpr size_t kCheckedHeaderBytes = 4;

}  // namespace

void TokenObject::Seal(Rung rung, std::span<std::byte> object) {
  KVCAST_CHECK(object.size() >= kHeaderBytes);
  object[0] = std::byte{kVersion};
  object[1] = static_cast<std::byte>(rung);
  object[2] = object[3] = std::byte{0};
  const uint32_t sum =
      Crc32c(object.subspan(kHeaderBytes), Crc32c(object.first(kCheckedHeaderBytes)));
  for (size_t i = 0; i < sizeof(sum); ++i) {
    object[kCheckedHeaderBytes + i] = static_cast<std::byte>(sum >> (8 * i));
  }
}

Result<Bytes> TokenObject::Open(Rung rung, size_t value_bytes, const Bytes& payload) {
  if (payload.size() != kHeaderBytes + value_bytes) {
    return Error(ErrorCode::kMismatch,
                 "A token of this shape has " + std::to_string(kHeaderBytes + value_bytes) +
                     " bytes; this object has " + std::to_string(payload.size()) + ".");
  }
  std::array<std::byte, kHeaderBytes> header{};
  payload.Slice(0, kHeaderBytes).CopyTo(header);
  if (header[0] != std::byte{kVersion} || header[1] != static_cast<std::byte>(rung) ||
      header[2] != std::byte{0} || header[3] != std::byte{0}) {
    return Error(ErrorCode::kMismatch,
                 "The object was written by another version or at another "
                 "rung than its track says.")
        .At(0);
  }
  Bytes values = payload.Slice(kHeaderBytes, value_bytes);
  uint32_t sum = Crc32c(std::span(header).first(kCheckedHeaderBytes));
  for (size_t i = 0; i < values.piece_count(); ++i) {
    sum = Crc32c(values.piece(i), sum);
  }
  ByteReader reader(std::span<const std::byte>(header).subspan(kCheckedHeaderBytes));
  KVCAST_TRY(const uint32_t said, reader.U32Le());
  if (said != sum) {
    return Error(ErrorCode::kMismatch, "The object is damaged: its check does not match.")
        .At(kCheckedHeaderBytes);
  }
  return values;
}

}  // namespace kvcast
