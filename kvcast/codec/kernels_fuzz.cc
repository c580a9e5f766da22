// Any values in any shape: every kernel writes the same objects and makes the same values of them.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "kvcast/base/check.h"
#include "kvcast/base/fuzz_input.h"
#include "kvcast/codec/codec.h"
#include "kvcast/codec/coded_pages_test.h"
#include "kvcast/codec/number_rows.h"
#include "kvcast/codec/paired_matrix.h"
#include "kvcast/codec/rans.h"
#include "kvcast/codec/survey.h"
#include "kvcast/codec/symbol_table.h"
#include "kvcast/codec/turn_table.h"

using kvcast::Codec;
using kvcast::HalfType;
using kvcast::Rung;

namespace {

// Any matrix times any rows: sums that wrap around do so alike.
void FuzzProducts(kvcast::FuzzInput& input) {
  const uint32_t ins = 1 + input.Byte() % 40;
  const uint32_t outs = 1 + input.Byte() % 100;
  const uint32_t rows = 1 + input.Byte() % 6;
  const auto word = [&] {
    const uint32_t low = input.Byte();
    return static_cast<int16_t>(low | uint32_t{input.Byte()} << 8);
  };
  const kvcast::PairedMatrix matrix(ins, outs, [&](uint32_t, uint32_t) { return word(); });
  std::vector<int16_t> in(size_t{matrix.in_stride()} * rows);
  for (size_t i = 0; i < in.size(); ++i) {
    in[i] = i % matrix.in_stride() < ins ? word() : int16_t{0};
  }
  std::vector<uint32_t> expected(size_t{matrix.outs()} * rows);
  kvcast::ScalarKernels().multiply(matrix.Times(in, rows, expected));
  for (const kvcast::Kernels* kernels : kvcast::UsableKernels()) {
    std::vector<uint32_t> got(expected.size(), 1);
    kernels->multiply(matrix.Times(in, rows, got));
    KVCAST_CHECK(got == expected);
  }
}

int16_t AnyWord(kvcast::FuzzInput& input) {
  const uint32_t low = input.Byte();
  return static_cast<int16_t>(low | uint32_t{input.Byte()} << 8);
}

// Any head, turned or not: the same numbers of its values, and the same values of any numbers.
void FuzzHeads(kvcast::FuzzInput& input) {
  const uint32_t size = 1 + input.Byte() % 140;
  const HalfType type = (input.Byte() & 1) != 0 ? HalfType::kFp16 : HalfType::kBf16;
  const uint32_t first = input.Byte() % size / 32 * 32;
  const bool adjacent = (input.Byte() & 1) != 0;
  kvcast::Rope rope{first, adjacent, std::vector<uint64_t>((size - first) / 2)};
  for (uint64_t& turn : rope.turns) {
    turn = uint64_t{input.Byte()} << 56;
  }
  const kvcast::SplitTurns turns(rope, input.Byte(), 1);
  const uint32_t places = kvcast::SplitSize(size);
  std::vector<float> means(places);
  std::vector<float> scales(places, 1.0F / 64);
  std::vector<int32_t> rounding(places, input.Byte());
  std::vector<int32_t> zero_below(places, input.Byte() * 2);
  for (size_t i = 0; i < places; ++i) {
    means[i] = static_cast<float>(i % 5) - 2;
  }
  const std::vector<uint16_t> packed_rounding(rounding.begin(), rounding.end());
  const std::vector<uint16_t> packed_zero_below(zero_below.begin(), zero_below.end());
  std::vector<int16_t> page(size);
  std::vector<int16_t> numbers(places);
  for (uint32_t i = 0; i < size; ++i) {
    page[i] = AnyWord(input);
    numbers[i] = AnyWord(input);
  }
  const auto* const from_row = reinterpret_cast<const std::byte*>(page.data());
  const kvcast::RowTurns own = rope.turns.empty() ? kvcast::RowTurns{} : turns.rows();
  const kvcast::HeadRows<const std::byte> from = {&from_row, 1,    1,   0,
                                                  size,      type, own, means.data()};
  const auto made = [&](const kvcast::Kernels& kernels) {
    std::vector<int16_t> all(size_t{places} * 2);
    kernels.bands->number_values(from, {scales.data(), rounding.data(), zero_below.data()},
                                 all.data(), places);
    all.resize(size);
    std::vector<int8_t> bytes(places + 1);
    std::vector<uint32_t> rows(places, places);
    std::iota(rows.begin(), rows.begin() + size, 0);
    const kvcast::NumberRounding by = {scales.data(), rounding.data(), zero_below.data(),
                                       packed_rounding.data(), packed_zero_below.data()};
    const bool fits = kernels.bytes->number_rows(from, by, 0, kvcast::GroupPairs(own, size).count(),
                                                 {bytes.data(), 1, rows.data()});
    all.push_back(fits ? 1 : 0);
    all.insert(all.end(), bytes.begin(), bytes.begin() + (fits ? size : 0));
    std::vector<int16_t> out(size);
    auto* to_row = reinterpret_cast<std::byte*>(out.data());
    const kvcast::HeadRows<std::byte> to = {&to_row, 1, 1, 0, size, type, own, means.data()};
    kernels.bands->restore_numbers(to, scales.data(), numbers.data(), places);
    all.insert(all.end(), out.begin(), out.end());
    return all;
  };
  const std::vector<int16_t> expected = made(kvcast::ScalarKernels());
  for (const kvcast::Kernels* kernels : kvcast::UsableKernels()) {
    KVCAST_CHECK(made(*kernels) == expected);
  }
}

// Any numbers with any table: the same symbols, lower bits and stream, which gives them back.
void FuzzNumbers(kvcast::FuzzInput& input) {
  kvcast::SymbolTable symbols;
  symbols.shift = input.Byte() % 7;
  uint32_t left = 255;
  for (size_t i = 0; i + 1 < symbols.shares.size(); ++i) {
    symbols.shares[i] = static_cast<uint8_t>(std::min<uint32_t>(input.Byte() % 64, left));
    left -= symbols.shares[i];
  }
  symbols.shares.back() = static_cast<uint8_t>(left + 1 < 256 ? left + 1 : 255);
  symbols.shares[0] = static_cast<uint8_t>(symbols.shares[0] + (left == 255 ? 1 : 0));
  const kvcast::RansTable table = symbols.ForCoding();
  std::vector<int16_t> numbers(1 + input.Byte());
  for (int16_t& number : numbers) {
    number = static_cast<int16_t>(AnyWord(input) >> (input.Byte() % 16));
  }
  const kvcast::RawPlanes raw = kvcast::RawPlanes::Of(symbols.shift, numbers.size());
  std::vector<std::byte> expected;
  for (const kvcast::Kernels* kernels : kvcast::UsableKernels()) {
    std::vector<uint8_t> named(numbers.size());
    std::vector<std::byte> made(raw.bytes());
    kernels->bands->narrow_numbers(numbers, table, raw, 0, made.data(), named.data());
    std::vector<std::byte> room(numbers.size() + kvcast::RansWriter::kSlack);
    kvcast::RansWriter writer(room);
    kernels->coder->write_symbols(writer, table, named);
    made.insert(made.end(), writer.begin, writer.end);
    expected = expected.empty() ? made : expected;
    KVCAST_CHECK(made == expected);
    kvcast::RansReader reader;
    reader.states = writer.states;
    reader.bytes = {writer.begin, writer.end};
    std::vector<std::byte> others;
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (named[i] == kvcast::kOtherSymbol) {
        others.push_back(static_cast<std::byte>(symbols.UpperByte(numbers[i])));
      }
    }
    reader.others = others;
    std::vector<uint8_t> uppers(numbers.size());
    KVCAST_CHECK(kernels->coder->read_values(reader, table, uppers) && reader.IsAtEnd());
    std::vector<int16_t> again(numbers.size());
    if (!kernels->bands->widen_uppers(uppers, raw, made.data(), 0, again.data())) {
      KVCAST_CHECK(again == numbers);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  kvcast::FuzzInput input(data, size);
  const uint8_t choice = input.Byte();
  if ((choice & 128) != 0) {
    FuzzProducts(input);
    return 0;
  }
  if ((choice & 64) != 0) {
    (choice & 1) != 0 ? FuzzHeads(input) : FuzzNumbers(input);
    return 0;
  }
  const HalfType type = (choice & 1) != 0 ? HalfType::kFp16 : HalfType::kBf16;
  const HalfType out = (choice & 2) != 0 ? HalfType::kFp16 : HalfType::kBf16;
  const uint32_t said = input.Byte();
  const bool many = said >= 200;  // Groups enough for kernels that work on many at once.
  const uint32_t key_size = many ? 128 : 1 + said % 100;
  const uint32_t heads = many ? 8 + said % 4 : 1 + (choice >> 5 & 1U);
  const kvcast::BlockShape shape({{heads, key_size, input.Byte() % 100U}}, 1);
  kvcast::TestPages pages(shape);
  for (std::vector<std::byte>& buffer : pages.buffers()) {
    const std::span<const std::byte> bytes = input.Bytes(buffer.size());
    for (size_t i = 0; i < buffer.size() && !bytes.empty(); ++i) {  // Again and again.
      buffer[i] = bytes[i % bytes.size()];
    }
  }
  const bool lossless = (choice & 4) != 0;
  const Rung exact = type == HalfType::kFp16 ? Rung::kFp16Lossless : Rung::kBf16Lossless;
  constexpr Rung kRows[] = {Rung::kInt8, Rung::kFp8, Rung::kInt4, Rung::kFp4};
  const Rung rung = lossless ? exact : kRows[choice >> 3 & 3];
  kvcast::Survey survey(shape, type);
  survey.Add(pages.Block());
  const kvcast::TrackFormat format = *survey.FormatOf(rung);
  const auto reference = *Codec::Of(format, type, kvcast::ScalarKernels());
  const kvcast::Bytes object = reference->Encode(pages.Block(), 0);
  kvcast::TestPages expected(shape);
  kvcast::BlockView expected_block = expected.Block();
  const HalfType to = lossless ? type : out;
  KVCAST_CHECK(
      (*Codec::Of(format, to, kvcast::ScalarKernels()))->Decode(object, 0, expected_block).ok());
  KVCAST_CHECK(!lossless || kvcast::SameValues(pages.Block(), expected_block));
  for (const kvcast::Kernels* kernels : kvcast::UsableKernels()) {
    KVCAST_CHECK((*Codec::Of(format, type, *kernels))->Encode(pages.Block(), 0) == object);
    kvcast::TestPages got(shape);
    kvcast::BlockView got_block = got.Block();
    KVCAST_CHECK((*Codec::Of(format, to, *kernels))->Decode(object, 0, got_block).ok());
    KVCAST_CHECK(got.buffers() == expected.buffers());
  }
  return 0;
}
