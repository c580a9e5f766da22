#include "kvcast/base/byte_reader.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <array>
#include <string>
#include <vector>

#include "kvcast/base/byte_writer.h"
#include "kvcast/base/hex.h"
#include "kvcast/base/random.h"
#include "kvcast/base/sanitized_test.h"

namespace kvcast {
namespace {

std::string HexOf(const Bytes& bytes) { return ToHex(AsBytes(bytes.ToString())); }

TEST(ByteWriter, WritesEachIntegerInItsOwnOrder) {
  ByteWriter writer;
  writer.U8(0x01);
  writer.U16Be(0x0203);
  writer.U16Le(0x0504);
  writer.U32Le(0x09080706);
  writer.U64Le(0x11100f0e0d0c0b0a);
  writer.Vi64(15293);
  EXPECT_EQ(HexOf(writer.Take()), "0102030405060708090a0b0c0d0e0f1011bbbd");
  EXPECT_EQ(writer.size(), 0u);
}

// What is short may wait in thousands.
TEST(ByteWriter, TakesLittleMoreMemoryThanWasWritten) {
  if (kSanitized) {
    GTEST_SKIP() << "a sanitizer's heap is no measure";
  }
  constexpr size_t kCount = 1000;
  std::vector<Bytes> kept(kCount);
  const size_t before = mallinfo2().uordblks;
  for (Bytes& each : kept) {
    ByteWriter writer;
    writer.Vi64(12345);
    each = writer.Take();
  }
  EXPECT_LT(mallinfo2().uordblks - before, kCount * 300);
}

TEST(ByteWriter, WritesWhatIsLongerThanItsStageToo) {
  for (const size_t length : {1u, 255u, 256u, 257u, 600u, 5000u}) {
    ByteWriter writer;
    std::string expected;
    for (size_t i = 0; i < 5; ++i) {
      const std::string piece(length, static_cast<char>('a' + i));
      writer.Write(piece);
      writer.Share(Bytes::Of("-"));
      expected += piece + "-";
      EXPECT_EQ(writer.size(), expected.size());
    }
    EXPECT_EQ(writer.Take().ToString(), expected);
    EXPECT_EQ(writer.size(), 0u);
  }
}

TEST(ByteWriter, RefersToPayloadsInsteadOfCopyingThem) {
  const Bytes payload = Bytes::Of("payload");
  ByteWriter writer;
  writer.Write("[");
  writer.Share(payload);
  writer.Write("]");
  const Bytes bytes = writer.Take();
  EXPECT_EQ(bytes.ToString(), "[payload]");
  EXPECT_EQ(bytes.piece(1).data(), payload.piece(0).data());
}

TEST(ByteReader, NeverReadsPastTheEndAndSaysWhereItStood) {
  const Bytes bytes = Bytes::Of("abc");
  ByteReader reader(bytes);
  EXPECT_TRUE(reader.U16Le().ok());
  const Result<uint32_t> missing = reader.U32Le();
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().offset(), 2u);
  EXPECT_EQ(*reader.U8(), 'c');  // A failed read consumed nothing.
  EXPECT_TRUE(reader.done());
  EXPECT_FALSE(reader.U8().ok());
  EXPECT_FALSE(reader.Vi64().ok());
}

// A claimed length sizes nothing before the bytes are known to be there.
TEST(ByteReader, DoesNotBelieveALength) {
  const Bytes bytes = Bytes::Of("abc");
  ByteReader reader(bytes);
  EXPECT_FALSE(reader.Text(SIZE_MAX).ok());
  EXPECT_FALSE(reader.Take(SIZE_MAX).ok());
  EXPECT_FALSE(reader.Skip(SIZE_MAX).ok());
  EXPECT_EQ(reader.remaining(), 3u);
}

TEST(ByteReader, SharesWhatItTakes) {
  const Bytes bytes = Bytes::Of("head payload");
  ByteReader reader(bytes);
  ASSERT_TRUE(reader.Skip(5).ok());
  const Bytes payload = *reader.Take(7);
  EXPECT_EQ(payload.ToString(), "payload");
  EXPECT_EQ(payload.piece(0).data(), bytes.piece(0).data() + 5);
}

// Where the chunks end must not matter to any value.
TEST(ByteReader, ReadsTheSameHoweverTheInputIsCut) {
  ByteWriter writer;
  writer.U64Le(0x0123456789abcdef);
  writer.Vi64(70423237261249041);
  writer.U16Be(0xcafe);
  writer.Write("text");
  const std::string whole = writer.Take().ToString();
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    Bytes cut;
    for (size_t at = 0; at < whole.size();) {
      const size_t length = 1 + random.Below(std::min<size_t>(6, whole.size() - at));
      cut.Append(Bytes::Of(whole.substr(at, length)));
      at += length;
    }
    ByteReader reader(cut);
    EXPECT_EQ(*reader.U64Le(), 0x0123456789abcdefu);
    EXPECT_EQ(*reader.Vi64(), 70423237261249041u);
    EXPECT_EQ(*reader.U16Be(), 0xcafe);
    EXPECT_EQ(*reader.Text(4), "text");
    EXPECT_TRUE(reader.done());
  }
}

TEST(ByteReader, WritesAndReadsALargeInput) {
  ByteWriter writer;
  for (uint32_t i = 0; i < 300000; ++i) {
    writer.U32Le(i);
  }
  const Bytes bytes = writer.Take();
  ByteReader reader(bytes);
  for (uint32_t i = 0; i < 300000; ++i) {
    ASSERT_EQ(*reader.U32Le(), i);
  }
}

}  // namespace
}  // namespace kvcast
