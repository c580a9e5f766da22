#include "kvcast/codec/band_codec.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kvcast/codec/band_rows.h"
#include "kvcast/codec/band_samples_test.h"

namespace kvcast {
namespace {

const Rope kNoTurning;
const Rope kTurning{0, false, {uint64_t{1} << 61, uint64_t{1} << 58, uint64_t{1} << 55}};

struct BandShape {
  const char* name;
  std::vector<LayerShape> layers;
  Rope rope;
};

const BandShape kBandShapes[] = {
    {"heads", {{2, 16, 12}, {2, 16, 12}}, kTurning},
    {"heads that are not turned", {{3, 10, 10}}, kNoTurning},
    {"a latent whose end is turned", {{1, 22, 0}}, {16, true, kTurning.turns}},
    {"layers that differ", {{2, 8, 8}, {1, 20, 0}, {4, 6, 4}}, kTurning},
};

// The error's share of the values, as a root of squares; 1 is as bad as nothing.
double ErrorShare(const BlockView& a, const BlockView& b, HalfType type) {
  double errors = 0;
  double squares = 0;
  for (uint32_t token = 0; token < a.shape().tokens(); ++token) {
    for (uint32_t layer = 0; layer < a.shape().layers().size(); ++layer) {
      const LayerShape& shape = a.shape().layers()[layer];
      for (const Plane plane : {Plane::kKey, Plane::kValue}) {
        if (shape.size(plane) == 0) {
          continue;
        }
        const BandPlace place{layer, plane, 0, shape.kv_heads, shape.size(plane)};
        std::vector<float> values(place.values());
        std::vector<float> others(place.values());
        ReadUnturned(a, type, place, token, 0, nullptr, values.data());
        ReadUnturned(b, type, place, token, 0, nullptr, others.data());
        for (size_t i = 0; i < values.size(); ++i) {
          errors += std::pow(double{values[i]} - double{others[i]}, 2);
          squares += std::pow(double{values[i]}, 2);
        }
      }
    }
  }
  return std::sqrt(errors / squares);
}

TEST(BandCodec, GivesBackNearlyWhatItWasGivenAtEveryRungShapeAndForm) {
  for (const BandShape& shape : kBandShapes) {
    for (const HalfType type : {HalfType::kBf16, HalfType::kFp16}) {
      for (const BandForm form : {BandForm::kHead, BandForm::kLayer}) {
        const Calibration calibration = BandCalibration(shape.layers, type, form, shape.rope);
        TestPages pages(BlockShape(shape.layers, 24));
        pages.FillLikeACache(type, 77);
        size_t bytes_before = SIZE_MAX;
        double error_before = 0;
        for (const Rung rung : {Rung::kKtcFine, Rung::kKtcMedium, Rung::kKtcCoarse, Rung::kAc}) {
          const auto codec = *Codec::Of(*calibration.FormatOf(rung, 24), type, calibration);
          const Bytes object = codec->Encode(pages.Block(), 0);
          TestPages decoded(pages.Block().shape());
          BlockView block = decoded.Block();
          ASSERT_EQ(codec->Decode(object, 0, block).value(), 24u);
          const double error = ErrorShare(pages.Block(), block, type);
          EXPECT_LT(error, 0.7) << shape.name << ToString(rung);
          if (rung != Rung::kAc) {  // Coarser is smaller and errs more.
            EXPECT_LE(object.size(), bytes_before) << shape.name;
            EXPECT_GT(error, error_before) << shape.name;
            bytes_before = object.size();
            error_before = error;
          }
        }
      }
    }
  }
}

void ExpectTheSameWithEveryKernel(const Calibration& calibration, Rung rung) {
  const TrackFormat format = *calibration.FormatOf(rung, 40);
  TestPages pages(format.Shape());
  pages.FillLikeACache(HalfType::kBf16, 5);
  const auto reference = *Codec::Of(format, HalfType::kBf16, calibration, ScalarKernels());
  const Bytes object = reference->Encode(pages.Block(), 0);
  TestPages expected(format.Shape());
  BlockView expected_block = expected.Block();
  ASSERT_TRUE(reference->Decode(object, 0, expected_block).ok());
  for (const Kernels* kernels : UsableKernels()) {
    const auto codec = *Codec::Of(format, HalfType::kBf16, calibration, *kernels);
    EXPECT_EQ(codec->Encode(pages.Block(), 0), object) << kernels->name;
    TestPages got(format.Shape());
    BlockView got_block = got.Block();
    ASSERT_TRUE(codec->Decode(object, 0, got_block).ok());
    EXPECT_EQ(got.buffers(), expected.buffers()) << kernels->name;
  }
}

TEST(BandCodec, GivesTheSameWithEveryKernel) {
  const Rope wide{0, false, std::vector<uint64_t>(32, uint64_t{1} << 57)};  // Whole vectors.
  const Calibration calibrations[] = {
      BandCalibration(kBandShapes[0].layers, HalfType::kBf16, BandForm::kLayer, kTurning),
      BandCalibration({{2, 64, 32}, {1, 65, 40}}, HalfType::kBf16, BandForm::kHead, wide)};
  for (const Calibration& calibration : calibrations) {
    for (const Rung rung : kBandRungs) {
      ExpectTheSameWithEveryKernel(calibration, rung);
    }
  }
}

// The position travels in the object: where a receiver's pages lie says nothing about it.
TEST(BandCodec, DecodesIntoPagesThatLieElsewhere) {
  const Calibration calibration =
      BandCalibration({{2, 16, 12}}, HalfType::kBf16, BandForm::kHead, kTurning);
  const auto codec =
      *Codec::Of(*calibration.FormatOf(Rung::kKtcFine, 8), HalfType::kBf16, calibration);
  TestPages pages(codec->shape());
  pages.FillLikeACache(HalfType::kBf16, 9);
  TestPages here(codec->shape());
  BlockView block = here.Block();
  ASSERT_TRUE(codec->Decode(codec->Encode(pages.Block(), 0), 0, block).ok());
  std::vector<std::byte> key(2 * 8 * 16 * kPageValueBytes);
  std::vector<std::byte> value(2 * 8 * 12 * kPageValueBytes);
  const std::vector<LayerMemory> memory = {{key, value}};
  const auto cache =
      *PagedCache::Of(codec->shape(), {PageOrder::kNhd, KvPlacement::kApart, 8, 2}, memory);
  BlockView elsewhere = *BlockView::Of(cache, std::vector<uint32_t>{0}, 0, 8);
  ASSERT_NE(elsewhere.position(), pages.Block().position());
  ASSERT_TRUE(codec->Decode(codec->Encode(pages.Block(), 0), 0, elsewhere).ok());
  for (uint32_t token = 0; token < 8; ++token) {
    EXPECT_TRUE(std::ranges::equal(elsewhere.Row(token, 0, Plane::kKey, 1),
                                   block.Row(token, 0, Plane::kKey, 1)));
  }
}

TEST(BandCodec, CodesASliceOfHeadsAsTheWholeWould) {
  const std::vector<LayerShape> layers = {{4, 16, 12}, {4, 16, 12}};
  const Calibration calibration =
      BandCalibration(layers, HalfType::kBf16, BandForm::kHead, kTurning);
  const auto whole =
      *Codec::Of(*calibration.FormatOf(Rung::kKtcMedium, 8), HalfType::kBf16, calibration);
  TestPages pages(whole->shape());
  pages.FillLikeACache(HalfType::kBf16, 11);
  TestPages all(whole->shape());
  BlockView all_block = all.Block();
  ASSERT_TRUE(whole->Decode(whole->Encode(pages.Block(), 0), 0, all_block).ok());
  const Slice slice{IndexRange{1, 1}, IndexRange{2, 3}};
  const auto part =
      *Codec::Of(*calibration.FormatOf(Rung::kKtcMedium, 8, slice), HalfType::kBf16, calibration);
  TestPages some(whole->shape());
  BlockView some_block = some.Block(slice);
  ASSERT_TRUE(part->Decode(part->Encode(pages.Block(slice), 0), 0, some_block).ok());
  for (uint32_t token = 0; token < 8; ++token) {
    for (uint32_t head = 0; head < 2; ++head) {
      EXPECT_TRUE(std::ranges::equal(some_block.Row(token, 0, Plane::kKey, head),
                                     all_block.Row(token, 1, Plane::kKey, head + 2)));
    }
  }
}

TEST(BandCodec, RefusesWhatItsCalibrationDoesNotCover) {
  const std::vector<LayerShape> layers = {{4, 16, 12}};
  const Calibration calibration =
      BandCalibration(layers, HalfType::kBf16, BandForm::kLayer, kTurning);
  const Slice heads{std::nullopt, IndexRange{0, 1}};
  EXPECT_EQ(calibration.FormatOf(Rung::kKtcFine, 8, heads).error().code(), ErrorCode::kUnsupported);
  EXPECT_TRUE(calibration.FormatOf(Rung::kAc, 8, heads).ok());
  const TrackFormat format = *calibration.FormatOf(Rung::kKtcFine, 8);
  EXPECT_EQ(Codec::Of(format, HalfType::kBf16).error().code(), ErrorCode::kUnsupported);
  const Calibration other = BandCalibration(layers, HalfType::kBf16, BandForm::kHead, kTurning);
  EXPECT_EQ(Codec::Of(format, HalfType::kBf16, other).error().code(), ErrorCode::kMismatch);
  TrackFormat wider = format;
  wider.layers[0].kv_heads = 5;
  EXPECT_EQ(Codec::Of(wider, HalfType::kBf16, calibration).error().code(), ErrorCode::kMismatch);
  TrackFormat unnamed = format;
  unnamed.calibration.reset();
  EXPECT_EQ(Codec::Of(unnamed, HalfType::kBf16, calibration).error().code(), ErrorCode::kMismatch);
}

TEST(BandCodec, RefusesEveryObjectThatIsDamaged) {
  const Calibration calibration =
      BandCalibration({{2, 8, 6}}, HalfType::kBf16, BandForm::kHead, kTurning);
  const auto codec =
      *Codec::Of(*calibration.FormatOf(Rung::kKtcFine, 6), HalfType::kBf16, calibration);
  TestPages pages(codec->shape());
  pages.FillLikeACache(HalfType::kBf16, 3);
  const std::string object = codec->Encode(pages.Block(), 0).ToString();
  BlockView block = pages.Block();
  for (size_t i = 0; i < object.size(); ++i) {
    std::string bad = object;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    EXPECT_FALSE(codec->Decode(AsBytes(bad), 0, block).ok()) << i;
    EXPECT_FALSE(codec->Decode(AsBytes(object).first(i), 0, block).ok()) << i;
  }
}

TEST(BandCodec, SurvivesAnyBits) {
  const Calibration calibration =
      BandCalibration({{2, 16, 12}}, HalfType::kBf16, BandForm::kLayer, kTurning);
  for (const Rung rung : kBandRungs) {
    const auto codec = *Codec::Of(*calibration.FormatOf(rung, 8), HalfType::kBf16, calibration);
    TestPages pages(codec->shape());
    pages.FillWithNoise(1);
    const Bytes object = codec->Encode(pages.Block(), 0);
    EXPECT_LE(object.size(), codec->ObjectBytesMax(8));
    BlockView block = pages.Block();
    EXPECT_TRUE(codec->Decode(object, 0, block).ok());
  }
}

// The same samples in the same order, whatever else happened: one digest names one calibration.
TEST(BandCalibration, IsTheSameForTheSameSamples) {
  const auto make = [] {
    return BandCalibration({{2, 16, 12}}, HalfType::kBf16, BandForm::kLayer, kTurning);
  };
  EXPECT_EQ(make().digest(), make().digest());
}

TEST(BandCalibration, IsReadAsItWasWrittenAndNoOtherwise) {
  const Calibration made =
      BandCalibration({{2, 8, 6}, {1, 9, 0}}, HalfType::kFp16, BandForm::kHead, kTurning);
  const Result<Calibration> read = Calibration::Parse(made.file());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read->bands(), *made.bands());
  const std::string covered = made.file().substr(0, made.file().size() - Digest::kBytes);
  for (size_t length = 0; length < covered.size(); length += 7) {
    std::string cut = covered.substr(0, length);
    const Digest digest = Sha256::Of(cut);
    cut.append(reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size());
    EXPECT_FALSE(Calibration::Parse(cut).ok()) << length;
  }
}

// Queries say which errors in K matter: where they are blind, bits are saved.
TEST(BandMoments, SpendNothingWhereNoQueryLooks) {
  const std::vector<LayerShape> layers = {{1, 8, 8}};
  const BlockShape shape(layers, 64);
  TestPages pages(shape);
  pages.FillLikeACache(HalfType::kBf16, 21);
  BandMoments moments(layers, HalfType::kBf16, std::vector<Rope>(1), BandForm::kHead);
  moments.Add(pages.Block());
  std::vector<float> queries(64 * 8);
  for (size_t i = 0; i < queries.size(); ++i) {
    queries[i] = i % 8 == 0 ? 0.0F : static_cast<float>(i % 5) - 2;
  }
  moments.AddQueries(0, queries, 1);
  const Bands bands = moments.Finished();
  for (size_t i = 1; i < 8; ++i) {
    EXPECT_GT(bands.planes[0].ac_step[0], 4 * bands.planes[0].ac_step[i]);
    EXPECT_EQ(bands.planes[1].ac_step[0], bands.planes[1].ac_step[i]);
  }
}

}  // namespace
}  // namespace kvcast
