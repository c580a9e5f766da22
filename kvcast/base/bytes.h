#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kvcast/base/chunk.h"

namespace kvcast {

inline std::span<const std::byte> AsBytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}
inline std::string_view AsText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A run of bytes that never changes: a chain of slices of shared chunks.
//
// Copying, slicing and joining share the chunks and copy no payload. A payload received in pieces,
// kept in a tier and sent to many readers is therefore one copy in memory, with one owner too many
// to matter. Any thread may read; a Bytes object itself belongs to one.
class Bytes {
 public:
  Bytes() = default;
  Bytes(const Bytes&) = default;
  // What was moved from is empty.
  Bytes(Bytes&& other) noexcept
      : first_(std::move(other.first_)),
        rest_(std::move(other.rest_)),
        size_(std::exchange(other.size_, 0)) {}
  Bytes& operator=(Bytes other) noexcept {
    std::swap(first_, other.first_);
    rest_.swap(other.rest_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Bytes() = default;

  // Copies, into chunks from the heap.
  static Bytes Of(std::string_view text) { return Copy(AsBytes(text)); }
  static Bytes Copy(std::span<const std::byte> bytes);
  // Copies, into chunks of a pool; absent if the pool's bytes are spent.
  static std::optional<Bytes> Copy(std::span<const std::byte> bytes, ChunkPool& pool);
  // Refers to `length` bytes of a chunk. REQUIRES: they lie within it and are written for good.
  static Bytes Of(ChunkRef chunk, size_t offset, size_t length);

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // The bytes [offset, offset + length). REQUIRES: they exist.
  Bytes Slice(size_t offset, size_t length) const;
  void Append(const Bytes& other);

  // The pieces in order; none is empty.
  size_t piece_count() const { return size_ == 0 ? 0 : 1 + rest_.size(); }
  std::span<const std::byte> piece(size_t index) const;

  // REQUIRES: out.size() == size().
  void CopyTo(std::span<std::byte> out) const;
  std::string ToString() const;

  // By content, however it is cut into pieces.
  friend bool operator==(const Bytes& a, const Bytes& b);

 private:
  // `allocate` gives a chunk of at least the bytes it is asked for, or an empty ref.
  template <typename Allocate>
  static std::optional<Bytes> CopyInto(std::span<const std::byte> bytes, Allocate allocate);
  struct Piece {
    ChunkRef chunk;
    uint32_t offset = 0;
    uint32_t length = 0;
  };
  const Piece& PieceAt(size_t index) const { return index == 0 ? first_ : rest_[index - 1]; }
  void AppendPiece(const Piece& piece);

  // Most payloads are one piece, which then costs no allocation.
  Piece first_;
  std::vector<Piece> rest_;
  size_t size_ = 0;
};

}  // namespace kvcast
