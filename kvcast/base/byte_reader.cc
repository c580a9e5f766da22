#include "kvcast/base/byte_reader.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "kvcast/base/vi64.h"

namespace kvcast {

ByteReader::ByteReader(const Bytes& bytes) : bytes_(&bytes), size_(bytes.size()) {
  if (!bytes.empty()) {
    current_ = bytes.piece(next_piece_++);
  }
}

Error ByteReader::Malformed(std::string message) const {
  return Error(ErrorCode::kMalformed, std::move(message)).At(offset_);
}

Result<void> ByteReader::Need(size_t length) const {
  if (length > remaining()) {
    return Malformed("The input ends here; " + std::to_string(length) +
                     " bytes were expected and " + std::to_string(remaining()) + " are left.");
  }
  return {};
}

void ByteReader::Advance(size_t length) {
  offset_ += length;
  while (length > 0) {
    const size_t taken = std::min(length, current_.size());
    current_ = current_.subspan(taken);
    length -= taken;
    if (current_.empty() && bytes_ != nullptr && next_piece_ < bytes_->piece_count()) {
      current_ = bytes_->piece(next_piece_++);
    }
  }
}

void ByteReader::CopyOut(std::span<std::byte> out) {
  while (!out.empty()) {
    const size_t taken = std::min(out.size(), current_.size());
    std::memcpy(out.data(), current_.data(), taken);
    out = out.subspan(taken);
    Advance(taken);
  }
}

Result<void> ByteReader::Read(std::span<std::byte> out) {
  KVCAST_TRY_VOID(Need(out.size()));
  CopyOut(out);
  return {};
}

template <typename T>
Result<T> ByteReader::LittleEndian() {
  std::array<std::byte, sizeof(T)> bytes{};
  KVCAST_TRY_VOID(Read(bytes));
  T value = 0;
  for (size_t i = sizeof(T); i-- > 0;) {
    value = static_cast<T>(static_cast<uint64_t>(value) << 8 | std::to_integer<T>(bytes[i]));
  }
  return value;
}

Result<uint8_t> ByteReader::U8() { return LittleEndian<uint8_t>(); }
Result<uint16_t> ByteReader::U16Le() { return LittleEndian<uint16_t>(); }
Result<uint32_t> ByteReader::U32Le() { return LittleEndian<uint32_t>(); }
Result<uint64_t> ByteReader::U64Le() { return LittleEndian<uint64_t>(); }

Result<uint16_t> ByteReader::U16Be() {
  KVCAST_TRY(const uint16_t value, U16Le());
  return static_cast<uint16_t>(value >> 8 | value << 8);
}

Result<uint64_t> ByteReader::Vi64() {
  KVCAST_TRY_VOID(Need(1));
  std::array<std::byte, kVi64BytesMax> bytes{};
  const size_t size = Vi64SizeFrom(current_[0]);
  KVCAST_TRY_VOID(Read(std::span(bytes).first(size)));
  return ReadVi64(bytes);
}

Result<std::string> ByteReader::Text(size_t length) {
  KVCAST_TRY_VOID(Need(length));
  std::string text(length, '\0');
  CopyOut(std::as_writable_bytes(std::span(text)));
  return text;
}

Result<Bytes> ByteReader::Take(size_t length) {
  KVCAST_CHECK(bytes_ != nullptr || size_ == 0);
  KVCAST_TRY_VOID(Need(length));
  const size_t from = offset_;
  Advance(length);
  return length == 0 ? Bytes() : bytes_->Slice(from, length);
}

Result<void> ByteReader::Skip(size_t length) {
  KVCAST_TRY_VOID(Need(length));
  Advance(length);
  return {};
}

}  // namespace kvcast
