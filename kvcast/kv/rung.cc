#include "kvcast/kv/rung.h"

#include <algorithm>

namespace kvcast {
namespace {

constexpr Rung kRungs[] = {Rung::kFp16,      Rung::kBf16,         Rung::kFp8,
                           Rung::kInt8,      Rung::kFp4,          Rung::kInt4,
                           Rung::kAc,        Rung::kBf16Lossless, Rung::kFp16Lossless,
                           Rung::kKtcCoarse, Rung::kKtcMedium,    Rung::kKtcFine};
constexpr std::string_view kNames[] = {"FP16",          "BF16",       "FP8",        "Int8",
                                       "FP4",           "Int4",       "AC",         "BF16-lossless",
                                       "FP16-lossless", "KTC-coarse", "KTC-medium", "KTC-fine"};

constexpr Rung kByQuality[] = {Rung::kBf16Lossless, Rung::kFp16Lossless, Rung::kBf16,
                               Rung::kFp16,         Rung::kInt8,         Rung::kKtcFine,
                               Rung::kFp8,          Rung::kAc,           Rung::kKtcMedium,
                               Rung::kInt4,         Rung::kFp4,          Rung::kKtcCoarse};

}  // namespace

std::string_view ToString(Rung rung) { return kNames[static_cast<size_t>(rung)]; }

std::optional<Rung> RungOf(std::string_view name) {
  for (const Rung rung : kRungs) {
    if (ToString(rung) == name) {
      return rung;
    }
  }
  return std::nullopt;
}

std::span<const Rung> AllRungs() { return kRungs; }
std::span<const Rung> RungsByQuality() { return kByQuality; }

bool IsTruer(Rung one, Rung other) {
  return std::ranges::find(kByQuality, one) < std::ranges::find(kByQuality, other);
}

}  // namespace kvcast
