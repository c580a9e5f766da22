#include "kvcast/kv/value_piece.h"

#include <gtest/gtest.h>

#include <vector>

#include "kvcast/base/random.h"
#include "kvcast/kv/value_format.h"

namespace kvcast {
namespace {

std::vector<std::byte> Value(size_t bytes, uint64_t seed = 1) {
  std::vector<std::byte> value(bytes);
  Random(seed).Fill(value);
  return value;
}

const BlockHash kName = Sha256::Of("a");

TEST(ValuePieces, GiveBackWhatTheyWereMadeOf) {
  for (const size_t bytes : {size_t{1}, ValuePiece::kBodyMax - 1, ValuePiece::kBodyMax,
                             ValuePiece::kBodyMax + 1, 3 * ValuePiece::kBodyMax + 17}) {
    const std::vector<std::byte> value = Value(bytes);
    std::vector<std::byte> place(bytes);
    uint64_t object_bytes = 0;
    for (uint32_t index = 0; index < ValuePiece::CountOf(bytes); ++index) {
      const Bytes piece = ValuePiece::Make(kName, value, index);
      EXPECT_LE(piece.size(), kChunkBytesMax);
      object_bytes += piece.size();
      ASSERT_TRUE(ValuePiece::Take(kName, piece, index, place).ok());
    }
    EXPECT_EQ(place, value);
    EXPECT_EQ(ValuePiece::LengthOf(object_bytes), bytes);
  }
  EXPECT_EQ(ValuePiece::LengthOf(0), 0u);
  EXPECT_EQ(ValuePiece::LengthOf(3), 0u);  // Whatever a catalog says.
}

// Not a byte of the place changes unless all of the piece is right.
TEST(ValuePieces, ThatAreNotAsTheyMustBeReachNoMemory) {
  const std::vector<std::byte> value = Value(ValuePiece::kBodyMax + 100);
  const std::vector<std::byte> before = Value(value.size(), 2);
  std::vector<std::byte> place = before;
  const Bytes piece = ValuePiece::Make(kName, value, 1);
  std::vector<std::byte> copy(piece.size());
  piece.CopyTo(copy);
  for (size_t at = 0; at < copy.size(); ++at) {
    std::vector<std::byte> damaged = copy;
    damaged[at] ^= std::byte{1};
    EXPECT_FALSE(ValuePiece::Take(kName, Bytes::Copy(damaged), 1, place).ok()) << at;
  }
  for (size_t bytes = 0; bytes < copy.size(); ++bytes) {
    EXPECT_FALSE(ValuePiece::Take(kName, piece.Slice(0, bytes), 1, place).ok()) << bytes;
  }
  Bytes longer = piece;
  longer.Append(Bytes::Of("x"));
  EXPECT_FALSE(ValuePiece::Take(kName, longer, 1, place).ok());
  EXPECT_FALSE(ValuePiece::Take(Sha256::Of("b"), piece, 1, place).ok());
  EXPECT_FALSE(ValuePiece::Take(kName, piece, 0, place).ok());
  std::vector<std::byte> larger(value.size() + 1);
  EXPECT_EQ(ValuePiece::Take(kName, piece, 1, larger).error().code(), ErrorCode::kTooLarge);
  EXPECT_EQ(place, before);
}

TEST(ValueFormats, DifferInWhateverAnEngineSaysOfItsBytes) {
  const ValueFormat format{"m", "vllm 0.26 HND bf16 tp=0/2", 16};
  EXPECT_TRUE(format.Check().ok());
  EXPECT_EQ(format.Fingerprint().ToHex(),
            "88a03feb7ff5ccafd4d24315d51f1f9900c5d3601d5e3306794ccda8fe94dc56");
  for (const ValueFormat& other : {ValueFormat{"mv", "llm 0.26 HND bf16 tp=0/2", 16},
                                   ValueFormat{"m", "vllm 0.26 NHD bf16 tp=0/2", 16},
                                   ValueFormat{"m", "vllm 0.26 HND bf16 tp=0/2", 32}}) {
    EXPECT_NE(other.Fingerprint(), format.Fingerprint());
  }
  EXPECT_FALSE((ValueFormat{"m", "", 16}).Check().ok());
  EXPECT_FALSE((ValueFormat{"m", std::string(4097, 'x'), 16}).Check().ok());
  EXPECT_FALSE((ValueFormat{"m", "x", 15}).Check().ok());
  EXPECT_FALSE((ValueFormat{"m", "x", 1025}).Check().ok());
}

}  // namespace
}  // namespace kvcast
