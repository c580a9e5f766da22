#include "kvcast/codec/coded_object.h"

#include <string>

#include "kvcast/base/check.h"
#include "kvcast/base/check_sum.h"

namespace kvcast {
namespace {

constexpr size_t kCheckAt = 4;

uint32_t SumOf(uint32_t format_sum, std::span<const std::byte> object) {
  return Crc32c(object.subspan(CodedObject::kHeaderBytes),
                Crc32c(object.first(kCheckAt), format_sum));
}

}  // namespace

void CodedObject::Seal(Rung rung, uint32_t tokens, uint32_t format_sum,
                       std::span<std::byte> object) {
  KVCAST_CHECK(object.size() >= kHeaderBytes && tokens > 0 && tokens <= 0xffff);
  object[0] = std::byte{kVersion};
  object[1] = static_cast<std::byte>(rung);
  object[2] = static_cast<std::byte>(tokens);
  object[3] = static_cast<std::byte>(tokens >> 8);
  const uint32_t sum = SumOf(format_sum, object);
  for (size_t i = 0; i < sizeof(sum); ++i) {
    object[kCheckAt + i] = static_cast<std::byte>(sum >> (8 * i));
  }
}

Result<CodedObject> CodedObject::Open(uint32_t format_sum, std::span<const std::byte> payload) {
  if (payload.size() < kHeaderBytes) {
    return Error(ErrorCode::kMismatch, "An object begins with a header of " +
                                           std::to_string(kHeaderBytes) + " bytes; this one has " +
                                           std::to_string(payload.size()) + ".");
  }
  if (payload[0] != std::byte{kVersion}) {
    return Error(ErrorCode::kMismatch, "The object was written by another version.").At(0);
  }
  uint32_t said = 0;
  for (size_t i = 0; i < sizeof(said); ++i) {
    said |= static_cast<uint32_t>(payload[kCheckAt + i]) << (8 * i);
  }
  if (said != SumOf(format_sum, payload)) {
    return Error(ErrorCode::kMismatch,
                 "The object is damaged, or was made for another shape, rung or calibration: its "
                 "check does not match.")
        .At(kCheckAt);
  }
  CodedObject object;
  const auto rung = static_cast<size_t>(payload[1]);
  object.tokens = static_cast<uint16_t>(static_cast<uint32_t>(payload[2]) |
                                        static_cast<uint32_t>(payload[3]) << 8);
  if (rung >= AllRungs().size() || object.tokens == 0) {
    return Error(ErrorCode::kMismatch, "The object holds no tokens of a known rung.").At(1);
  }
  object.rung = static_cast<Rung>(rung);
  object.body = payload.subspan(kHeaderBytes);
  return object;
}

}  // namespace kvcast
