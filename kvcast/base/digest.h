#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "kvcast/base/bytes.h"
#include "kvcast/base/result.h"

namespace kvcast {

// 32 bytes that stand for something: a SHA-256 or an HMAC-SHA-256. Never cut short where two
// things must be told apart.
struct Digest {
  static constexpr size_t kBytes = 32;
  std::array<std::byte, kBytes> bytes{};

  friend auto operator<=>(const Digest&, const Digest&) = default;
  std::span<const std::byte, kBytes> span() const { return bytes; }
  std::string ToHex() const;
  // REQUIRES, else malformed: exactly 64 hex digits.
  static Result<Digest> FromHex(std::string_view text);
};

// SHA-256 in one call, or piece by piece.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  static Digest Of(std::span<const std::byte> bytes);
  static Digest Of(std::string_view text) { return Of(AsBytes(text)); }
  static Digest Of(const Bytes& bytes);

  void Update(std::span<const std::byte> bytes);
  void Update(std::string_view text) { Update(AsBytes(text)); }
  // The digest of all updates since the last Finish().
  Digest Finish();

 private:
  void* handle_;
};

// HMAC-SHA-256 under one key. Setting the key costs two compressions and an allocation, so keep
// one of these for as long as the key is used.
class HmacSha256 {
 public:
  explicit HmacSha256(std::span<const std::byte> key);
  ~HmacSha256();
  HmacSha256(HmacSha256&& other) noexcept;
  HmacSha256(const HmacSha256&) = delete;
  HmacSha256& operator=(const HmacSha256&) = delete;

  // The tag of one message. Fastest when the message is one span.
  Digest Of(std::span<const std::byte> message);

 private:
  void* handle_;
};

}  // namespace kvcast
