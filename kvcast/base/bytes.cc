#include "kvcast/base/bytes.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "kvcast/base/check.h"

namespace kvcast {

Bytes::Several::Several(const Several& other) : list_(other.list_) {
  if (list_ != nullptr) {
    list_->owners.fetch_add(1, std::memory_order_relaxed);
  }
}

void Bytes::Several::Release() {
  List* const list = std::exchange(list_, nullptr);
  if (list != nullptr && list->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    delete list;
  }
}

void Bytes::Several::Append(const Piece& piece) {
  // Nobody but the only owner could make a second one.
  if (list_ == nullptr || list_->owners.load(std::memory_order_acquire) > 1) {
    List* const own = new List;
    if (list_ != nullptr) {
      own->pieces = list_->pieces;
    }
    Release();
    list_ = own;
  }
  list_->pieces.push_back(piece);
}

size_t Bytes::Several::memory_bytes() const {
  return list_ == nullptr ? 0 : sizeof(List) + list_->pieces.capacity() * sizeof(Piece);
}

namespace {

constexpr size_t kSmallRest = 16 * 1024;

// A pool's chunks come in powers of two: of 160 KB in one of them a third would stay empty for as
// long as somebody keeps it. Of a small rest that is little, and further pieces cost more.
size_t WithoutWaste(size_t length) {
  const bool wasteful = length > kSmallRest && std::bit_ceil(length) - length > length / 8;
  return wasteful ? std::bit_floor(length) : length;
}

}  // namespace

template <typename Allocate>
std::optional<Bytes> Bytes::CopyInto(std::span<const std::byte> bytes, Allocate allocate) {
  Bytes copy;
  while (!bytes.empty()) {
    size_t length = std::min(bytes.size(), kChunkBytesMax);
    ChunkRef chunk = allocate(length);
    if (!chunk) {
      return std::nullopt;
    }
    std::memcpy(chunk.mutable_data(), bytes.data(), length);
    copy.AppendPiece({std::move(chunk), 0, static_cast<uint32_t>(length)});
    bytes = bytes.subspan(length);
  }
  return copy;
}

Bytes Bytes::Copy(std::span<const std::byte> bytes) {
  return *CopyInto(bytes, [](size_t& length) { return ChunkRef::OnHeap(length); });
}

std::optional<Bytes> Bytes::Copy(std::span<const std::byte> bytes, ChunkPool& pool) {
  bool began = false;
  return CopyInto(bytes, [&](size_t& length) {
    length = WithoutWaste(length);
    ChunkRef chunk = pool.Allocate(length);
    // Memory that was set aside is not cut as small as a rest may be.
    if (!chunk && began && length <= kSmallRest) {
      chunk = ChunkRef::OnHeap(length);
    }
    began = true;
    return chunk;
  });
}

Bytes Bytes::Of(ChunkRef chunk, size_t offset, size_t length) {
  Bytes bytes;
  if (length > 0) {
    KVCAST_CHECK(offset <= chunk.capacity() && length <= chunk.capacity() - offset);
    bytes.AppendPiece(
        {std::move(chunk), static_cast<uint32_t>(offset), static_cast<uint32_t>(length)});
  }
  return bytes;
}

void Bytes::AppendPiece(const Piece& piece) {
  if (size_ == 0) {
    only_ = piece;
  } else {
    if (several_.size() == 0) {
      several_.Append(std::exchange(only_, Piece()));
    }
    several_.Append(piece);
  }
  size_ += piece.length;
}

Bytes Bytes::Slice(size_t offset, size_t length) const {
  KVCAST_CHECK(offset <= size_ && length <= size_ - offset);
  Bytes slice;
  for (size_t i = 0; length > 0; ++i) {
    const Piece& piece = PieceAt(i);
    if (offset >= piece.length) {
      offset -= piece.length;
      continue;
    }
    const size_t taken = std::min(length, piece.length - offset);
    slice.AppendPiece(
        {piece.chunk, static_cast<uint32_t>(piece.offset + offset), static_cast<uint32_t>(taken)});
    length -= taken;
    offset = 0;
  }
  return slice;
}

void Bytes::Append(const Bytes& other) {
  // The count is taken first: `other` may be this.
  const size_t count = other.piece_count();
  for (size_t i = 0; i < count; ++i) {
    AppendPiece(Piece(other.PieceAt(i)));
  }
}

std::span<const std::byte> Bytes::piece(size_t index) const {
  const Piece& piece = PieceAt(index);
  return {piece.chunk.data() + piece.offset, piece.length};
}

size_t Bytes::memory_bytes() const {
  size_t bytes = several_.memory_bytes();
  for (size_t i = 0; i < piece_count(); ++i) {
    const ChunkRef& chunk = PieceAt(i).chunk;
    bytes += i > 0 && PieceAt(i - 1).chunk.SameAs(chunk) ? 0 : chunk.memory_bytes();
  }
  return bytes;
}

void Bytes::CopyTo(std::span<std::byte> out) const {
  KVCAST_CHECK(out.size() == size_);
  for (size_t i = 0; i < piece_count(); ++i) {
    const std::span<const std::byte> from = piece(i);
    std::memcpy(out.data(), from.data(), from.size());
    out = out.subspan(from.size());
  }
}

std::string Bytes::ToString() const {
  std::string text(size_, '\0');
  CopyTo(std::as_writable_bytes(std::span(text)));
  return text;
}

bool operator==(const Bytes& a, const Bytes& b) {
  if (a.size() != b.size()) {
    return false;
  }
  size_t i = 0;
  size_t j = 0;
  std::span<const std::byte> left;
  std::span<const std::byte> right;
  for (size_t compared = 0; compared < a.size();) {
    if (left.empty()) {
      left = a.piece(i++);
    }
    if (right.empty()) {
      right = b.piece(j++);
    }
    const size_t length = std::min(left.size(), right.size());
    if (std::memcmp(left.data(), right.data(), length) != 0) {
      return false;
    }
    left = left.subspan(length);
    right = right.subspan(length);
    compared += length;
  }
  return true;
}

}  // namespace kvcast
