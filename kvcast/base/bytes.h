#pragma once

#include <atomic>
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
// to matter. A copy shares the list of pieces too, so that it costs the same for two megabytes as
// for two chunks. Any thread may read; a Bytes object itself belongs to one.
class Bytes {
 public:
  Bytes() = default;
  Bytes(const Bytes&) = default;
  // What was moved from is empty.
  Bytes(Bytes&& other) noexcept
      : only_(std::move(other.only_)),
        several_(std::move(other.several_)),
        size_(std::exchange(other.size_, 0)) {}
  Bytes& operator=(Bytes other) noexcept {
    std::swap(only_, other.only_);
    several_.swap(other.several_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Bytes() = default;

  // Copies, into chunks from the heap.
  static Bytes Of(std::string_view text) { return Copy(AsBytes(text)); }
  static Bytes Copy(std::span<const std::byte> bytes);
  // Copies, into chunks of a pool, a small rest perhaps to the heap; absent if the pool's bytes are
  // spent.
  static std::optional<Bytes> Copy(std::span<const std::byte> bytes, ChunkPool& pool);
  // Refers to `length` bytes of a chunk. REQUIRES: they lie within it and are written for good.
  static Bytes Of(ChunkRef chunk, size_t offset, size_t length);

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // The bytes [offset, offset + length). REQUIRES: they exist.
  Bytes Slice(size_t offset, size_t length) const;
  void Append(const Bytes& other);

  // The pieces in order; none is empty.
  size_t piece_count() const {
    return several_.size() > 0 ? several_.size() : (size_ == 0 ? 0 : 1);
  }
  // What it keeps from being freed: its chunks whole, however little of them it shows, each once if
  // its pieces follow each other, and the list of pieces.
  size_t memory_bytes() const;
  std::span<const std::byte> piece(size_t index) const;

  // REQUIRES: out.size() == size().
  void CopyTo(std::span<std::byte> out) const;
  std::string ToString() const;

  // By content, however it is cut into pieces.
  friend bool operator==(const Bytes& a, const Bytes& b);

 private:
  // `allocate` gives a chunk of at least the bytes it is asked for, or of fewer, which it says; or
  // an empty ref.
  template <typename Allocate>
  static std::optional<Bytes> CopyInto(std::span<const std::byte> bytes, Allocate allocate);
  struct Piece {
    ChunkRef chunk;
    uint32_t offset = 0;
    uint32_t length = 0;
  };
  // Pieces that several owners share; whoever appends to them gets a list of its own first.
  class Several {
   public:
    Several() = default;
    Several(const Several& other);
    Several(Several&& other) noexcept : list_(std::exchange(other.list_, nullptr)) {}
    Several& operator=(Several other) noexcept {
      swap(other);
      return *this;
    }
    ~Several() { Release(); }

    void swap(Several& other) noexcept { std::swap(list_, other.list_); }
    size_t size() const { return list_ == nullptr ? 0 : list_->pieces.size(); }
    const Piece& operator[](size_t index) const { return list_->pieces[index]; }
    void Append(const Piece& piece);
    size_t memory_bytes() const;

   private:
    struct List {
      std::atomic<uint32_t> owners{1};
      std::vector<Piece> pieces;
    };
    void Release();

    List* list_ = nullptr;
  };
  const Piece& PieceAt(size_t index) const { return several_.size() > 0 ? several_[index] : only_; }
  void AppendPiece(const Piece& piece);

  // One piece costs no allocation. Of several none is here, so that a copy counts one owner more in
  // one place: each place is a wait for memory.
  Piece only_;
  Several several_;
  size_t size_ = 0;
};

}  // namespace kvcast
