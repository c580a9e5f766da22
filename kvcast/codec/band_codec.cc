#include "kvcast/codec/band_codec.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kvcast/base/check.h"
#include "kvcast/codec/raw_bits.h"

namespace kvcast {
namespace {

constexpr size_t kBandHeadBytes = 2 * sizeof(uint32_t);
constexpr size_t kBandStatesBytes = kRansStates * sizeof(uint32_t);
constexpr size_t kFarBytes = sizeof(uint16_t);

uint32_t BandWordAt(const std::byte* from) {
  uint32_t word = 0;
  for (size_t i = 0; i < sizeof(word); ++i) {
    word |= static_cast<uint32_t>(from[i]) << (8 * i);
  }
  return word;
}
void PutBandWord(std::byte* to, uint32_t word) {
  for (size_t i = 0; i < sizeof(word); ++i) {
    to[i] = static_cast<std::byte>(word >> (8 * i));
  }
}

}  // namespace

// What an encoder has made of a run: upper parts in the order of units, others and lower bits.
struct BandCodec::Symbols {
  std::vector<uint8_t> uppers;
  std::vector<std::byte> others;
  std::vector<std::byte> fars;
  RawBitWriter raw;
};

struct BandCodec::Reading {
  RansReader reader;
  RawBitReader raw;
  std::span<const std::byte> fars;  // Uppers that are too large for a byte.
  std::vector<uint8_t> uppers;      // Of a unit.
  std::vector<int16_t> numbers;     // Of a band: [token][coded component].
};

BandCodec::BandCodec(const TrackFormat& format, HalfType pages, const Kernels& kernels,
                     std::shared_ptr<const Bands> bands, std::span<const LayerShape> layers)
    : Codec(format, pages),
      kernels_(&kernels),
      bands_(std::move(bands)),
      is_ac_(format.rung == Rung::kAc) {
  const size_t rung_index = *BandRungIndex(format.rung);
  const BandRung& rung = bands_->rungs[rung_index];
  tables_ = rung.tables;
  for (const SymbolTable& table : tables_) {
    coding_tables_.push_back(table.ForCoding());
  }
  size_t plane_index = 0;
  for (uint32_t layer = 0; layer < layers.size(); ++layer) {
    const bool wanted =
        layer >= format.first_layer && layer - format.first_layer < format.layers.size();
    for (const Plane plane : {Plane::kKey, Plane::kValue}) {
      if (layers[layer].size(plane) == 0) {
        continue;
      }
      if (wanted) {
        AddPlane(layers[layer], layer - format.first_layer, plane, bands_->planes[plane_index],
                 rung, rung_index);
      }
      ++plane_index;
    }
  }
}

// One band of a plane, in the order its components are coded in.
BandCodec::Band BandCodec::BandOf(const PlaneBands& plane, const BandRung& rung, size_t rung_index,
                                  size_t index, uint32_t values) const {
  Band band;
  const size_t from = index * values;
  const std::span<const uint8_t> table_of =
      std::span(plane.tables[rung_index]).subspan(from, values);
  for (uint32_t table = 0; table < rung.tables.size(); ++table) {
    Unit unit{table, static_cast<uint32_t>(band.order.size()), 0};
    for (uint32_t i = 0; i < values; ++i) {
      if (table_of[i] == table) {
        band.order.push_back(i);
        ++unit.count;
      }
    }
    if (unit.count > 0) {
      band.units.push_back(unit);
    }
  }
  const auto part = [&](const std::vector<float>& whole) {
    const auto begin = whole.begin() + static_cast<std::ptrdiff_t>(from);
    return std::vector<float>(begin, begin + values);
  };
  band.mean = part(plane.mean);
  return band;
}

void BandCodec::AddPlane(const LayerShape& model_layer, uint32_t layer, Plane plane,
                         const PlaneBands& constants, const BandRung& rung, size_t rung_index) {
  const uint32_t size = model_layer.size(plane);
  const uint32_t slice_heads = format().layers[layer].kv_heads;
  const bool per_head = is_ac_ || bands_->form == BandForm::kHead;
  const uint32_t heads = per_head ? 1 : model_layer.kv_heads;
  KVCAST_CHECK(per_head || (slice_heads == heads && format().first_head == 0));
  const float step = rung.Step(plane);
  for (uint32_t head = 0; head < slice_heads; head += heads) {
    const uint32_t index = format().first_head + head;
    const uint32_t values = heads * size;
    Band band = BandOf(constants, rung, rung_index, index, values);
    band.place = {layer, plane, head, heads, size};
    if (plane == Plane::kKey) {
      band.rope = bands_->rope_of_layer[format().first_layer + layer];
    }
    const size_t from = size_t{index} * values;
    for (uint32_t i = 0; i < values; ++i) {
      band.in_scale.push_back(constants.in_scale[from + i]);
      band.out_scale.push_back((is_ac_ ? constants.ac_step : constants.out_scale)[from + i] * step);
    }
    for (const uint32_t component : band.order) {
      if (is_ac_) {
        band.parts.push_back(SymbolTable::kStepParts / band.out_scale[component]);
        continue;
      }
      band.parts.push_back(constants.bands[index].component_scale[component] *
                           SymbolTable::kStepParts / step);
    }
    if (!is_ac_) {
      const BandMatrix& matrix = constants.bands[index];
      const auto coded = static_cast<uint32_t>(band.order.size());
      const auto at = [&](uint32_t component, uint32_t value) {
        return size_t{band.order[component]} * values + value;
      };
      band.forward = PairedMatrix(values, coded,
                                  [&](uint32_t i, uint32_t c) { return matrix.forward[at(c, i)]; });
      band.inverse = PairedMatrix(coded, values,
                                  [&](uint32_t c, uint32_t i) { return matrix.inverse[at(c, i)]; });
    }
    components_ += static_cast<uint32_t>(band.order.size());
    for (const Unit& unit : band.units) {
      raw_bits_ += unit.count * tables_[unit.table].shift;
    }
    coded_bands_.push_back(std::move(band));
  }
}

size_t BandCodec::BodyBytesMax(uint32_t tokens) const {
  // Each component a word of the coder, and a byte and a word written out.
  return kBandHeadBytes + (RawBits(tokens) + 7) / 8 + 5 * size_t{components_} * tokens +
         kBandStatesBytes;
}

std::vector<TurnTable> BandCodec::TurnTables(size_t position, uint32_t tokens) const {
  std::vector<TurnTable> turns;
  for (const Rope& rope : bands_->ropes) {
    turns.emplace_back(rope, position, tokens);
  }
  return turns;
}

void BandCodec::WriteValues(const Band& band, std::vector<float>& values, uint32_t token,
                            uint32_t in_run, std::span<const TurnTable> turns,
                            BlockView& block) const {
  const BandPlace& place = band.place;
  for (uint32_t head = 0; head < place.heads; ++head) {
    float* const from = values.data() + size_t{head} * place.size;
    if (band.rope != Bands::kNoRope) {
      turns[band.rope].Turn(in_run, from);
    }
    std::byte* const row =
        block.MutableRow(token, place.layer, place.plane, place.first_head + head).data();
    for (uint32_t i = 0; i < place.size; ++i) {
      const uint16_t bits = FromFloat(pages(), from[i]);
      std::memcpy(row + i * kPageValueBytes, &bits, sizeof(bits));
    }
  }
}

// All components of a run, [token][coded component], in 1/256 of a step.
std::vector<int32_t> BandCodec::PartsOf(const Band& band, const BlockView& block,
                                        uint32_t first_token, uint32_t tokens,
                                        const TurnTable* turns) const {
  const uint32_t n = band.place.values();
  const size_t coded = band.order.size();
  const size_t stride = is_ac_ ? 0 : band.forward.in_stride();
  std::vector<float> values(n);
  std::vector<int16_t> whole(stride * tokens);
  std::vector<int32_t> parts(coded * tokens);
  for (uint32_t t = 0; t < tokens; ++t) {
    ReadUnturned(block, pages(), band.place, first_token + t, t, turns, values.data());
    for (uint32_t i = 0; i < n; ++i) {
      values[i] -= band.mean[i];
    }
    for (size_t c = 0; is_ac_ && c < coded; ++c) {
      parts[t * coded + c] = RoundedWithin(values[band.order[c]] * band.parts[c], kPartsMax);
    }
    for (uint32_t i = 0; !is_ac_ && i < n; ++i) {
      whole[t * stride + i] = static_cast<int16_t>(
          RoundedWithin(values[i] * band.in_scale[i], float{BandMatrix::kReach}));
    }
  }
  if (!is_ac_) {
    std::vector<uint32_t> sums(size_t{band.forward.outs()} * tokens);
    kernels_->multiply(band.forward.Times(whole, tokens, sums));
    for (uint32_t t = 0; t < tokens; ++t) {
      const uint32_t* const own = sums.data() + size_t{t} * band.forward.outs();
      for (size_t c = 0; c < coded; ++c) {
        const auto component = static_cast<float>(static_cast<int32_t>(own[c]));
        parts[t * coded + c] = RoundedWithin(component * band.parts[c], kPartsMax);
      }
    }
  }
  return parts;
}

void BandCodec::EncodeBand(const Band& band, const BlockView& block, uint32_t first_token,
                           uint32_t tokens, std::span<const TurnTable> turns,
                           Symbols& symbols) const {
  const size_t coded = band.order.size();
  const std::vector<int32_t> parts = PartsOf(
      band, block, first_token, tokens, band.rope == Bands::kNoRope ? nullptr : &turns[band.rope]);
  for (const Unit& unit : band.units) {
    const SymbolTable& table = tables_[unit.table];
    const RansTable& coding = coding_tables_[unit.table];
    for (uint32_t t = 0; t < tokens; ++t) {
      for (uint32_t i = 0; i < unit.count; ++i) {
        const int32_t number = table.NumberOf(parts[t * coded + unit.first + i]);
        const uint8_t upper = table.UpperByte(number);
        symbols.uppers.push_back(upper);
        if (upper == SymbolTable::kFar) {
          const auto far = static_cast<uint32_t>(number >> table.shift);
          symbols.fars.push_back(static_cast<std::byte>(far));
          symbols.fars.push_back(static_cast<std::byte>(far >> 8));
        }
        symbols.raw.Put(static_cast<uint32_t>(number), table.shift);
        if (coding.symbol_of_exponent[upper] == kOtherSymbol) {
          symbols.others.push_back(static_cast<std::byte>(upper));
        }
      }
    }
  }
}

size_t BandCodec::EncodeBody(const BlockView& block, uint32_t first_token, uint32_t tokens,
                             std::span<std::byte> body) const {
  const auto position = static_cast<uint32_t>(block.position() + first_token);
  const std::vector<TurnTable> turns = TurnTables(position, tokens);
  std::byte* const raw = body.data() + kBandHeadBytes;
  const size_t raw_bytes = (RawBits(tokens) + 7) / 8;
  std::memset(raw, 0, raw_bytes);
  Symbols symbols{{}, {}, {}, RawBitWriter(raw)};
  symbols.uppers.reserve(size_t{components_} * tokens);
  for (const Band& band : coded_bands_) {
    EncodeBand(band, block, first_token, tokens, turns, symbols);
  }
  RansWriter writer;
  size_t at = symbols.uppers.size();
  for (size_t b = coded_bands_.size(); b-- > 0;) {
    const std::vector<Unit>& units = coded_bands_[b].units;
    for (size_t u = units.size(); u-- > 0;) {
      const size_t size = size_t{units[u].count} * tokens;
      at -= size;
      writer.WriteUnit(coding_tables_[units[u].table], std::span(symbols.uppers).subspan(at, size));
    }
  }
  PutBandWord(body.data(), position);
  PutBandWord(body.data() + sizeof(uint32_t), static_cast<uint32_t>(symbols.others.size()));
  std::byte* out = std::ranges::copy(symbols.others, raw + raw_bytes).out;
  out = std::ranges::copy(symbols.fars, out).out;
  for (const uint32_t state : writer.states()) {
    PutBandWord(out, state);
    out += sizeof(state);
  }
  for (size_t i = writer.words().size(); i-- > 0;) {
    *out++ = static_cast<std::byte>(writer.words()[i]);
    *out++ = static_cast<std::byte>(writer.words()[i] >> 8);
  }
  return static_cast<size_t>(out - body.data());
}

bool BandCodec::ReadBand(const Band& band, uint32_t tokens, Reading& reading) const {
  const size_t stride = is_ac_ ? band.order.size() : band.inverse.in_stride();
  reading.numbers.assign(stride * tokens, 0);
  for (const Unit& unit : band.units) {
    reading.uppers.resize(size_t{unit.count} * tokens);
    if (!kernels_->read_exponents(reading.reader, coding_tables_[unit.table], reading.uppers)) {
      return false;
    }
    const uint8_t shift = tables_[unit.table].shift;
    const uint8_t* upper = reading.uppers.data();
    for (uint32_t t = 0; t < tokens; ++t) {
      int16_t* const numbers = reading.numbers.data() + t * stride + unit.first;
      for (uint32_t i = 0; i < unit.count; ++i) {
        int32_t high = static_cast<int8_t>(*upper);
        if (*upper++ == SymbolTable::kFar) {
          if (reading.fars.empty()) {
            return false;
          }
          high = static_cast<int16_t>(static_cast<uint32_t>(reading.fars[0]) |
                                      static_cast<uint32_t>(reading.fars[1]) << 8);
          reading.fars = reading.fars.subspan(kFarBytes);
        }
        numbers[i] = static_cast<int16_t>(high * (1 << shift) +
                                          static_cast<int32_t>(reading.raw.Take(shift)));
      }
    }
  }
  return true;
}

// Numbers as values again, into the pages.
void BandCodec::RestoreBand(const Band& band, uint32_t first_token, uint32_t tokens,
                            std::span<const TurnTable> turns, Reading& reading,
                            BlockView& block) const {
  const uint32_t n = band.place.values();
  std::vector<uint32_t> sums;
  if (!is_ac_) {
    sums.resize(size_t{band.inverse.outs()} * tokens);
    kernels_->multiply(band.inverse.Times(reading.numbers, tokens, sums));
  }
  std::vector<float> values(n);
  for (uint32_t t = 0; t < tokens; ++t) {
    std::copy(band.mean.begin(), band.mean.end(), values.begin());
    const int16_t* const numbers = reading.numbers.data() + t * band.order.size();
    for (size_t c = 0; is_ac_ && c < band.order.size(); ++c) {
      const uint32_t i = band.order[c];
      values[i] += static_cast<float>(numbers[c]) * band.out_scale[i];
    }
    const uint32_t* const own = sums.data() + (is_ac_ ? 0 : size_t{t} * band.inverse.outs());
    for (uint32_t i = 0; !is_ac_ && i < n; ++i) {
      values[i] += static_cast<float>(static_cast<int32_t>(own[i])) * band.out_scale[i];
    }
    WriteValues(band, values, first_token + t, t, turns, block);
  }
}

Result<void> BandCodec::DecodeBody(std::span<const std::byte> body, uint32_t first_token,
                                   uint32_t tokens, BlockView& block) const {
  const size_t raw_bytes = (RawBits(tokens) + 7) / 8;
  const size_t fixed = kBandHeadBytes + raw_bytes + kBandStatesBytes;
  if (body.size() < fixed || body.size() > BodyBytesMax(tokens)) {
    return Error(ErrorCode::kMismatch, "The object has not as many bytes as its tokens can take.");
  }
  const uint32_t position = BandWordAt(body.data());
  const uint32_t others = BandWordAt(body.data() + sizeof(uint32_t));
  if (others > body.size() - fixed) {
    return Error(ErrorCode::kMalformed, "The object's numbers do not fit into it.").At(0);
  }
  Reading reading{{}, RawBitReader(body.data() + kBandHeadBytes), {}, {}, {}};
  reading.reader.others = body.subspan(kBandHeadBytes + raw_bytes, others);
  const size_t fars = kFarBytes * static_cast<size_t>(std::ranges::count(
                                      reading.reader.others, std::byte{SymbolTable::kFar}));
  const size_t left = body.size() - fixed - others;
  if (fars > left || (left - fars) % sizeof(uint16_t) != 0) {
    return Error(ErrorCode::kMalformed, "The object's numbers do not fit into it.").At(0);
  }
  reading.fars = body.subspan(kBandHeadBytes + raw_bytes + others, fars);
  const std::span<const std::byte> states =
      body.subspan(kBandHeadBytes + raw_bytes + others + fars, kBandStatesBytes);
  for (size_t i = 0; i < kRansStates; ++i) {
    reading.reader.states[i] = BandWordAt(states.data() + i * sizeof(uint32_t));
    if (reading.reader.states[i] < kRansLow) {
      return Error(ErrorCode::kMalformed, "A state of the entropy coder is out of its range.");
    }
  }
  reading.reader.words = body.subspan(fixed + others + fars);
  const std::vector<TurnTable> turns = TurnTables(position, tokens);
  const Error wrong(ErrorCode::kMalformed, "The object's numbers do not end where they must.");
  for (const Band& band : coded_bands_) {
    if (!ReadBand(band, tokens, reading)) {
      return wrong;
    }
    RestoreBand(band, first_token, tokens, turns, reading, block);
  }
  return reading.reader.IsAtEnd() ? Result<void>() : Result<void>(wrong);
}

}  // namespace kvcast
