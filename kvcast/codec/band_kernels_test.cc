// Whatever the numbers, every instruction set makes the same of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "kvcast/base/random.h"
#include "kvcast/codec/kernels.h"
#include "kvcast/codec/number_format.h"
#include "kvcast/codec/number_rows.h"
#include "kvcast/codec/rans.h"
#include "kvcast/codec/symbol_table.h"
#include "kvcast/codec/turn_table.h"

namespace kvcast {
namespace {

constexpr uint32_t kHeadSizes[] = {1, 7, 32, 48, 64, 80, 96, 128, 256, 576};

// A head's constants and pages, of any bits.
struct AnyHead {
  uint32_t tokens;
  uint32_t size;
  std::vector<std::byte> page;
  std::vector<std::byte*> rows;
  std::vector<float> means;
  std::vector<float> scales;
  std::vector<int32_t> rounding;
  std::vector<int32_t> zero_below;
  std::vector<uint16_t> packed_rounding;
  std::vector<uint16_t> packed_zero_below;
  std::vector<SplitTurns> turns;

  AnyHead(uint32_t run_tokens, uint32_t head_size, Random& random, size_t offset = 0)
      : tokens(run_tokens), size(head_size), page(size_t{tokens} * size * 2 + 64 + offset) {
    for (std::byte& byte : page) {
      byte = static_cast<std::byte>(random.Next());
    }
    void* at = page.data();
    size_t room = page.size();
    std::byte* const first =
        static_cast<std::byte*>(std::align(64, size_t{tokens} * size * 2, at, room)) + offset;
    for (uint32_t token = 0; token < tokens; ++token) {
      rows.push_back(first + size_t{token} * size * 2);
    }
    for (uint32_t i = 0; i < SplitSize(size); ++i) {
      const bool own = SplitValue(i) < size;  // Behind them nothing.
      means.push_back(own ? static_cast<float>(random.Below(1000)) / 100 - 5 : 0.0F);
      scales.push_back(static_cast<float>(1 + random.Below(1000)) / 300);
      rounding.push_back(static_cast<int32_t>(random.Below(256)));
      zero_below.push_back(static_cast<int32_t>(random.Below(400)));
    }
    for (uint32_t i = 0; i < SplitSize(size); ++i) {
      const uint32_t split = SplitPlace(PackedValue(i));
      packed_rounding.push_back(static_cast<uint16_t>(rounding[split]));
      packed_zero_below.push_back(static_cast<uint16_t>(zero_below[split]));
    }
  }
  // Turned not at all, by halves, by neighbours, and some of them.
  void Turn(int kind, Random& random) {
    turns.clear();
    const uint32_t first = kind == 3 ? size / 4 / 32 * 32 : 0;
    Rope rope{first, kind == 2, {}};
    const uint32_t pairs = (size - first) / 2 / (kind == 3 ? 2 : 1);
    rope.turns.resize(kind == 3 && pairs > 32 ? pairs / 32 * 32 : pairs);
    for (uint64_t& turn : rope.turns) {
      turn = random.Next();
    }
    if (kind > 0 && !rope.turns.empty()) {
      turns.emplace_back(rope, 1000, tokens);
    }
  }
  template <typename Byte>
  HeadRows<Byte> Rows(HalfType type) const {
    return {rows.data(), tokens, 1, 0, size, type, turns.empty() ? RowTurns{} : turns[0].rows(),
            means.data()};
  }
  NumberRounding Rounding() const {
    return {scales.data(), rounding.data(), zero_below.data(), packed_rounding.data(),
            packed_zero_below.data()};
  }
};

template <typename Number>
std::vector<Number> AnyNumbers(size_t count, Random& random) {
  std::vector<Number> numbers(count);
  for (Number& number : numbers) {
    number = static_cast<Number>(random.Next());
  }
  return numbers;
}

void ExpectSameValues(AnyHead& head, HalfType type, Random& random) {
  const size_t stride = SplitSize(head.size);
  const auto numbers = AnyNumbers<int16_t>(stride * head.tokens, random);
  const auto sums = AnyNumbers<uint32_t>(stride * head.tokens, random);
  const HeadRows<std::byte> to = head.Rows<std::byte>(type);
  const auto restored = [&](const Kernels& kernels, bool of_sums) {
    std::fill(head.page.begin(), head.page.end(), std::byte{0});
    of_sums ? kernels.bands->restore_sums(to, head.scales.data(), sums.data(), stride)
            : kernels.bands->restore_numbers(to, head.scales.data(), numbers.data(), stride);
    return head.page;
  };
  for (const bool of_sums : {false, true}) {
    const std::vector<std::byte> expected = restored(ScalarKernels(), of_sums);
    for (const Kernels* kernels : UsableKernels()) {
      ASSERT_EQ(restored(*kernels, of_sums), expected)
          << kernels->name << " " << head.size << " " << of_sums;
    }
  }
}

void ExpectSameNumbers(const AnyHead& head, HalfType type) {
  const size_t stride = SplitSize(head.size);
  const std::vector<const std::byte*> rows(head.rows.begin(), head.rows.end());
  HeadRows<const std::byte> from = {
      rows.data(),      head.tokens, 1, 0, head.size, type, head.Rows<std::byte>(type).turns,
      head.means.data()};
  const auto made = [&](const Kernels& kernels, bool whole) {
    std::vector<int16_t> numbers(stride * head.tokens);
    whole ? kernels.bands->whole_values(from, head.scales.data(), numbers.data(), stride)
          : kernels.bands->number_values(from, head.Rounding(), numbers.data(), stride);
    std::vector<int16_t> own;  // What stands behind a row's values is nobody's.
    for (size_t at = 0; at < numbers.size(); at += stride) {
      const auto first = numbers.begin() + static_cast<std::ptrdiff_t>(at);
      own.insert(own.end(), first, first + head.size);
    }
    return own;
  };
  for (const bool whole : {false, true}) {
    const std::vector<int16_t> expected = made(ScalarKernels(), whole);
    for (const Kernels* kernels : UsableKernels()) {
      ASSERT_EQ(made(*kernels, whole), expected) << kernels->name << " " << head.size << whole;
    }
  }
}

TEST(BandKernels, AgreeOnValuesAndNumbers) {
  Random random(1);
  for (const uint32_t size : kHeadSizes) {
    for (int kind = 0; kind < 4; ++kind) {
      for (const HalfType type : {HalfType::kBf16, HalfType::kFp16}) {
        AnyHead head(3, size, random, static_cast<size_t>(kind) * 2);
        head.Turn(kind, random);
        ExpectSameNumbers(head, type);
        ExpectSameValues(head, type, random);
      }
    }
  }
}

TEST(BandKernels, AgreeOnProducts) {
  Random random(2);
  AnyHead head(1, 96, random);
  const auto sums = AnyNumbers<uint32_t>(size_t{5} * 96, random);
  std::vector<int16_t> expected(sums.size());
  ScalarKernels().bands->number_sums(sums.data(), 5, 96, head.Rounding(), expected.data());
  for (const Kernels* kernels : UsableKernels()) {
    std::vector<int16_t> got(sums.size());
    kernels->bands->number_sums(sums.data(), 5, 96, head.Rounding(), got.data());
    EXPECT_EQ(got, expected) << kernels->name;
  }
}

TEST(BandKernels, TurnRowsAround) {
  Random random(3);
  for (const uint32_t tokens : {1U, 7U, 8U, 16U, 29U}) {
    constexpr uint32_t kCount = 48;
    auto numbers = AnyNumbers<int16_t>(size_t{kCount} * tokens + 8, random);
    std::vector<uint32_t> places;
    for (uint32_t i = 0; i < kCount; ++i) {
      places.push_back(i * 5 % kCount);
    }
    const NumberRows<int16_t> rows = {numbers.data(), tokens, places.data()};
    const NumberRows<const int16_t> read = {numbers.data(), tokens, places.data()};
    std::vector<int16_t> expected(size_t{kCount} * tokens);
    ScalarKernels().bands->gather_rows(read, kCount, tokens, expected.data(), kCount);
    const std::vector<int16_t> before = numbers;
    for (const Kernels* kernels : UsableKernels()) {
      std::vector<int16_t> got(expected.size());
      kernels->bands->gather_rows(read, kCount, tokens, got.data(), kCount);
      ASSERT_EQ(got, expected) << kernels->name << " " << tokens;
      std::fill(numbers.begin(), numbers.end() - 8, int16_t{0});
      kernels->bands->scatter_rows(got.data(), kCount, kCount, tokens, rows);
      ASSERT_EQ(numbers, before) << kernels->name << " " << tokens;
    }
  }
}

TEST(BandKernels, AgreeOnUpperPartsAndLowerBits) {
  Random random(4);
  SymbolTable symbols;
  symbols.shares = {0, 1, 5, 20, 30, 40, 20, 40, 20, 30, 20, 10, 8, 5, 2, 5};
  ASSERT_TRUE(symbols.IsSound());
  const RansTable table = symbols.ForCoding();
  for (uint8_t shift = 0; shift <= SymbolTable::kShiftMax; ++shift) {
    for (const size_t count : {1U, 31U, 64U, 100U, 161U}) {
      auto numbers = AnyNumbers<int16_t>(count, random);
      for (size_t i = 0; i < count; i += 2) {  // Mostly small.
        numbers[i] = static_cast<int16_t>(numbers[i] % (12 << shift));
      }
      const RawPlanes raw = RawPlanes::Of(shift, count);
      std::vector<uint8_t> expected(count);
      std::vector<std::byte> planes(raw.bytes() + 8);
      ScalarKernels().bands->narrow_numbers(numbers, table, raw, 0, planes.data(), expected.data());
      std::vector<uint8_t> uppers(count);
      for (size_t i = 0; i < count; ++i) {
        uppers[i] = static_cast<uint8_t>(numbers[i] >> shift);
      }
      std::vector<int16_t> widened(count);
      const bool far =
          ScalarKernels().bands->widen_uppers(uppers, raw, planes.data(), 0, widened.data());
      for (const Kernels* kernels : UsableKernels()) {
        std::vector<uint8_t> got(count);
        std::vector<std::byte> got_planes(planes.size());
        kernels->bands->narrow_numbers(numbers, table, raw, 0, got_planes.data(), got.data());
        ASSERT_EQ(got, expected) << kernels->name << " " << count;
        ASSERT_EQ(got_planes, planes) << kernels->name << " " << count << " " << int{shift};
        std::vector<int16_t> again(count);
        ASSERT_EQ(kernels->bands->widen_uppers(uppers, raw, planes.data(), 0, again.data()), far);
        ASSERT_EQ(again, widened) << kernels->name;
      }
    }
  }
}

TEST(ByteKernels, AgreeWithTheWiderOnesWhereNumbersFit) {
  Random random(5);
  for (const uint32_t size : kHeadSizes) {
    for (int kind = 0; kind < 4; ++kind) {
      AnyHead head(3, size, random, static_cast<size_t>(kind) * 2);
      head.Turn(kind, random);
      const size_t stride = SplitSize(size);
      const auto narrow = AnyNumbers<int8_t>(stride * head.tokens, random);
      const std::vector<int16_t> wide(narrow.begin(), narrow.end());
      const HeadRows<std::byte> to = head.Rows<std::byte>(HalfType::kBf16);
      std::fill(head.page.begin(), head.page.end(), std::byte{0});
      ScalarKernels().bands->restore_numbers(to, head.scales.data(), wide.data(), stride);
      const std::vector<std::byte> expected = head.page;
      for (const Kernels* kernels : UsableKernels()) {
        std::fill(head.page.begin(), head.page.end(), std::byte{0});
        kernels->bytes->restore_numbers(to, head.scales.data(), narrow.data(), stride);
        ASSERT_EQ(head.page, expected) << kernels->name << " " << size;
      }
    }
  }
}

// Values of a size, whatever the head had.
void FillWithValues(AnyHead& head, float largest, HalfType type, Random& random) {
  for (uint32_t token = 0; token < head.tokens; ++token) {
    for (uint32_t i = 0; i < head.size; ++i) {
      const float value = largest * (static_cast<float>(random.Below(2001)) / 1000 - 1);
      const uint16_t bits = FromFloat(type, value);
      std::memcpy(head.rows[token] + size_t{i} * 2, &bits, 2);
    }
  }
  std::fill(head.means.begin(), head.means.end(), 0.0F);
  std::fill(head.scales.begin(), head.scales.end(), 1.0F);
}

// A head's numbers by component, in rows in any order, and whether they fit.
struct ByteRows {
  bool fits;
  std::vector<std::vector<int8_t>> of_value;

  ByteRows(const Kernels& kernels, const AnyHead& head, HalfType type, uint32_t parts) {
    const uint32_t padded = SplitSize(head.size);
    std::vector<uint32_t> places(padded, head.size);  // What is nobody's goes behind all others.
    for (uint32_t i = 0; i < head.size; ++i) {
      places[i] = head.size - 1 - i;
    }
    std::vector<int8_t> numbers(size_t{head.size + 1} * head.tokens);
    const std::vector<const std::byte*> rows(head.rows.begin(), head.rows.end());
    const RowTurns turns = head.Rows<std::byte>(type).turns;
    const HeadRows<const std::byte> from = {rows.data(), head.tokens, 1,     0,
                                            head.size,   type,        turns, head.means.data()};
    const uint32_t pairs = GroupPairs(turns, head.size).count();
    fits = true;
    for (uint32_t done = 0; done < pairs; done += parts) {
      fits &= kernels.bytes->number_rows(from, head.Rounding(), done, std::min(parts, pairs - done),
                                         {numbers.data(), head.tokens, places.data()});
    }
    for (uint32_t i = 0; i < head.size; ++i) {
      const auto row = numbers.begin() + static_cast<std::ptrdiff_t>(places[i] * head.tokens);
      of_value.emplace_back(row, row + head.tokens);
    }
  }
};

TEST(ByteKernels, MakeRowsOfNumbersThatFit) {
  Random random(6);
  for (const uint32_t size : kHeadSizes) {
    for (int kind = 0; kind < 4; ++kind) {
      for (const HalfType type : {HalfType::kBf16, HalfType::kFp16}) {
        AnyHead head(1 + static_cast<uint32_t>(random.Below(40)), size, random);
        head.Turn(kind, random);
        FillWithValues(head, 15000, type, random);
        const std::vector<const std::byte*> rows(head.rows.begin(), head.rows.end());
        const HeadRows<const std::byte> from = {
            rows.data(),      head.tokens, 1, 0, size, type, head.Rows<std::byte>(type).turns,
            head.means.data()};
        const size_t stride = SplitSize(size);
        std::vector<int16_t> wide(stride * head.tokens);
        ScalarKernels().bands->number_values(from, head.Rounding(), wide.data(), stride);
        for (const Kernels* kernels : UsableKernels()) {
          const ByteRows made(*kernels, head, type, 1 + static_cast<uint32_t>(kind));
          ASSERT_TRUE(made.fits) << kernels->name << " " << size << " " << kind;
          for (uint32_t i = 0; i < size * head.tokens; ++i) {
            ASSERT_EQ(made.of_value[i % size][i / size], wide[i / size * stride + i % size])
                << kernels->name << " " << size << " " << kind << " " << i;
          }
        }
      }
    }
  }
}

// Values from nearly 0 to far beyond what a byte holds, and such as are no numbers.
TEST(ByteKernels, SayWhetherNumbersFit) {
  Random random(6);
  size_t fitting = 0;
  for (uint32_t round = 0; round < 200; ++round) {
    AnyHead head(2, round % 2 == 0 ? 128 : 37, random);
    head.Turn(static_cast<int>(round % 4), random);
    FillWithValues(head, static_cast<float>(round) / 200 * 256 * 256, HalfType::kBf16, random);
    if (round < 3) {
      const uint16_t odd_one = std::array<uint16_t, 3>{0x7f80, 0xffc0, 0x7b81}[round];
      std::memcpy(head.rows[1], &odd_one, 2);
    }
    const ByteRows expected(ScalarKernels(), head, HalfType::kBf16, 1);
    fitting += expected.fits ? 1 : 0;
    EXPECT_TRUE(round >= 3 || !expected.fits) << round;
    for (const Kernels* kernels : UsableKernels()) {
      const ByteRows made(*kernels, head, HalfType::kBf16, 1);
      ASSERT_EQ(made.fits, expected.fits) << kernels->name << " " << round;
      ASSERT_TRUE(!made.fits || made.of_value == expected.of_value) << kernels->name << round;
    }
  }
  EXPECT_GT(fitting, 50u);
  EXPECT_LT(fitting, 150u);
}

TEST(ByteKernels, TurnRowsAround) {
  Random random(7);
  for (const uint32_t tokens : {1U, 15U, 16U, 32U, 37U}) {
    constexpr uint32_t kCount = 64;
    const auto numbers = AnyNumbers<int8_t>(size_t{kCount} * tokens + 16, random);
    std::vector<uint32_t> places;
    for (uint32_t i = 0; i < kCount; ++i) {
      places.push_back(i * 5 % kCount);
    }
    const NumberRows<const int8_t> read = {numbers.data(), tokens, places.data()};
    std::vector<int8_t> expected(size_t{kCount} * tokens);
    ScalarKernels().bytes->gather_rows(read, kCount, tokens, expected.data(), kCount);
    for (const Kernels* kernels : UsableKernels()) {
      std::vector<int8_t> got(expected.size());
      kernels->bytes->gather_rows(read, kCount, tokens, got.data(), kCount);
      ASSERT_EQ(got, expected) << kernels->name << " " << tokens;
    }
  }
}

TEST(ByteKernels, AgreeOnUpperPartsAndLowerBits) {
  Random random(8);
  SymbolTable symbols;
  symbols.shares = {0, 1, 5, 20, 30, 40, 20, 40, 20, 30, 20, 10, 8, 5, 2, 5};
  const RansTable table = symbols.ForCoding();
  for (uint8_t shift = 0; shift <= SymbolTable::kShiftMax; ++shift) {
    for (const size_t count : {1U, 31U, 64U, 100U, 161U}) {
      const auto numbers = AnyNumbers<int8_t>(count, random);
      const RawPlanes raw = RawPlanes::Of(shift, count);
      std::vector<uint8_t> expected(count);
      std::vector<std::byte> planes(raw.bytes());
      ScalarKernels().bytes->narrow_numbers(numbers, table, raw, 0, planes.data(), expected.data());
      std::vector<uint8_t> uppers(count);
      for (size_t i = 0; i < count; ++i) {
        uppers[i] = static_cast<uint8_t>(numbers[i] >> shift);
      }
      const bool far = std::find(uppers.begin(), uppers.end(), SymbolTable::kFar) != uppers.end();
      auto beyond = uppers;
      beyond[count / 2] = static_cast<uint8_t>(random.Below(128) + (64U >> shift) + 64);
      for (const Kernels* kernels : UsableKernels()) {
        std::vector<uint8_t> got(count);
        std::vector<std::byte> got_planes(planes.size());
        kernels->bytes->narrow_numbers(numbers, table, raw, 0, got_planes.data(), got.data());
        ASSERT_EQ(got, expected) << kernels->name << " " << count;
        ASSERT_EQ(got_planes, planes) << kernels->name << " " << count << " " << int{shift};
        std::vector<int8_t> again(count);
        ASSERT_EQ(kernels->bytes->widen_uppers(uppers, raw, planes.data(), 0, again.data()), !far);
        ASSERT_EQ(again, numbers) << kernels->name;
        ASSERT_EQ(kernels->bytes->widen_uppers(beyond, raw, planes.data(), 0, again.data()),
                  ScalarKernels().bytes->widen_uppers(beyond, raw, planes.data(), 0, again.data()))
            << kernels->name << " " << int{shift};
      }
    }
  }
}

}  // namespace
}  // namespace kvcast
