#include "kvcast/codec/codec.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kvcast/base/check_sum.h"
#include "kvcast/base/hex.h"
#include "kvcast/codec/coded_object.h"
#include "kvcast/codec/coded_pages_test.h"
#include "kvcast/codec/survey.h"

namespace kvcast {
namespace {

constexpr Rung kBuiltRungs[] = {Rung::kFp16, Rung::kBf16, Rung::kFp8,          Rung::kInt8,
                                Rung::kFp4,  Rung::kInt4, Rung::kBf16Lossless, Rung::kFp16Lossless};

HalfType TypeFor(Rung rung) {
  return rung == Rung::kFp16 || rung == Rung::kFp16Lossless ? HalfType::kFp16 : HalfType::kBf16;
}

// MHA with odd sizes, GQA, and a latent beside them.
const BlockShape& CodecShape() {
  static const BlockShape shape({{2, 40, 24}, {4, 16, 33}, {1, 70, 0}}, 6);
  return shape;
}

struct Source {
  explicit Source(Rung rung, const BlockShape& shape = CodecShape(), uint64_t seed = 1)
      : pages(shape, PageOrder::kHnd, KvPlacement::kPagesFirst) {
    pages.FillLikeACache(TypeFor(rung), seed);
    Survey survey(shape, TypeFor(rung));
    survey.Add(pages.Block());
    TrackFormat format = *survey.FormatOf(rung);
    format.run_tokens = std::min(format.run_tokens, 4U);  // Several objects, the last one shorter.
    codec = *Codec::Of(format, TypeFor(rung));
  }
  TestPages pages;
  std::unique_ptr<const Codec> codec;
};

// Decodes all, last object first.
Result<void> DecodeAll(const Codec& codec, const std::vector<Bytes>& objects, BlockView& to) {
  for (size_t i = objects.size(); i-- > 0;) {
    const uint32_t first = static_cast<uint32_t>(i) * codec.format().run_tokens;
    KVCAST_TRY(const uint32_t tokens, codec.Decode(objects[i], first, to));
    EXPECT_EQ(tokens, codec.TokensFrom(first));
  }
  return {};
}

// Largest error of a value by the largest value.
float RelativeError(Rung rung, const BlockView& a, const BlockView& b) {
  float error = 0;
  float largest = 0;
  ForEachValue(a, b, [&](uint16_t x, uint16_t y) {
    error = std::max(error, std::abs(ToFloat(TypeFor(rung), x) - ToFloat(TypeFor(rung), y)));
    largest = std::max(largest, std::abs(ToFloat(TypeFor(rung), x)));
  });
  return error / largest;
}

// Engines with other page layouts share: what one wrote, another reads.
TEST(Codec, CarriesABlockFromAnyLayoutIntoAnyOther) {
  for (const Rung rung : kBuiltRungs) {
    const Source source(rung);
    const std::vector<Bytes> objects = source.codec->EncodeBlock(source.pages.Block());
    TestPages reference(CodecShape());
    BlockView reference_block = reference.Block();
    ASSERT_TRUE(DecodeAll(*source.codec, objects, reference_block).ok());
    for (const PageOrder order : {PageOrder::kNhd, PageOrder::kHnd}) {
      for (const KvPlacement placement :
           {KvPlacement::kApart, KvPlacement::kPlanesFirst, KvPlacement::kPagesFirst}) {
        TestPages pages(CodecShape(), order, placement);
        BlockView target = pages.Block();
        ASSERT_TRUE(DecodeAll(*source.codec, objects, target).ok());
        EXPECT_TRUE(SameValues(target, reference_block)) << ToString(rung);
      }
    }
  }
}

// More tokens than are worked on together.
const BlockShape& LongShape() {
  static const BlockShape shape({{2, 40, 24}, {4, 64, 64}}, 21);
  return shape;
}

std::vector<std::span<const std::byte>> SpansOf(const std::vector<Bytes>& objects) {
  std::vector<std::span<const std::byte>> spans;
  for (const Bytes& object : objects) {
    EXPECT_EQ(object.piece_count(), 1);
    spans.push_back(object.piece(0));
  }
  return spans;
}

TEST(Codec, MakesOfSeveralTokensWhatItMakesOfEach) {
  for (const Rung rung : kBuiltRungs) {
    const Source source(rung, LongShape());
    const Codec& codec = *source.codec;
    const std::vector<Bytes> objects = codec.EncodeBlock(source.pages.Block());
    for (size_t i = 0; i < objects.size(); ++i) {
      const auto token = static_cast<uint32_t>(i) * codec.format().run_tokens;
      EXPECT_EQ(codec.Encode(source.pages.Block(), token), objects[i]) << ToString(rung);
    }
    TestPages one_by_one(LongShape());
    BlockView expected = one_by_one.Block();
    ASSERT_TRUE(DecodeAll(codec, objects, expected).ok());
    TestPages together(LongShape());
    BlockView got = together.Block();
    const Codec::Decoded decoded = codec.DecodeSeveral(SpansOf(objects), 0, got);
    EXPECT_FALSE(decoded.fault);
    EXPECT_EQ(decoded.objects, objects.size());
    EXPECT_EQ(together.buffers(), one_by_one.buffers()) << ToString(rung);
  }
}

TEST(Codec, DecodesSeveralUpToTheFirstThatIsDamaged) {
  for (const Rung rung : kBuiltRungs) {
    const Source source(rung, LongShape());
    const Codec& codec = *source.codec;
    const std::vector<Bytes> objects = codec.EncodeBlock(source.pages.Block());
    for (const size_t wrong : {size_t{0}, size_t{3}, objects.size() - 1}) {
      std::vector<std::byte> damaged(objects[wrong].size());
      objects[wrong].CopyTo(damaged);
      damaged.back() ^= std::byte{1};
      std::vector<std::span<const std::byte>> spans = SpansOf(objects);
      spans[wrong] = damaged;
      TestPages expected(LongShape());
      BlockView expected_block = expected.Block();
      const std::vector<Bytes> before(objects.begin(),
                                      objects.begin() + static_cast<std::ptrdiff_t>(wrong));
      ASSERT_TRUE(DecodeAll(codec, before, expected_block).ok());
      TestPages pages(LongShape());
      BlockView block = pages.Block();
      const Codec::Decoded decoded = codec.DecodeSeveral(spans, 0, block);
      ASSERT_TRUE(decoded.fault) << ToString(rung);
      EXPECT_EQ(decoded.objects, wrong) << ToString(rung);
      EXPECT_EQ(decoded.fault->code(), ErrorCode::kMismatch);
      EXPECT_EQ(pages.buffers(), expected.buffers()) << ToString(rung);
    }
  }
}

TEST(Codec, ComesAsNearAsTheRungPromises) {
  const std::pair<Rung, float> most[] = {{Rung::kFp16, 0.0F},         {Rung::kBf16, 0.0F},
                                         {Rung::kBf16Lossless, 0.0F}, {Rung::kFp16Lossless, 0.0F},
                                         {Rung::kInt8, 0.5F / 126},   {Rung::kFp8, 1.0F / 16},
                                         {Rung::kInt4, 1.05F / 15},   {Rung::kFp4, 1.1F / 6}};
  for (const auto& [rung, bound] : most) {
    const Source source(rung);
    TestPages pages(CodecShape());
    BlockView target = pages.Block();
    ASSERT_TRUE(
        DecodeAll(*source.codec, source.codec->EncodeBlock(source.pages.Block()), target).ok());
    const float error = RelativeError(rung, source.pages.Block(), target);
    EXPECT_LE(error, bound) << ToString(rung);
    EXPECT_EQ(error == 0, bound == 0) << ToString(rung);  // It is what it says, and not better.
  }
}

// Any bits at all survive, NaN among them, and exponents that no table foresaw.
TEST(Codec, LosslessRungsAreExactForAnyBits) {
  for (const Rung rung : {Rung::kBf16Lossless, Rung::kFp16Lossless}) {
    const Source foreseen(rung);
    TestPages noise(CodecShape());
    noise.FillWithNoise(8);
    TestPages pages(CodecShape());
    BlockView target = pages.Block();
    for (const Kernels* kernels : UsableKernels()) {
      const auto codec = *Codec::Of(foreseen.codec->format(), TypeFor(rung), *kernels);
      ASSERT_TRUE(DecodeAll(*codec, codec->EncodeBlock(noise.Block()), target).ok());
      EXPECT_TRUE(SameValues(noise.Block(), target)) << kernels->name;
    }
  }
}

TEST(Codec, TellsAnObjectsSizeBeforehand) {
  // 8 bytes of header; scales and codes of 6 planes.
  const std::pair<Rung, size_t> bytes[] = {
      {Rung::kBf16, 2 * (2 * 64 + 4 * 49 + 70)},
      {Rung::kFp8, 2 * 64 + 4 * 49 + 70},
      {Rung::kInt8, 2 * 64 + 4 * 49 + 70 + 2 * (4 + 8 + 1)},
      {Rung::kInt4, 2 * (20 + 12) + 4 * (8 + 17) + 35 + 4 * (2 * 3 + 4 * 3 + 3)},
      {Rung::kFp4, 2 * (20 + 12) + 4 * (8 + 17) + 35 + (2 * 5 + 4 * 4 + 5)}};
  for (const auto& [rung, size] : bytes) {
    const Source source(rung);
    EXPECT_EQ(source.codec->ObjectBytesMax(), CodedObject::kHeaderBytes + size) << ToString(rung);
    for (const Bytes& object : source.codec->EncodeBlock(source.pages.Block())) {
      EXPECT_EQ(object.size(), source.codec->ObjectBytesMax());
    }
  }
}

// The table of what a rung may cost, for a model of 8 layers with 4 heads of 64.
TEST(Codec, CostsNoMoreBitsThanItsRungMay) {
  const BlockShape shape(std::vector<LayerShape>(8, {4, 64, 64}), 32);
  const std::pair<Rung, double> most[] = {
      {Rung::kInt8, 8.35}, {Rung::kFp8, 8.1}, {Rung::kInt4, 5.1}, {Rung::kFp4, 4.6}};
  for (const auto& [rung, bits] : most) {
    const Source source(rung, shape);
    size_t total = source.codec->format().Encode().size();
    for (const Bytes& object : source.codec->EncodeBlock(source.pages.Block())) {
      total += object.size();
    }
    EXPECT_LE(8.0 * static_cast<double>(total),
              bits * static_cast<double>(shape.values_per_token() * shape.tokens()))
        << ToString(rung);
  }
}

TEST(Codec, WritesNothingFromADamagedObject) {
  const BlockShape shape({{2, 5, 3}, {1, 7, 0}}, 6);
  for (const Rung rung : kBuiltRungs) {
    const Source source(rung, shape);
    const std::string good = source.codec->Encode(source.pages.Block(), 0).ToString();
    TestPages pages(shape);
    pages.FillWithNoise(2);
    const auto untouched = pages.buffers();
    BlockView target = pages.Block();
    for (size_t bit = 0; bit < good.size() * 8; ++bit) {
      std::string bad = good;
      bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
      ASSERT_FALSE(source.codec->Decode(Bytes::Of(bad), 0, target).ok()) << bit;
    }
    EXPECT_FALSE(source.codec->Decode(Bytes::Of(good.substr(1)), 0, target).ok());
    EXPECT_FALSE(source.codec->Decode(Bytes::Of(good + "x"), 0, target).ok());
    EXPECT_FALSE(source.codec->Decode(Bytes(), 0, target).ok());
    EXPECT_EQ(pages.buffers(), untouched) << ToString(rung);
  }
}

// A writer that means harm can make the check fit: what it may write is still bounded.
TEST(Codec, RefusesScalesThatNobodyWrites) {
  const BlockShape shape({{1, 32, 0}}, 1);
  for (const Rung rung : {Rung::kInt8, Rung::kInt4, Rung::kFp4}) {
    const Source source(rung, shape);
    const std::string good = source.codec->Encode(source.pages.Block(), 0).ToString();
    TestPages pages(shape);
    BlockView target = pages.Block();
    std::vector<std::byte> bad(AsBytes(good).begin(), AsBytes(good).end());
    bad[CodedObject::kHeaderBytes] = std::byte{0xff};
    bad[CodedObject::kHeaderBytes + 1] = std::byte{0x7f};
    CodedObject::Seal(rung, 1, Crc32c(AsBytes(source.codec->format().Encode())), bad);
    EXPECT_FALSE(source.codec->Decode(Bytes::Copy(bad), 0, target).ok()) << ToString(rung);
  }
}

TEST(Codec, RefusesObjectsOfAnotherTrack) {
  for (const Rung rung : kBuiltRungs) {
    const Source source(rung);
    const Bytes object = source.codec->Encode(source.pages.Block(), 0);
    TestPages pages(CodecShape());
    BlockView target = pages.Block();
    TrackFormat other = source.codec->format();
    other.calibration = Sha256::Of("another one");
    EXPECT_FALSE((*Codec::Of(other, TypeFor(rung)))->Decode(object, 0, target).ok());
    other = source.codec->format();
    other.first_head = 2;
    EXPECT_FALSE((*Codec::Of(other, TypeFor(rung)))->Decode(object, 0, target).ok());
  }
}

// A run stands where it was made for: another place may be of another length.
TEST(Codec, RefusesARunAtAnotherToken) {
  const Source source(Rung::kBf16Lossless);
  ASSERT_EQ(source.codec->format().run_tokens, 4u);
  const std::vector<Bytes> objects = source.codec->EncodeBlock(source.pages.Block());
  ASSERT_EQ(objects.size(), 2u);
  TestPages pages(CodecShape());
  BlockView target = pages.Block();
  EXPECT_FALSE(source.codec->Decode(objects[0], 4, target).ok());
  EXPECT_FALSE(source.codec->Decode(objects[1], 0, target).ok());
  EXPECT_FALSE(source.codec->Decode(objects[0], 2, target).ok());
}

// A rank of a tensor-parallel engine writes and reads its heads, a layer-wise reader its layers.
TEST(Codec, SlicesStandAlone) {
  const BlockShape whole(std::vector<LayerShape>(3, {4, 32, 16}), 5);
  for (const Rung rung : kBuiltRungs) {
    TestPages from(whole);
    from.FillLikeACache(TypeFor(rung), 3);
    const Slice slice = {IndexRange{1, 2}, IndexRange{2, 3}};
    const BlockView part = from.Block(slice);
    Survey survey(part.shape(), TypeFor(rung), slice);
    survey.Add(part);
    const auto codec = *Codec::Of(*survey.FormatOf(rung), TypeFor(rung));
    TestPages to(whole, PageOrder::kHnd);
    TestPages alone(part.shape());
    BlockView to_part = to.Block(slice);
    BlockView alone_block = alone.Block();
    const std::vector<Bytes> objects = codec->EncodeBlock(part);
    ASSERT_TRUE(DecodeAll(*codec, objects, to_part).ok());
    ASSERT_TRUE(DecodeAll(*codec, objects, alone_block).ok());
    EXPECT_TRUE(SameValues(to_part, alone_block)) << ToString(rung);
    BlockView rest = to.Block({IndexRange{0, 0}, std::nullopt});
    bool zeros = true;
    ForEachValue(rest, rest, [&](uint16_t x, uint16_t) { zeros = zeros && x == 0; });
    EXPECT_TRUE(zeros) << ToString(rung);
  }
}

TEST(Codec, ExactRungsDoNotConvert) {
  const Source source(Rung::kBf16);
  const Result<std::unique_ptr<const Codec>> codec =
      Codec::Of(source.codec->format(), HalfType::kFp16);
  ASSERT_FALSE(codec.ok());
  EXPECT_EQ(codec.error().code(), ErrorCode::kUnsupported);
  TrackFormat unbuilt = source.codec->format();
  unbuilt.rung = Rung::kAc;
  EXPECT_EQ(Codec::Of(unbuilt, HalfType::kBf16).error().code(), ErrorCode::kUnsupported);
}

// The bytes are a contract with other versions and languages.
TEST(Codec, WritesTheCanonicalOrder) {
  const BlockShape shape({{2, 1, 1}}, 1);
  std::vector<std::byte> keys = *FromHex("01020304");
  std::vector<std::byte> values = *FromHex("05060708");
  const LayerMemory memory[] = {{keys, values}};
  const PagedCache cache =
      *PagedCache::Of(shape, {PageOrder::kNhd, KvPlacement::kApart, 1, 2}, memory);
  const uint32_t table[] = {0};
  const BlockView block = *BlockView::Of(cache, table, 0, 1);
  const std::string payload = Codec::Plain(Rung::kBf16, shape)->Encode(block, 0).ToString();
  EXPECT_EQ(ToHex(AsBytes(payload.substr(0, 4))), "03010100");
  EXPECT_EQ(ToHex(AsBytes(payload.substr(8))), "0102030405060708");
}

}  // namespace
}  // namespace kvcast
