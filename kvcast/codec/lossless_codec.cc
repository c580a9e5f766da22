#include "kvcast/codec/lossless_codec.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "kvcast/base/check.h"

namespace kvcast {
namespace {

constexpr size_t kCountBytes = sizeof(uint32_t);
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

// The same the other way; the planes, which are 0 so far, stand behind all lower bytes.
void SplitHalves(const std::byte* from, uint32_t count, size_t at, size_t values, std::byte* low,
                 uint8_t* exponents) {
  std::byte* const planes = low + values;
  const size_t plane_bytes = (values + 7) / 8;
  for (uint32_t i = 0; i < count; ++i) {
    const uint16_t bits = WordAt(from, i);
    const size_t value = at + i;
    exponents[i] = static_cast<uint8_t>(bits >> 10 & 31U);
    low[value] = static_cast<std::byte>(bits);
    for (size_t plane = 0; plane < kBitPlanes; ++plane) {
      planes[plane * plane_bytes + value / 8] |=
          static_cast<std::byte>((HalfPlanes::BitsOf(bits) >> plane & 1U) << (value % 8));
    }
  }
}

// Exponents that their table does not name, in order; where they end.
std::byte* PutOthers(std::span<const uint8_t> exponents, const uint8_t* symbols, std::byte* out) {
  const uint8_t* const end = symbols + exponents.size();
  for (const uint8_t* at = symbols; at < end; ++at) {
    at = static_cast<const uint8_t*>(std::memchr(at, kOtherSymbol, static_cast<size_t>(end - at)));
    if (at == nullptr) {
      break;
    }
    *out++ = static_cast<std::byte>(exponents[static_cast<size_t>(at - symbols)]);
  }
  return out;
}

}  // namespace

// Where a body's parts lie.
struct LosslessCodec::Parts {
  std::span<const std::byte> low;
  std::span<const std::byte> planes;
  std::span<const std::byte> others;
  std::span<const std::byte> states;
  std::span<const std::byte> stream;
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
  // Each value its lower byte, an exponent written out and a byte of the coder.
  return kCountBytes + 3 * values + PlaneBytes(values) + kRansStatesBytes;
}

// A row's exponents; what is left of its values goes to where it stands.
void LosslessCodec::SplitRow(const std::byte* from, uint32_t size, size_t at, size_t values,
                             std::byte* low, uint8_t* exponents) const {
  if (pages() == HalfType::kBf16) {
    kernels_->coder->split_bf16(from, size, exponents, low + at);
  } else {
    SplitHalves(from, size, at, values, low, exponents);
  }
}

size_t LosslessCodec::EncodeBody(const BlockView& block, uint32_t first_token, uint32_t tokens,
                                 std::span<std::byte> body) const {
  const size_t values = tokens * shape().values_per_token();
  std::byte* const low = body.data() + kCountBytes;
  std::byte* const others = low + values + PlaneBytes(values);
  std::memset(low + values, 0, PlaneBytes(values));
  const auto symbols = std::make_unique_for_overwrite<uint8_t[]>(values);
  std::vector<uint8_t> exponents;
  std::byte* out = others;
  size_t at = 0;
  for (const Unit& unit : units_) {
    exponents.resize(size_t{unit.rows} * unit.size);
    for (uint32_t token = first_token; token < first_token + tokens; ++token) {
      for (uint32_t row = 0; row < unit.rows; ++row) {
        const size_t own = size_t{row} * unit.size;
        SplitRow(block.Row(token, unit.layer, unit.plane, row).data(), unit.size, at + own, values,
                 low, exponents.data() + own);
      }
      kernels_->coder->name_values(unit.table, exponents, symbols.get() + at);
      out = PutOthers(exponents, symbols.get() + at, out);
      at += exponents.size();
    }
  }
  const size_t room = values + RansWriter::kSlack;
  const auto stream = std::make_unique_for_overwrite<std::byte[]>(room);
  RansWriter writer({stream.get(), room});
  for (size_t unit = units_.size(); unit-- > 0;) {
    const size_t size = size_t{units_[unit].rows} * units_[unit].size;
    for (uint32_t token = 0; token < tokens; ++token) {
      at -= size;
      kernels_->coder->write_symbols(writer, units_[unit].table, {symbols.get() + at, size});
    }
  }
  PutNumber(body.data(), static_cast<uint32_t>(out - others));
  return static_cast<size_t>(writer.PutInto(out) - body.data());
}

Result<LosslessCodec::Parts> LosslessCodec::PartsOf(std::span<const std::byte> body,
                                                    size_t values) const {
  const size_t fixed = kCountBytes + values + PlaneBytes(values) + kRansStatesBytes;
  if (body.size() < fixed || body.size() > fixed + 2 * values) {
    return Error(ErrorCode::kMismatch, "The object has not as many bytes as its tokens can take.");
  }
  const uint32_t others = NumberAt(body.data());
  if (others > body.size() - fixed) {
    return Error(ErrorCode::kMalformed, "The object's exponents do not fit into it.").At(0);
  }
  Parts parts;
  size_t at = kCountBytes;
  for (const auto& [part, size] :
       {std::pair(&parts.low, values), std::pair(&parts.planes, PlaneBytes(values)),
        std::pair(&parts.others, size_t{others}), std::pair(&parts.states, kRansStatesBytes)}) {
    *part = body.subspan(at, size);
    at += size;
  }
  parts.stream = body.subspan(at);
  return parts;
}

Result<void> LosslessCodec::DecodeBody(std::span<const std::byte> body, uint32_t first_token,
                                       uint32_t tokens, BlockView& block) const {
  const size_t values = tokens * shape().values_per_token();
  KVCAST_TRY(const Parts parts, PartsOf(body, values));
  RansReader reader;
  reader.bytes = parts.stream;
  reader.others = parts.others;
  if (!reader.TakeStates(parts.states)) {
    return Error(ErrorCode::kMalformed, "A state of the entropy coder is out of its range.");
  }
  const Error wrong(ErrorCode::kMalformed, "The object's exponents do not end where they must.");
  std::vector<uint8_t> exponents;
  size_t at = 0;
  for (const Unit& unit : units_) {
    exponents.resize(size_t{unit.rows} * unit.size);
    for (uint32_t token = first_token; token < first_token + tokens; ++token) {
      if (!kernels_->coder->read_values(reader, unit.table, exponents)) {
        return wrong;
      }
      for (uint32_t row = 0; row < unit.rows; ++row, at += unit.size) {
        std::byte* const to = block.MutableRow(token, unit.layer, unit.plane, row).data();
        const uint8_t* const own = exponents.data() + size_t{row} * unit.size;
        if (pages() == HalfType::kBf16) {
          kernels_->coder->join_bf16(own, parts.low.data() + at, unit.size, to);
        } else {
          JoinHalves(own, parts.low.data(), parts.planes, values, at, unit.size, to);
        }
      }
    }
  }
  return reader.IsAtEnd() ? Result<void>() : Result<void>(wrong);
}

}  // namespace kvcast
