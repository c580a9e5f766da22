#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace kvcast {

// One compression of a cache, one track. The first seven are the draft's, spelt as it spells them.
enum class Rung : uint8_t {
  kFp16,
  kBf16,
  kFp8,
  kInt8,
  kFp4,
  kInt4,
  kAc,
  kBf16Lossless,
  kFp16Lossless,
  kKtcCoarse,
  kKtcMedium,
  kKtcFine,
};

std::string_view ToString(Rung rung);
// By its exact name; absent for a rung this version does not know, which is no error: another
// publisher may be newer.
std::optional<Rung> RungOf(std::string_view name);
std::span<const Rung> AllRungs();
// All of them, the truest first: by what they change of a model's answers, measured on a real one
// (docs/reference/codecs.md); of equals the smaller first.
std::span<const Rung> RungsByQuality();
// Whether one stands before the other there.
bool IsTruer(Rung one, Rung other);

}  // namespace kvcast
