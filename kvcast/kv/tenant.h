#pragma once

#include <compare>
#include <span>
#include <string>
#include <string_view>

#include "kvcast/base/digest.h"
#include "kvcast/base/result.h"

namespace kvcast {

// Whom a cache belongs to: 1 to 64 of [a-z0-9-]. Compared exactly, never by prefix.
class Tenant {
 public:
  static Result<Tenant> Of(std::string_view name);
  // The explicit shared scope.
  static Tenant Public() { return Tenant("public"); }

  const std::string& name() const { return name_; }
  friend auto operator<=>(const Tenant&, const Tenant&) = default;

 private:
  explicit Tenant(std::string name) : name_(std::move(name)) {}
  std::string name_;
};

// The 32 bytes that a tenant's names are keyed with, so that nobody else can guess or link them.
// A secret, except for the public tenant's: never log one.
class NamingKey {
 public:
  // REQUIRES, else invalid: 32 bytes.
  static Result<NamingKey> Of(std::span<const std::byte> bytes);
  // Known to all, and for the public tenant only.
  static NamingKey Public();

  std::span<const std::byte> bytes() const { return bytes_.bytes; }

 private:
  explicit NamingKey(const Digest& bytes) : bytes_(bytes) {}
  Digest bytes_;
};

}  // namespace kvcast
