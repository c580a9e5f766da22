#include "kvcast/codec/lossless_codec.h"

#include <algorithm>
#include <cstring>

#include "kvcast/base/check.h"

namespace kvcast {
namespace {

constexpr size_t kCountBytes = sizeof(uint32_t);
constexpr size_t kStatesBytes = kRansStates * sizeof(uint32_t);
constexpr size_t kBitPlanes = 3;

uint16_t WordAt(const std::byte* from, size_t index) {
  return static_cast<uint16_t>(static_cast<uint32_t>(from[2 * index]) |
                               static_cast<uint32_t>(from[2 * index + 1]) << 8);
}
uint32_t NumberAt(const std::byte* from) {
  return WordAt(from, 0) | static_cast<uint32_t>(WordAt(from, 1)) << 16;
}
void PutNumber(std::byte* to, uint32_t number) {
  for (size_t i = 0; i < sizeof(number); ++i) {
    to[i] = static_cast<std::byte>(number >> (8 * i));
  }
}

// Bit planes: sign, and the mantissa's two highest bits, of halves.
struct HalfPlanes {
  static uint32_t BitsOf(uint16_t half) {
    return (half >> 15 & 1U) | (half >> 9 & 1U) << 1 | (half >> 8 & 1U) << 2;
  }
  static uint16_t HalfBits(uint32_t bits) {
    return static_cast<uint16_t>((bits & 1U) << 15 | (bits >> 1 & 1U) << 9 | (bits >> 2 & 1U) << 8);
  }
};

// Values `at` to `at` + `count` of a run of `values`.
void JoinHalves(const uint8_t* exponents, const std::byte* low, std::span<const std::byte> planes,
                size_t values, size_t at, uint32_t count, std::byte* to) {
  const size_t plane_bytes = (values + 7) / 8;
  for (uint32_t i = 0; i < count; ++i) {
    const size_t value = at + i;
    uint32_t bits = 0;
    for (size_t plane = 0; plane < kBitPlanes; ++plane) {
      const auto byte = static_cast<uint32_t>(planes[plane * plane_bytes + value / 8]);
      bits |= (byte >> (value % 8) & 1U) << plane;
    }
    // A damaged exponent must not reach the sign.
    const uint32_t half =
        HalfPlanes::HalfBits(bits) | (exponents[i] & 31U) << 10 | static_cast<uint32_t>(low[value]);
    to[2 * i] = static_cast<std::byte>(half);
    to[2 * i + 1] = static_cast<std::byte>(half >> 8);
  }
}

}  // namespace

// Where a body's parts lie.
struct LosslessCodec::Parts {
  std::span<const std::byte> low;
  std::span<const std::byte> planes;
  std::span<const std::byte> others;
  std::span<const std::byte> states;
  std::span<const std::byte> words;
};

LosslessCodec::LosslessCodec(const TrackFormat& format, HalfType pages, const Kernels& kernels)
    : Codec(format, pages), kernels_(&kernels) {
  size_t table = 0;
  for (uint32_t layer = 0; layer < format.layers.size(); ++layer) {
    for (const Plane plane : {Plane::kKey, Plane::kValue}) {
      const LayerShape& layer_shape = format.layers[layer];
      if (layer_shape.size(plane) > 0) {
        units_.push_back({layer, plane, layer_shape.kv_heads, layer_shape.size(plane),
                          RansTable(format.tables[table++])});
      }
    }
  }
}

size_t LosslessCodec::PlaneBytes(size_t values) const {
  return pages() == HalfType::kFp16 ? kBitPlanes * ((values + 7) / 8) : 0;
}

size_t LosslessCodec::BodyBytesMax(uint32_t tokens) const {
  const size_t values = tokens * shape().values_per_token();
  // Each value its lower byte, an exponent written out and a word.
  return kCountBytes + 4 * values + PlaneBytes(values) + kStatesBytes;
}

size_t LosslessCodec::EncodeBody(const BlockView& block, uint32_t first_token, uint32_t tokens,
                                 std::span<std::byte> body) const {
  const size_t values = tokens * shape().values_per_token();
  const bool halves = pages() == HalfType::kFp16;
  std::byte* const low = body.data() + kCountBytes;
  std::byte* const planes = low + values;
  std::memset(planes, 0, PlaneBytes(values));
  std::vector<uint8_t> exponents(values);
  std::vector<std::byte> others;
  size_t at = 0;
  for (const Unit& unit : units_) {
    for (uint32_t token = first_token; token < first_token + tokens; ++token) {
      for (uint32_t row = 0; row < unit.rows; ++row) {
        const std::byte* const from = block.Row(token, unit.layer, unit.plane, row).data();
        for (uint32_t i = 0; i < unit.size; ++i, ++at) {
          const uint16_t bits = WordAt(from, i);
          exponents[at] = static_cast<uint8_t>(halves ? bits >> 10 & 31U : bits >> 7 & 255U);
          low[at] =
              static_cast<std::byte>(halves ? bits & 255U : (bits >> 8 & 128U) | (bits & 127U));
          if (unit.table.symbol_of_exponent[exponents[at]] == kOtherSymbol) {
            others.push_back(static_cast<std::byte>(exponents[at]));
          }
          const uint32_t plane_bits = halves ? HalfPlanes::BitsOf(bits) : 0;
          for (size_t plane = 0; halves && plane < kBitPlanes; ++plane) {
            planes[plane * ((values + 7) / 8) + at / 8] |=
                static_cast<std::byte>((plane_bits >> plane & 1U) << (at % 8));
          }
        }
      }
    }
  }
  RansWriter writer;
  for (size_t unit = units_.size(); unit-- > 0;) {
    const size_t size = size_t{units_[unit].rows} * units_[unit].size;
    for (uint32_t token = 0; token < tokens; ++token) {
      at -= size;
      writer.WriteUnit(units_[unit].table, std::span(exponents).subspan(at, size));
    }
  }
  PutNumber(body.data(), static_cast<uint32_t>(others.size()));
  std::byte* out = std::ranges::copy(others, planes + PlaneBytes(values)).out;
  for (const uint32_t state : writer.states()) {
    PutNumber(out, state);
    out += sizeof(state);
  }
  for (size_t i = writer.words().size(); i-- > 0;) {
    *out++ = static_cast<std::byte>(writer.words()[i]);
    *out++ = static_cast<std::byte>(writer.words()[i] >> 8);
  }
  return static_cast<size_t>(out - body.data());
}

Result<LosslessCodec::Parts> LosslessCodec::PartsOf(std::span<const std::byte> body,
                                                    size_t values) const {
  const size_t fixed = kCountBytes + values + PlaneBytes(values) + kStatesBytes;
  if (body.size() < fixed || body.size() > fixed + 3 * values) {
    return Error(ErrorCode::kMismatch, "The object has not as many bytes as its tokens can take.");
  }
  const uint32_t others = NumberAt(body.data());
  if (others > body.size() - fixed || (body.size() - fixed - others) % sizeof(uint16_t) != 0) {
    return Error(ErrorCode::kMalformed, "The object's exponents do not fit into it.").At(0);
  }
  Parts parts;
  size_t at = kCountBytes;
  for (const auto& [part, size] :
       {std::pair(&parts.low, values), std::pair(&parts.planes, PlaneBytes(values)),
        std::pair(&parts.others, size_t{others}), std::pair(&parts.states, kStatesBytes)}) {
    *part = body.subspan(at, size);
    at += size;
  }
  parts.words = body.subspan(at);
  return parts;
}

Result<void> LosslessCodec::DecodeBody(std::span<const std::byte> body, uint32_t first_token,
                                       uint32_t tokens, BlockView& block) const {
  const size_t values = tokens * shape().values_per_token();
  KVCAST_TRY(const Parts parts, PartsOf(body, values));
  RansReader reader;
  reader.words = parts.words;
  reader.others = parts.others;
  for (size_t i = 0; i < kRansStates; ++i) {
    reader.states[i] = NumberAt(parts.states.data() + i * sizeof(uint32_t));
    if (reader.states[i] < kRansLow) {
      return Error(ErrorCode::kMalformed, "A state of the entropy coder is out of its range.");
    }
  }
  const Error wrong(ErrorCode::kMalformed, "The object's exponents do not end where they must.");
  std::vector<uint8_t> exponents;
  size_t at = 0;
  for (const Unit& unit : units_) {
    exponents.resize(size_t{unit.rows} * unit.size);
    for (uint32_t token = first_token; token < first_token + tokens; ++token) {
      if (!kernels_->read_exponents(reader, unit.table, exponents)) {
        return wrong;
      }
      for (uint32_t row = 0; row < unit.rows; ++row, at += unit.size) {
        std::byte* const to = block.MutableRow(token, unit.layer, unit.plane, row).data();
        const uint8_t* const own = exponents.data() + size_t{row} * unit.size;
        if (pages() == HalfType::kBf16) {
          kernels_->join_bf16(own, parts.low.data() + at, unit.size, to);
        } else {
          JoinHalves(own, parts.low.data(), parts.planes, values, at, unit.size, to);
        }
      }
    }
  }
  return reader.IsAtEnd() ? Result<void>() : Result<void>(wrong);
}

}  // namespace kvcast
