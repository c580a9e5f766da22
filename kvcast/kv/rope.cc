#include "kvcast/kv/rope.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numbers>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "kvcast/base/byte_reader.h"
#include "kvcast/base/bytes.h"

namespace kvcast {
namespace {

constexpr double kUsualTheta = 10000.0;

// The numbers and texts of an object and of those within it, by their own names: parameters of
// RoPE have no name twice.
struct RopeValues {
  std::map<std::string, double, std::less<>> numbers;
  std::map<std::string, std::string, std::less<>> texts;

  double Number(std::string_view name, double otherwise) const {
    const auto found = numbers.find(name);
    return found == numbers.end() ? otherwise : found->second;
  }
};

// Reads a canonical value, which ModelConfig wrote; false if it is none.
bool ReadCanonical(ByteReader& reader, const std::string& name, int depth, RopeValues& values) {
  constexpr int kDepthMax = 8;
  const Result<uint8_t> kind = reader.U8();
  if (!kind.ok() || depth > kDepthMax) {
    return false;
  }
  const auto number = [&](auto convert) {
    const Result<uint64_t> bits = reader.U64Le();
    if (bits.ok()) {
      values.numbers[name] = convert(*bits);
    }
    return bits.ok();
  };
  const auto text = [&](std::string& out) {
    const Result<uint32_t> length = reader.U32Le();
    Result<std::string> read =
        length.ok() ? reader.Text(*length) : Result<std::string>(std::string());
    if (!length.ok() || !read.ok()) {
      return false;
    }
    out = *std::move(read);
    return true;
  };
  switch (*kind) {
    case 'i':
      return number([](uint64_t bits) { return static_cast<double>(static_cast<int64_t>(bits)); });
    case 'u':
      return number([](uint64_t bits) { return static_cast<double>(bits); });
    case 'd':
      return number([](uint64_t bits) { return std::bit_cast<double>(bits); });
    case 's':
      return text(values.texts[name]);
    case 'a':
    case 'o': {
      const Result<uint32_t> count = reader.U32Le();
      for (uint32_t i = 0; count.ok() && i < *count; ++i) {
        std::string own;
        if ((*kind == 'o' && !text(own)) || !ReadCanonical(reader, own, depth + 1, values)) {
          return false;
        }
      }
      return count.ok();
    }
    default:
      return *kind == 'n' || *kind == 't' || *kind == 'f';
  }
}

// What scaling makes of a pair's angle per token, in radians. `place` is the pair's, of 0 to 1.
double Scaled(const RopeValues& values, std::string_view kind, double angle, double place) {
  const double factor = std::max(values.Number("factor", 1.0), 1e-6);
  if (kind == "linear") {
    return angle / factor;
  }
  const double length = values.Number("original_max_position_embeddings", 8192.0);
  const double turns = length * angle / (2 * std::numbers::pi);  // Over that length.
  if (kind == "llama3") {
    const double low = values.Number("low_freq_factor", 1.0);
    const double high = values.Number("high_freq_factor", 4.0);
    const double share = high > low ? std::clamp((turns - low) / (high - low), 0.0, 1.0) : 1.0;
    return (1 - share) * angle / factor + share * angle;
  }
  if (kind == "yarn") {
    const double theta = values.Number("rope_theta", kUsualTheta);
    const double size = std::log(std::max(theta, 1.0001));
    // The place of the pair that turns so many times over the length.
    const auto place_of = [&](double times) {
      return std::log(length / (times * 2 * std::numbers::pi)) / size;
    };
    const double fast = place_of(values.Number("beta_fast", 32.0));
    const double slow = place_of(values.Number("beta_slow", 1.0));
    const double share = slow > fast ? std::clamp((place - fast) / (slow - fast), 0.0, 1.0) : 0.0;
    return share * angle / factor + (1 - share) * angle;
  }
  return angle;
}

}  // namespace

Rope Rope::Of(const LayerGroup& group) {
  RopeValues values;
  ByteReader reader(AsBytes(group.rope));
  ReadCanonical(reader, "", 0, values);
  std::string kind;
  for (const char* name : {"type", "rope_type"}) {
    if (const auto found = values.texts.find(name); found != values.texts.end()) {
      kind = found->second;
    }
  }
  Rope rope;
  const uint32_t pairs = group.rotary_size / 2;
  const double theta = values.Number("rope_theta", kUsualTheta);
  if (pairs == 0 || !(theta > 0) || group.rotary_size > group.key_size) {
    return rope;
  }
  // A latent's turned part is its last.
  rope.first = group.attention == Attention::kMla ? group.key_size - group.rotary_size : 0;
  for (uint32_t i = 0; i < pairs; ++i) {
    const double place = static_cast<double>(i) / pairs;
    const double angle = Scaled(values, kind, std::pow(theta, -place), place);
    const double turn = std::clamp(angle / (2 * std::numbers::pi), 0.0, 0.5);
    rope.turns.push_back(static_cast<uint64_t>(std::llround(turn * 0x1p48)) << 16);
  }
  return rope;
}

}  // namespace kvcast
