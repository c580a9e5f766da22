#include "kvcast/codec/band_codec.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kvcast/base/check.h"
#include "kvcast/codec/turn_table.h"

namespace kvcast {
namespace {

constexpr size_t kBandHeadBytes = 2 * sizeof(uint32_t);
constexpr size_t kFarBytes = sizeof(uint16_t);
constexpr uint32_t kReadBehind = 8;  // Numbers, by kernels.

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

// What one object needs for a while, for the widest plane.
struct BandCodec::Scratch {
  uint32_t tokens;
  std::vector<SplitTurns> turns;
  std::vector<int16_t> numbers;        // [row][token], and a row of nothing.
  std::vector<int16_t> by_token;       // Of a band.
  std::vector<uint32_t> sums;          // Likewise.
  std::vector<uint8_t> bytes;          // Of a unit.
  std::vector<int16_t*> rows;          // Of a band.
  std::vector<const std::byte*> from;  // Of a head, in pages.
  std::vector<std::byte*> to;
  int16_t* no_row = nullptr;

  Scratch(const BandCodec& codec, size_t position, uint32_t run_tokens)
      : tokens(run_tokens), from(tokens), to(tokens) {
    for (const Rope& rope : codec.bands_->ropes) {
      turns.emplace_back(rope, position, tokens);
    }
    size_t most_rows = 0;
    size_t most_values = 0;
    size_t most_unit = 0;
    for (const CodedPlane& plane : codec.planes_) {
      most_rows = std::max<size_t>(most_rows, plane.rows);
      for (const Unit& unit : plane.units) {
        most_unit = std::max<size_t>(most_unit, unit.count);
      }
      for (const Band& band : plane.bands) {
        most_values = std::max({most_values, band.means.size(), band.rows.size()});
      }
    }
    numbers.resize((most_rows + 1) * tokens + kReadBehind);
    no_row = numbers.data() + most_rows * tokens;
    by_token.resize(most_values * tokens);
    sums.resize(codec.is_ac_ ? 0 : most_values * tokens);
    bytes.resize(most_unit * tokens);
    rows.resize(most_values);
  }
  // Where the numbers of a band's components lie.
  int16_t* const* RowsOf(const Band& band) {
    for (size_t i = 0; i < band.rows.size(); ++i) {
      rows[i] = band.rows[i] == kNoRow ? no_row : numbers.data() + size_t{band.rows[i]} * tokens;
    }
    return rows.data();
  }
  RowTurns TurnsOf(const CodedPlane& plane) const {
    return plane.rope == Bands::kNoRope ? RowTurns{} : turns[plane.rope].rows();
  }
};

// Units are written from the last to the first, and what they write out with them.
struct BandCodec::Writing {
  RansWriter writer;
  std::byte* raw_end;
  std::vector<std::byte> others;
  std::vector<std::byte> fars;
  std::vector<size_t> places;
};

struct BandCodec::Reading {
  RansReader reader;
  uint32_t position = 0;
  const std::byte* raw = nullptr;
  std::span<const std::byte> fars;  // Uppers that are too large for a byte.
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

void BandCodec::AddPlane(const LayerShape& model_layer, uint32_t layer, Plane plane,
                         const PlaneBands& constants, const BandRung& rung, size_t rung_index) {
  const bool per_head = is_ac_ || bands_->form == BandForm::kHead;
  const uint32_t slice_heads = format().layers[layer].kv_heads;
  CodedPlane made;
  made.layer = layer;
  made.plane = plane;
  made.size = model_layer.size(plane);
  made.heads = per_head ? 1 : model_layer.kv_heads;
  KVCAST_CHECK(per_head || (slice_heads == made.heads && format().first_head == 0));
  if (plane == Plane::kKey) {
    made.rope = bands_->rope_of_layer[format().first_layer + layer];
  }
  const std::span<const uint8_t> table_of =
      std::span(constants.tables[rung_index])
          .subspan(size_t{format().first_head} * made.size, size_t{slice_heads} * made.size);
  std::vector<uint32_t> row_of(table_of.size(), kNoRow);
  for (uint32_t table = 0; table < rung.tables.size(); ++table) {
    Unit unit{table, made.rows, 0};
    for (size_t i = 0; i < table_of.size(); ++i) {
      if (table_of[i] == table) {
        row_of[i] = made.rows++;
        ++unit.count;
      }
    }
    if (unit.count > 0) {
      made.units.push_back(unit);
    }
  }
  const size_t values = size_t{made.heads} * made.size;
  for (uint32_t head = 0; head < slice_heads; head += made.heads) {
    made.bands.push_back(BandOf(made, constants, rung.Step(plane), head,
                                table_of.subspan(size_t{head} * made.size, values),
                                std::span(row_of).subspan(size_t{head} * made.size, values)));
  }
  components_ += made.rows;
  planes_.push_back(std::move(made));
}

BandCodec::Band BandCodec::BandOf(const CodedPlane& plane, const PlaneBands& constants, float step,
                                  uint32_t head, std::span<const uint8_t> table_of,
                                  std::span<const uint32_t> row_of) const {
  Band band;
  band.first_head = head;
  const uint32_t padded = SplitSize(plane.size);
  const size_t from = size_t{format().first_head + head} * plane.size;
  band.means.resize(size_t{plane.heads} * padded);
  band.in_scales.resize(band.means.size());
  band.out_scales.resize(band.means.size());
  for (uint32_t i = 0; i < row_of.size(); ++i) {
    const size_t place = size_t{i / plane.size} * padded + SplitPlace(i % plane.size);
    band.means[place] = constants.mean[from + i];
    band.in_scales[place] = constants.in_scale[from + i];
    band.out_scales[place] = (is_ac_ ? constants.ac_step : constants.out_scale)[from + i] * step;
  }
  std::vector<uint32_t> components;  // In the order of their rows; AC: in their own.
  for (uint32_t i = 0; i < row_of.size(); ++i) {
    if (is_ac_ || row_of[i] != kNoRow) {
      components.push_back(i);
    }
  }
  if (!is_ac_) {
    std::ranges::sort(components, {}, [&](uint32_t i) { return row_of[i]; });
  }
  const uint32_t places = SplitSize(static_cast<uint32_t>(components.size()));
  band.rows.assign(places, kNoRow);
  band.parts.resize(places);
  band.rounding.resize(places);
  band.zero_below.assign(places, 1);
  const uint32_t index = (format().first_head + head) / plane.heads;
  for (uint32_t k = 0; k < components.size(); ++k) {
    const uint32_t i = components[k];
    band.rows[k] = row_of[i];
    if (row_of[i] == kNoRow) {
      continue;
    }
    const uint32_t place = SplitPlace(k);
    band.parts[place] =
        is_ac_ ? SymbolTable::kStepParts / band.out_scales[place]
               : constants.bands[index].component_scale[i] * SymbolTable::kStepParts / step;
    band.rounding[place] = tables_[table_of[i]].rounding;
    band.zero_below[place] = tables_[table_of[i]].zero_below;
  }
  if (!is_ac_) {
    SetMatrices(band, constants.bands[index], components, plane.size);
  }
  return band;
}

// Values stand in order where they are multiplied, products in split places.
void BandCodec::SetMatrices(Band& band, const BandMatrix& matrix,
                            std::span<const uint32_t> components, uint32_t size) {
  const uint32_t padded = SplitSize(size);
  const auto values = static_cast<uint32_t>(band.means.size() / padded * size);
  const auto count = static_cast<uint32_t>(components.size());
  const auto at = [&](const std::vector<int16_t>& whole, uint32_t k, uint32_t value) {
    const uint32_t i = value % padded;
    return k < count && i < size
               ? whole[size_t{components[k]} * values + size_t{value / padded} * size + i]
               : int16_t{0};
  };
  const auto ins = static_cast<uint32_t>(band.means.size());
  band.forward = PairedMatrix(ins, SplitSize(count), [&](uint32_t value, uint32_t place) {
    return at(matrix.forward, SplitValue(place), value);
  });
  band.inverse = PairedMatrix(count, ins, [&](uint32_t k, uint32_t place) {
    return at(matrix.inverse, k, SplitValue(place));
  });
}

size_t BandCodec::RawBytes(uint32_t tokens) const {
  size_t bytes = 0;
  for (const CodedPlane& plane : planes_) {
    for (const Unit& unit : plane.units) {
      bytes += RawPlanes::Of(tables_[unit.table].shift, size_t{unit.count} * tokens).bytes();
    }
  }
  return bytes;
}

size_t BandCodec::BodyBytesMax(uint32_t tokens) const {
  // Each component a byte of the coder, and a byte and a word written out.
  return kBandHeadBytes + RawBytes(tokens) + 4 * size_t{components_} * tokens + kRansStatesBytes;
}

// The numbers of a band's components, as the plane's rows.
void BandCodec::NumberBand(const CodedPlane& plane, const Band& band, const BlockView& block,
                           uint32_t first_token, Scratch& scratch) const {
  const BandKernels& kernels = *kernels_->bands;
  const uint32_t tokens = scratch.tokens;
  const uint32_t padded = SplitSize(plane.size);
  const size_t stride = band.means.size();
  for (uint32_t head = 0; head < plane.heads; ++head) {
    for (uint32_t t = 0; t < tokens; ++t) {
      scratch.from[t] =
          block.Row(first_token + t, plane.layer, plane.plane, band.first_head + head).data();
    }
    const size_t at = size_t{head} * padded;
    const HeadRows<const std::byte> from = {
        scratch.from.data(),   tokens, plane.size, pages(), scratch.TurnsOf(plane),
        band.means.data() + at};
    int16_t* const to = scratch.by_token.data() + at;
    is_ac_ ? kernels.number_values(from, band.Rounding(), to, stride)
           : kernels.whole_values(from, band.in_scales.data() + at, to, stride);
  }
  const auto count = static_cast<uint32_t>(band.rows.size());
  if (!is_ac_ && count > 0) {
    kernels_->multiply(band.forward.Times(scratch.by_token, tokens, scratch.sums));
    kernels.number_sums(scratch.sums.data(), tokens, count, band.Rounding(),
                        scratch.by_token.data());
  }
  kernels.scatter_rows(scratch.by_token.data(), count, count, tokens, scratch.RowsOf(band));
}

void BandCodec::WriteUnit(const Unit& unit, Scratch& scratch, Writing& writing) const {
  const RansTable& table = coding_tables_[unit.table];
  const uint8_t shift = tables_[unit.table].shift;
  const size_t size = size_t{unit.count} * scratch.tokens;
  const std::span<const int16_t> numbers =
      std::span(scratch.numbers).subspan(size_t{unit.first} * scratch.tokens, size);
  const std::span<uint8_t> symbols = std::span(scratch.bytes).first(size);
  const RawPlanes raw = RawPlanes::Of(shift, size);
  writing.raw_end -= raw.bytes();
  kernels_->bands->narrow_numbers(numbers, table, raw, 0, writing.raw_end, symbols.data());
  writing.places.clear();
  for (size_t at = 0; at < size; ++at) {
    const void* const found = std::memchr(symbols.data() + at, kOtherSymbol, size - at);
    if (found == nullptr) {
      break;
    }
    at = static_cast<size_t>(static_cast<const uint8_t*>(found) - symbols.data());
    writing.places.push_back(at);
  }
  for (size_t i = writing.places.size(); i-- > 0;) {
    const int16_t number = numbers[writing.places[i]];
    const uint8_t upper = tables_[unit.table].UpperByte(number);
    writing.others.push_back(static_cast<std::byte>(upper));
    if (upper == SymbolTable::kFar) {
      const auto far = static_cast<uint32_t>(number >> shift);
      writing.fars.push_back(static_cast<std::byte>(far >> 8));
      writing.fars.push_back(static_cast<std::byte>(far));
    }
  }
  kernels_->coder->write_symbols(writing.writer, table, symbols);
}

// Rows lie far apart, so that the processor does not see where a band's go on: it is told, a plane
// ahead. Into the second cache; the first is full of numbers.
void BandCodec::PrefetchBand(const CodedPlane& plane, size_t index, const BlockView& block,
                             uint32_t first_token, uint32_t tokens) const {
  constexpr size_t kLine = 64;
  constexpr int kSecondCache = 2;
  if (index >= plane.bands.size()) {
    return;
  }
  for (uint32_t head = 0; head < plane.heads; ++head) {
    for (uint32_t t = 0; t < tokens; ++t) {
      const std::span<const std::byte> row = block.Row(first_token + t, plane.layer, plane.plane,
                                                       plane.bands[index].first_head + head);
      for (size_t at = 0; at < row.size(); at += kLine) {
        __builtin_prefetch(row.data() + at, 0, kSecondCache);
      }
    }
  }
  asm volatile("");  // Or g++ takes it for something that has no effect, and leaves out the calls.
}

size_t BandCodec::EncodeBody(const BlockView& block, uint32_t first_token, uint32_t tokens,
                             std::span<std::byte> body) const {
  const auto position = static_cast<uint32_t>(block.position() + first_token);
  Scratch scratch(*this, position, tokens);
  const size_t room = size_t{components_} * tokens + RansWriter::kSlack;
  const auto stream = std::make_unique_for_overwrite<std::byte[]>(room);
  std::byte* const raw_end = body.data() + kBandHeadBytes + RawBytes(tokens);
  Writing writing{RansWriter({stream.get(), room}), raw_end, {}, {}, {}};
  for (size_t p = planes_.size(); p-- > 0;) {
    const CodedPlane& plane = planes_[p];
    for (size_t b = 0; b < plane.bands.size(); ++b) {
      if (p > 0) {
        PrefetchBand(planes_[p - 1], b, block, first_token, tokens);
      }
      NumberBand(plane, plane.bands[b], block, first_token, scratch);
    }
    for (size_t u = plane.units.size(); u-- > 0;) {
      WriteUnit(plane.units[u], scratch, writing);
    }
  }
  PutBandWord(body.data(), position);
  PutBandWord(body.data() + sizeof(uint32_t), static_cast<uint32_t>(writing.others.size()));
  std::byte* out = std::ranges::reverse_copy(writing.others, raw_end).out;
  out = std::ranges::reverse_copy(writing.fars, out).out;
  out = writing.writer.PutInto(out);
  return static_cast<size_t>(out - body.data());
}

bool BandCodec::ReadUnit(const Unit& unit, Scratch& scratch, Reading& reading) const {
  const uint8_t shift = tables_[unit.table].shift;
  const size_t size = size_t{unit.count} * scratch.tokens;
  const std::span<uint8_t> uppers = std::span(scratch.bytes).first(size);
  if (!kernels_->coder->read_values(reading.reader, coding_tables_[unit.table], uppers)) {
    return false;
  }
  int16_t* const numbers = scratch.numbers.data() + size_t{unit.first} * scratch.tokens;
  const RawPlanes raw = RawPlanes::Of(shift, size);
  const bool any_far = kernels_->bands->widen_uppers(uppers, raw, reading.raw, 0, numbers);
  reading.raw += raw.bytes();
  for (size_t i = 0; any_far && i < size; ++i) {
    if (uppers[i] == SymbolTable::kFar) {
      if (reading.fars.empty()) {
        return false;
      }
      const auto far = static_cast<int16_t>(static_cast<uint32_t>(reading.fars[0]) |
                                            static_cast<uint32_t>(reading.fars[1]) << 8);
      reading.fars = reading.fars.subspan(kFarBytes);
      numbers[i] = static_cast<int16_t>(numbers[i] + (far + SymbolTable::kFar) * (1 << shift));
    }
  }
  return true;
}

// The plane's rows as a band's values again, into the pages.
void BandCodec::RestoreBand(const CodedPlane& plane, const Band& band, BlockView& block,
                            uint32_t first_token, Scratch& scratch) const {
  const BandKernels& kernels = *kernels_->bands;
  const uint32_t tokens = scratch.tokens;
  const auto count = static_cast<uint32_t>(band.rows.size());
  const size_t stride = band.means.size();
  kernels.gather_rows(scratch.RowsOf(band), count, tokens, scratch.by_token.data(), count);
  if (!is_ac_) {
    MatrixProduct product = band.inverse.Times(scratch.by_token, tokens, scratch.sums);
    product.in_stride = count;
    kernels_->multiply(product);
  }
  for (uint32_t head = 0; head < plane.heads; ++head) {
    for (uint32_t t = 0; t < tokens; ++t) {
      scratch.to[t] =
          block.MutableRow(first_token + t, plane.layer, plane.plane, band.first_head + head)
              .data();
    }
    const size_t at = size_t{head} * SplitSize(plane.size);
    const HeadRows<std::byte> to = {
        scratch.to.data(),     tokens, plane.size, pages(), scratch.TurnsOf(plane),
        band.means.data() + at};
    const float* const scales = band.out_scales.data() + at;
    is_ac_ ? kernels.restore_numbers(to, scales, scratch.by_token.data() + at, stride)
           : kernels.restore_sums(to, scales, scratch.sums.data() + at, stride);
  }
}

Result<BandCodec::Reading> BandCodec::ReadingOf(std::span<const std::byte> body,
                                                uint32_t tokens) const {
  const size_t raw_bytes = RawBytes(tokens);
  const size_t fixed = kBandHeadBytes + raw_bytes + kRansStatesBytes;
  if (body.size() < fixed || body.size() > BodyBytesMax(tokens)) {
    return Error(ErrorCode::kMismatch, "The object has not as many bytes as its tokens can take.");
  }
  Reading reading;
  reading.position = BandWordAt(body.data());
  reading.raw = body.data() + kBandHeadBytes;
  const uint32_t others = BandWordAt(body.data() + sizeof(uint32_t));
  const Error wrong(ErrorCode::kMalformed, "The object's numbers do not fit into it.");
  if (others > body.size() - fixed) {
    return wrong;
  }
  reading.reader.others = body.subspan(kBandHeadBytes + raw_bytes, others);
  const size_t fars = kFarBytes * static_cast<size_t>(std::ranges::count(
                                      reading.reader.others, std::byte{SymbolTable::kFar}));
  if (fars > body.size() - fixed - others) {
    return wrong;
  }
  const std::span<const std::byte> rest = body.subspan(kBandHeadBytes + raw_bytes + others);
  reading.fars = rest.first(fars);
  if (!reading.reader.TakeStates(rest.subspan(fars, kRansStatesBytes))) {
    return Error(ErrorCode::kMalformed, "A state of the entropy coder is out of its range.");
  }
  reading.reader.bytes = rest.subspan(fars + kRansStatesBytes);
  return reading;
}

Result<void> BandCodec::DecodeBody(std::span<const std::byte> body, uint32_t first_token,
                                   uint32_t tokens, BlockView& block) const {
  KVCAST_TRY(Reading reading, ReadingOf(body, tokens));
  Scratch scratch(*this, reading.position, tokens);
  const Error wrong(ErrorCode::kMalformed, "The object's numbers do not end where they must.");
  for (const CodedPlane& plane : planes_) {
    for (const Unit& unit : plane.units) {
      if (!ReadUnit(unit, scratch, reading)) {
        return wrong;
      }
    }
    for (const Band& band : plane.bands) {
      RestoreBand(plane, band, block, first_token, scratch);
    }
  }
  return reading.reader.IsAtEnd() ? Result<void>() : Result<void>(wrong);
}

}  // namespace kvcast
