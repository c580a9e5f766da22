#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "kvcast/base/bytes.h"
#include "kvcast/base/result.h"

namespace kvcast {

// Reads values one after another and never past the end: too few bytes are a malformed input, at
// the offset where the value should have begun. A failed read consumes nothing.
//
// Reads from one span or from a chain of chunks, whatever the values' places in it. What it reads
// from must outlive it.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> span) : current_(span), size_(span.size()) {}
  explicit ByteReader(const Bytes& bytes);

  uint64_t offset() const { return offset_; }
  size_t remaining() const { return size_ - offset_; }
  bool done() const { return remaining() == 0; }

  Result<uint8_t> U8();
  Result<uint16_t> U16Be();
  Result<uint16_t> U16Le();
  Result<uint32_t> U32Le();
  Result<uint64_t> U64Le();
  Result<uint64_t> Vi64();

  // Fills `out`.
  Result<void> Read(std::span<std::byte> out);
  // The next `length` bytes as text. Copies, and only once they are known to be there.
  Result<std::string> Text(size_t length);
  // The next `length` bytes; shares the chunks it reads from. REQUIRES: made from Bytes.
  Result<Bytes> Take(size_t length);
  Result<void> Skip(size_t length);

  // A malformed input at the place where the reader stands.
  Error Malformed(std::string message) const;

 private:
  Result<void> Need(size_t length) const;
  template <typename T>
  Result<T> LittleEndian();
  void Advance(size_t length);
  void CopyOut(std::span<std::byte> out);

  const Bytes* bytes_ = nullptr;
  size_t next_piece_ = 0;
  std::span<const std::byte> current_;
  size_t size_;
  size_t offset_ = 0;
};

}  // namespace kvcast
