#include "kvcast/base/byte_writer.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "kvcast/base/vi64.h"

namespace kvcast {
namespace {

// Chunks begin small and grow towards a payload's.
constexpr size_t kFirstChunkBytes = 512;

}  // namespace

void ByteWriter::U16Be(uint16_t value) {
  U8(static_cast<uint8_t>(value >> 8));
  U8(static_cast<uint8_t>(value));
}

void ByteWriter::Vi64(uint64_t value) {
  std::array<std::byte, kVi64BytesMax> bytes{};
  const size_t size = WriteVi64(value, bytes);
  Write(std::span(bytes).first(size));
}

void ByteWriter::LittleEndian(uint64_t value, size_t bytes) {
  std::array<std::byte, 8> little{};
  for (size_t i = 0; i < bytes; ++i) {
    little[i] = static_cast<std::byte>(value >> (8 * i));
  }
  Write(std::span(little).first(bytes));
}

void ByteWriter::Write(std::span<const std::byte> bytes) {
  if (!chunk_ && bytes.size() <= kStageBytes - staged_) {
    std::ranges::copy(bytes, stage_.begin() + static_cast<ptrdiff_t>(staged_));
    staged_ += bytes.size();
    return;
  }
  while (!bytes.empty()) {
    if (!chunk_ || start_ + used_ == chunk_.capacity()) {
      CloseChunk();
      chunk_ = ChunkRef::OnHeap(
          std::clamp(std::max(size(), bytes.size()), kFirstChunkBytes, kChunkBytesMax));
      start_ = 0;
    }
    const size_t taken = std::min(bytes.size(), chunk_.capacity() - start_ - used_);
    std::memcpy(chunk_.mutable_data() + start_ + used_, bytes.data(), taken);
    used_ += taken;
    bytes = bytes.subspan(taken);
  }
}

void ByteWriter::Share(const Bytes& bytes) {
  CloseChunk();
  done_.Append(bytes);
}

// What follows may still use the rest of the chunk: readers never see beyond their slice.
void ByteWriter::CloseChunk() {
  done_.Append(Bytes::Copy(std::span(stage_).first(std::exchange(staged_, 0))));
  done_.Append(Bytes::Of(chunk_, start_, used_));
  start_ += used_;
  used_ = 0;
}

Bytes ByteWriter::Take() {
  CloseChunk();
  chunk_ = ChunkRef();
  start_ = 0;
  return std::exchange(done_, Bytes());
}

}  // namespace kvcast
