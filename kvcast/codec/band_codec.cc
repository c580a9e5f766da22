#include "kvcast/codec/band_codec.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kvcast/codec/turn_table.h"

namespace kvcast {
namespace {

constexpr size_t kBandHeadBytes = 2 * sizeof(uint32_t);
constexpr size_t kFarBytes = sizeof(uint16_t);
constexpr uint32_t kReadBehind = 16;  // Numbers, by kernels.

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

// Some tokens of a run.
template <typename Byte>
HeadRows<Byte> PartOf(HeadRows<Byte> rows, uint32_t first, uint32_t tokens) {
  rows.rows += first;
  rows.tokens = tokens;
  if (rows.turns.cosines != nullptr) {
    rows.turns.cosines += first * rows.turns.stride;
    rows.turns.sines += first * rows.turns.stride;
  }
  return rows;
}

template <typename Number>
NumberRows<const Number> ReadOnly(const NumberRows<Number>& rows) {
  return {rows.first, rows.stride, rows.places};
}

// How many are a part of all.
uint32_t ShareOf(uint32_t all, size_t part, size_t parts) {
  return static_cast<uint32_t>(all * part / parts);
}

}  // namespace

// What one object needs for a while, for the widest plane.
struct BandCodec::Scratch {
  uint32_t tokens;
  bool narrow = false;  // The plane's numbers are in `bytes`, and not in `numbers`.
  std::vector<SplitTurns> turns;
  std::vector<int16_t> numbers;              // [row][token], and a row of nothing.
  std::vector<int8_t> bytes;                 // Likewise.
  std::vector<int8_t> next_bytes;            // Likewise, of the next plane.
  std::vector<int16_t> by_token;             // Of a band.
  std::vector<int8_t> byte_token;            // Likewise.
  std::vector<uint32_t> sums;                // Likewise.
  std::vector<uint8_t> symbols;              // Of a unit.
  std::vector<const std::byte*> plane_from;  // A plane's tokens in pages, and a head's.
  std::vector<const std::byte*> from;
  std::vector<std::byte*> plane_to;
  std::vector<std::byte*> to;

  Scratch(const BandCodec& codec, size_t position, uint32_t run_tokens)
      : tokens(run_tokens), plane_from(tokens), from(tokens), plane_to(tokens), to(tokens) {
    for (const Rope& rope : codec.bands_->ropes) {
      turns.emplace_back(rope, position, tokens);
    }
    size_t most_values = 0;
    size_t most_unit = 0;
    for (const CodedPlane& plane : codec.coded_.planes) {
      for (const CodedUnit& unit : plane.units) {
        most_unit = std::max<size_t>(most_unit, unit.count);
      }
      for (const CodedBand& band : plane.bands) {
        most_values = std::max({most_values, band.means.size(), band.rows.size()});
      }
    }
    numbers.resize((size_t{codec.coded_.most_rows} + 1) * tokens + kReadBehind);
    by_token.resize(most_values * tokens);
    symbols.resize(most_unit * tokens);
    if (codec.is_ac_) {
      bytes.resize(numbers.size());
      next_bytes.resize(numbers.size());
      byte_token.resize(by_token.size());
    } else {
      sums.resize(most_values * tokens);
    }
  }
  // Where the numbers of a band's components lie.
  NumberRows<int16_t> RowsOf(const CodedBand& band) {
    return {numbers.data(), tokens, band.rows.data()};
  }
  NumberRows<int8_t> ByteRowsOf(const CodedBand& band) {
    return {bytes.data(), tokens, band.rows.data()};
  }
  NumberRows<int8_t> NextByteRowsOf(const CodedBand& band) {
    return {next_bytes.data(), tokens, band.rows.data()};
  }
  RowTurns TurnsOf(const CodedPlane& plane) const {
    return plane.rope == Bands::kNoRope ? RowTurns{} : turns[plane.rope].rows();
  }
  // Where a plane lies in pages: asking for each head would divide by the pages' size each time.
  void ReadFrom(const CodedPlane& plane, const BlockView& block, uint32_t first_token) {
    for (uint32_t t = 0; t < tokens; ++t) {
      plane_from[t] = block.Row(first_token + t, plane.layer, plane.plane, 0).data();
    }
  }
  void WriteTo(const CodedPlane& plane, BlockView& block, uint32_t first_token) {
    for (uint32_t t = 0; t < tokens; ++t) {
      plane_to[t] = block.MutableRow(first_token + t, plane.layer, plane.plane, 0).data();
    }
  }
  HeadRows<const std::byte> From(const CodedPlane& plane, const CodedBand& band, HalfType type,
                                 size_t head_stride) {
    for (uint32_t t = 0; t < tokens; ++t) {
      from[t] = plane_from[t] + band.first_head * head_stride;
    }
    return {from.data(), tokens, plane.heads,    head_stride,
            plane.size,  type,   TurnsOf(plane), band.means.data()};
  }
  HeadRows<std::byte> To(const CodedPlane& plane, const CodedBand& band, HalfType type,
                         size_t head_stride) {
    for (uint32_t t = 0; t < tokens; ++t) {
      to[t] = plane_to[t] + band.first_head * head_stride;
    }
    return {to.data(),  tokens, plane.heads,    head_stride,
            plane.size, type,   TurnsOf(plane), band.means.data()};
  }
};

// AC's numbers of a plane, as bytes, made a few components at a time: memory is waited for while
// the entropy coder works on another plane. KTC's are made at once.
struct BandCodec::Numbering {
  const BandCodec& codec;
  const BlockView& block;
  uint32_t first_token;
  Scratch& scratch;
  const CodedPlane* plane = nullptr;
  const CodedPlane* next = nullptr;  // It lies far away: the processor is told where.
  HeadRows<const std::byte> from = {};
  uint32_t pairs = 0;  // Of groups, and how many of them are done.
  uint32_t done = 0;
  bool fits = false;  // All so far are bytes.

  void Begin(size_t index) {
    plane = &codec.coded_.planes[index];
    next = index > 0 ? plane - 1 : nullptr;
    scratch.ReadFrom(*plane, block, first_token);
    done = 0;
    fits = codec.is_ac_ && !plane->bands.empty();
    if (fits) {
      from = scratch.From(*plane, plane->bands[0], codec.pages(),
                          block.HeadStride(plane->layer, plane->plane));
      pairs = from.heads * GroupPairs(from.turns, from.size).count();
    }
  }
  // Up to a part of all.
  void Until(size_t part, size_t parts) {
    const uint32_t end = ShareOf(pairs, part, parts);
    for (; fits && done < end; ++done) {
      const uint32_t fetched = ShareOf(from.tokens, done, pairs);
      Fetch(fetched, ShareOf(from.tokens, done + 1, pairs) - fetched);
      const CodedBand& band = plane->bands[0];
      fits = codec.kernels_->bytes->number_rows(from, band.Rounding(), done, 1,
                                                scratch.NextByteRowsOf(band));
    }
  }
  // Into the second cache; the first is full of numbers.
  void Fetch(uint32_t first, uint32_t tokens) const {
    constexpr size_t kLine = 64;
    constexpr int kSecondCache = 2;
    const size_t row = next == nullptr ? 0 : size_t{next->size} * kPageValueBytes;
    if (row == 0 || block.HeadStride(next->layer, next->plane) != row) {
      return;
    }
    const size_t bytes = row * codec.format().layers[next->layer].kv_heads;
    for (uint32_t t = first; t < first + tokens; ++t) {
      const std::byte* const at = block.Row(first_token + t, next->layer, next->plane, 0).data();
      for (size_t i = 0; i < bytes; i += kLine) {
        __builtin_prefetch(at + i, 0, kSecondCache);
      }
    }
    asm volatile("");  // Or g++ takes it for something without effect, and leaves out the calls.
  }
};

// AC's values of a plane, restored a few tokens at a time: they go out to memory while the entropy
// coder works on another plane.
struct BandCodec::Restoring {
  const ByteKernels& kernels;
  Scratch& scratch;
  const CodedBand* band = nullptr;
  HeadRows<std::byte> to = {};
  uint32_t done = 0;  // Tokens.

  void Begin(const CodedBand& begun, const HeadRows<std::byte>& rows) {
    band = &begun;
    to = rows;
    done = 0;
    const auto count = static_cast<uint32_t>(band->rows.size());
    kernels.gather_rows(ReadOnly(scratch.ByteRowsOf(*band)), count, scratch.tokens,
                        scratch.byte_token.data(), count);
  }
  void Until(uint32_t tokens) {
    if (band != nullptr && done < tokens) {
      const size_t stride = band->rows.size();
      kernels.restore_numbers(PartOf(to, done, tokens - done), band->out_scales.data(),
                              scratch.byte_token.data() + done * stride, stride);
      done = tokens;
    }
  }
};

// Units are written from the last to the first, and what they write out with them.
struct BandCodec::Writing {
  RansWriter writer;
  std::byte* raw_end;
  std::vector<std::byte> others;
  std::vector<std::byte> fars;
  std::vector<size_t> places;  // Of others in a unit.

  void PutOther(const SymbolTable& table, int16_t number) {
    const uint8_t upper = table.UpperByte(number);
    others.push_back(static_cast<std::byte>(upper));
    if (upper == SymbolTable::kFar) {
      const auto far = static_cast<uint32_t>(number >> table.shift);
      fars.push_back(static_cast<std::byte>(far >> 8));
      fars.push_back(static_cast<std::byte>(far));
    }
  }
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
      is_ac_(format.rung == Rung::kAc),
      tables_(bands_->rungs[*BandRungIndex(format.rung)].tables),
      coded_(format, *bands_, layers) {
  for (const SymbolTable& table : tables_) {
    coding_tables_.push_back(table.ForCoding());
  }
}

size_t BandCodec::RawBytes(uint32_t tokens) const {
  size_t bytes = 0;
  for (const CodedPlane& plane : coded_.planes) {
    for (const CodedUnit& unit : plane.units) {
      bytes += RawPlanes::Of(tables_[unit.table].shift, size_t{unit.count} * tokens).bytes();
    }
  }
  return bytes;
}

size_t BandCodec::BodyBytesMax(uint32_t tokens) const {
  // Each component a byte of the coder, and a byte and a word written out.
  return kBandHeadBytes + RawBytes(tokens) + 4 * size_t{coded_.rows} * tokens + kRansStatesBytes;
}

// The numbers of a band's components, as the plane's rows.
void BandCodec::NumberBand(const CodedPlane& plane, const CodedBand& band, size_t head_stride,
                           Scratch& scratch) const {
  const BandKernels& kernels = *kernels_->bands;
  const uint32_t tokens = scratch.tokens;
  const auto count = static_cast<uint32_t>(band.rows.size());
  const HeadRows<const std::byte> from = scratch.From(plane, band, pages(), head_stride);
  int16_t* const by_token = scratch.by_token.data();
  if (is_ac_) {
    kernels.number_values(from, band.Rounding(), by_token, count);
  } else {
    kernels.whole_values(from, band.in_scales.data(), by_token, band.means.size());
    kernels_->multiply(band.forward.Times(scratch.by_token, tokens, scratch.sums));
    kernels.number_sums(scratch.sums.data(), tokens, count, band.Rounding(), by_token);
  }
  kernels.scatter_rows(by_token, count, count, tokens, scratch.RowsOf(band));
}

// A plane's numbers as rows.
void BandCodec::NumberPlane(Numbering& numbering, Scratch& scratch) const {
  const CodedPlane& plane = *numbering.plane;
  numbering.Until(1, 1);
  scratch.narrow = numbering.fits;
  if (scratch.narrow) {
    std::swap(scratch.bytes, scratch.next_bytes);
    return;
  }
  numbering.Fetch(0, scratch.tokens);
  for (const CodedBand& band : plane.bands) {
    NumberBand(plane, band, numbering.block.HeadStride(plane.layer, plane.plane), scratch);
  }
}

void BandCodec::WriteUnit(const CodedUnit& unit, Scratch& scratch, Writing& writing) const {
  const SymbolTable& table = tables_[unit.table];
  const RansTable& coding = coding_tables_[unit.table];
  const size_t first = size_t{unit.first} * scratch.tokens;
  const size_t size = size_t{unit.count} * scratch.tokens;
  const std::span<uint8_t> symbols = std::span(scratch.symbols).first(size);
  const RawPlanes raw = RawPlanes::Of(table.shift, size);
  writing.raw_end -= raw.bytes();
  if (scratch.narrow) {
    kernels_->bytes->narrow_numbers(std::span(scratch.bytes).subspan(first, size), coding, raw, 0,
                                    writing.raw_end, symbols.data());
  } else {
    kernels_->bands->narrow_numbers(std::span(scratch.numbers).subspan(first, size), coding, raw, 0,
                                    writing.raw_end, symbols.data());
  }
  writing.places.clear();
  for (size_t at = 0; at < size; ++at) {
    const void* const found = std::memchr(symbols.data() + at, kOtherSymbol, size - at);
    if (found == nullptr) {
      break;
    }
    at = static_cast<size_t>(static_cast<const uint8_t*>(found) - symbols.data());
    writing.places.push_back(first + at);
  }
  for (size_t i = writing.places.size(); i-- > 0;) {
    const size_t at = writing.places[i];
    writing.PutOther(table, scratch.narrow ? int16_t{scratch.bytes[at]} : scratch.numbers[at]);
  }
  kernels_->coder->write_symbols(writing.writer, coding, symbols);
}

size_t BandCodec::EncodeBody(const BlockView& block, uint32_t first_token, uint32_t tokens,
                             std::span<std::byte> body) const {
  const auto position = static_cast<uint32_t>(block.position() + first_token);
  Scratch scratch(*this, position, tokens);
  const size_t room = size_t{coded_.rows} * tokens + RansWriter::kSlack;
  const auto stream = std::make_unique_for_overwrite<std::byte[]>(room);
  std::byte* const raw_end = body.data() + kBandHeadBytes + RawBytes(tokens);
  Writing writing{RansWriter({stream.get(), room}), raw_end, {}, {}, {}};
  Numbering numbering{*this, block, first_token, scratch};
  for (size_t p = coded_.planes.size(); p-- > 0;) {
    const std::vector<CodedUnit>& units = coded_.planes[p].units;
    if (p + 1 == coded_.planes.size()) {
      numbering.Begin(p);
    }
    NumberPlane(numbering, scratch);
    if (p > 0) {
      numbering.Begin(p - 1);
    }
    for (size_t u = units.size(); u-- > 0;) {
      WriteUnit(units[u], scratch, writing);
      if (p > 0) {
        numbering.Until(units.size() - u, units.size());
      }
    }
  }
  PutBandWord(body.data(), position);
  PutBandWord(body.data() + sizeof(uint32_t), static_cast<uint32_t>(writing.others.size()));
  std::byte* out = std::ranges::reverse_copy(writing.others, raw_end).out;
  out = std::ranges::reverse_copy(writing.fars, out).out;
  out = writing.writer.PutInto(out);
  return static_cast<size_t>(out - body.data());
}

bool BandCodec::ReadUnit(const CodedUnit& unit, Scratch& scratch, Reading& reading) const {
  const uint8_t shift = tables_[unit.table].shift;
  const size_t first = size_t{unit.first} * scratch.tokens;
  const size_t size = size_t{unit.count} * scratch.tokens;
  // Uppers that are numbers go where those belong.
  const bool direct = scratch.narrow && shift == 0;
  const std::span<uint8_t> uppers = {
      direct ? reinterpret_cast<uint8_t*>(scratch.bytes.data() + first) : scratch.symbols.data(),
      size};
  const size_t others = reading.reader.others.size();
  if (!kernels_->coder->read_values(reading.reader, coding_tables_[unit.table], uppers)) {
    return false;
  }
  if (direct && (reading.reader.others.size() == others ||
                 std::memchr(uppers.data(), SymbolTable::kFar, size) == nullptr)) {
    return true;
  }
  const RawPlanes raw = RawPlanes::Of(shift, size);
  const std::byte* const planes = reading.raw;
  reading.raw += raw.bytes();
  if (scratch.narrow) {
    scratch.narrow = !direct && kernels_->bytes->widen_uppers(uppers, raw, planes, 0,
                                                              scratch.bytes.data() + first);
    if (scratch.narrow) {
      return true;
    }
    // Those before it, which are what they are.
    const auto* const before = reinterpret_cast<const uint8_t*>(scratch.bytes.data());
    kernels_->bands->widen_uppers({before, first}, {}, nullptr, 0, scratch.numbers.data());
  }
  int16_t* const numbers = scratch.numbers.data() + first;
  const bool any_far = kernels_->bands->widen_uppers(uppers, raw, planes, 0, numbers);
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
void BandCodec::RestoreBand(const CodedPlane& plane, const CodedBand& band, size_t head_stride,
                            Scratch& scratch) const {
  const BandKernels& kernels = *kernels_->bands;
  const uint32_t tokens = scratch.tokens;
  const auto count = static_cast<uint32_t>(band.rows.size());
  const size_t stride = band.means.size();
  kernels.gather_rows(ReadOnly(scratch.RowsOf(band)), count, tokens, scratch.by_token.data(),
                      count);
  if (!is_ac_) {
    MatrixProduct product = band.inverse.Times(scratch.by_token, tokens, scratch.sums);
    product.in_stride = count;
    kernels_->multiply(product);
  }
  const HeadRows<std::byte> to = scratch.To(plane, band, pages(), head_stride);
  const float* const scales = band.out_scales.data();
  if (!is_ac_) {
    kernels.restore_sums(to, scales, scratch.sums.data(), stride);
  } else {
    kernels.restore_numbers(to, scales, scratch.by_token.data(), stride);
  }
}

Result<void> BandCodec::Open(std::span<const std::byte> body, uint32_t tokens,
                             Reading& reading) const {
  const size_t raw_bytes = RawBytes(tokens);
  const size_t fixed = kBandHeadBytes + raw_bytes + kRansStatesBytes;
  if (body.size() < fixed || body.size() > BodyBytesMax(tokens)) {
    return Error(ErrorCode::kMismatch, "The object has not as many bytes as its tokens can take.");
  }
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
  return {};
}

Result<void> BandCodec::DecodeBody(std::span<const std::byte> body, uint32_t first_token,
                                   uint32_t tokens, BlockView& block) const {
  Reading reading;
  KVCAST_TRY_VOID(Open(body, tokens, reading));
  Scratch scratch(*this, reading.position, tokens);
  const Error wrong(ErrorCode::kMalformed, "The object's numbers do not end where they must.");
  Restoring restoring{*kernels_->bytes, scratch};
  for (const CodedPlane& plane : coded_.planes) {
    scratch.narrow = is_ac_;
    for (size_t u = 0; u < plane.units.size(); ++u) {
      if (!ReadUnit(plane.units[u], scratch, reading)) {
        return wrong;
      }
      restoring.Until(ShareOf(tokens, u + 1, plane.units.size()));
    }
    restoring.Until(tokens);
    scratch.WriteTo(plane, block, first_token);
    const size_t head_stride = block.HeadStride(plane.layer, plane.plane);
    for (const CodedBand& band : plane.bands) {
      if (scratch.narrow) {
        restoring.Begin(band, scratch.To(plane, band, pages(), head_stride));
      } else {
        RestoreBand(plane, band, head_stride, scratch);
      }
    }
  }
  restoring.Until(tokens);
  return reading.reader.IsAtEnd() ? Result<void>() : Result<void>(wrong);
}

}  // namespace kvcast
