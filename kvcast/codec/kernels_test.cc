#include "kvcast/codec/kernels.h"

#include <gtest/gtest.h>

#ifdef __SSE2__
#include <xmmintrin.h>
#endif

#include "kvcast/codec/codec.h"
#include "kvcast/codec/coded_pages_test.h"
#include "kvcast/codec/survey.h"

namespace kvcast {
namespace {

constexpr Rung kKernelRungs[] = {Rung::kInt8, Rung::kFp8, Rung::kInt4, Rung::kFp4};

// The odd head sizes are the tails of vectors.
BlockShape KernelShape(uint32_t size) {
  return BlockShape({{3, size, size}, {1, size + 1, 0}, {2, size, 7}}, 2);
}

TrackFormat FormatFor(Rung rung, HalfType type, const TestPages& pages, const BlockShape& shape) {
  Survey survey(shape, type);
  survey.Add(pages.Block());
  return *survey.FormatOf(rung);
}

// Whatever the pages hold, every instruction set writes the same objects, and makes the same values
// of them in either type.
void ExpectAgreement(const BlockShape& shape, const TestPages& pages, HalfType type, Rung rung) {
  const TrackFormat format = FormatFor(rung, type, pages, shape);
  const auto reference = *Codec::Of(format, type, ScalarKernels());
  const std::vector<Bytes> objects = reference->EncodeBlock(pages.Block());
  for (const Kernels* kernels : UsableKernels()) {
    const auto codec = *Codec::Of(format, type, *kernels);
    ASSERT_EQ(codec->EncodeBlock(pages.Block()), objects) << kernels->name << ToString(rung);
    for (const HalfType out : {HalfType::kBf16, HalfType::kFp16}) {
      TestPages expected(shape);
      TestPages got(shape);
      BlockView expected_block = expected.Block();
      BlockView got_block = got.Block();
      for (uint32_t token = 0; token < shape.tokens(); ++token) {
        ASSERT_TRUE((*Codec::Of(format, out, ScalarKernels()))
                        ->Decode(objects[token], token, expected_block)
                        .ok());
        ASSERT_TRUE(
            (*Codec::Of(format, out, *kernels))->Decode(objects[token], token, got_block).ok());
      }
      ASSERT_EQ(got.buffers(), expected.buffers())
          << kernels->name << " " << ToString(rung) << " to " << ToString(out);
    }
  }
}

TEST(Kernels, AgreeOnWhatCachesLookLike) {
  for (const uint32_t size : {64U, 80U, 96U, 128U, 256U, 576U, 1U, 15U, 33U, 47U}) {
    const BlockShape shape = KernelShape(size);
    for (const HalfType type : {HalfType::kBf16, HalfType::kFp16}) {
      TestPages pages(shape, PageOrder::kHnd, KvPlacement::kPagesFirst);
      pages.FillLikeACache(type, size);
      for (const Rung rung : kKernelRungs) {
        ExpectAgreement(shape, pages, type, rung);
      }
    }
  }
}

// Rows enough for kernels that work on many groups at once, and some left over; among values as
// caches have them, now and then any bits.
TEST(Kernels, AgreeOnManyGroups) {
  for (const uint32_t size : {32U, 64U, 128U, 256U, 576U}) {
    const BlockShape shape({{8, size, size}, {11, size, 0}}, 3);
    for (const double odd : {0.0, 0.0003, 0.02}) {
      TestPages pages(shape, PageOrder::kNhd, KvPlacement::kApart);
      pages.FillLikeACache(HalfType::kBf16, size);
      Random random(size);
      for (auto& buffer : pages.buffers()) {
        for (std::byte& byte : buffer) {
          byte = random.Happens(odd) ? static_cast<std::byte>(random.Below(256)) : byte;
        }
      }
      for (const Rung rung : kKernelRungs) {
        ExpectAgreement(shape, pages, HalfType::kBf16, rung);
      }
    }
  }
}

TEST(Kernels, AgreeOnAnyBitsAtAll) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const BlockShape shape = KernelShape(static_cast<uint32_t>(16 + seed * 5));
    for (const HalfType type : {HalfType::kBf16, HalfType::kFp16}) {
      TestPages pages(shape);
      pages.FillWithNoise(seed);
      for (const Rung rung : kKernelRungs) {
        ExpectAgreement(shape, pages, type, rung);
      }
    }
  }
}

#ifdef __SSE2__
// Engines differ in whether their threads flush denormals; blocks must not.
TEST(Kernels, DoNotDependOnHowDenormalsAreTreated) {
  const BlockShape shape = KernelShape(48);
  TestPages pages(shape);
  pages.FillWithNoise(9);
  Random random(10);
  for (auto& buffer : pages.buffers()) {  // Denormals and their neighbours.
    for (size_t i = 1; i < buffer.size(); i += 2) {
      buffer[i] &= random.Happens(0.5) ? std::byte{0x81} : std::byte{0xff};
    }
  }
  for (const Rung rung : kKernelRungs) {
    const TrackFormat format = FormatFor(rung, HalfType::kBf16, pages, shape);
    for (const Kernels* kernels : UsableKernels()) {
      const auto codec = *Codec::Of(format, HalfType::kBf16, *kernels);
      TestPages kept(shape);
      TestPages flushed(shape);
      BlockView kept_block = kept.Block();
      BlockView flushed_block = flushed.Block();
      const std::vector<Bytes> objects = codec->EncodeBlock(pages.Block());
      for (uint32_t token = 0; token < shape.tokens(); ++token) {
        ASSERT_TRUE(codec->Decode(objects[token], token, kept_block).ok());
      }
      const uint32_t usual = _mm_getcsr();
      _mm_setcsr(usual | 0x8040);  // Flush results to zero, take operands for zero.
      const std::vector<Bytes> again = codec->EncodeBlock(pages.Block());
      bool decoded = true;
      for (uint32_t token = 0; token < shape.tokens(); ++token) {
        decoded = decoded && codec->Decode(objects[token], token, flushed_block).ok();
      }
      _mm_setcsr(usual);
      ASSERT_TRUE(decoded);
      EXPECT_EQ(again, objects) << kernels->name << " " << ToString(rung);
      EXPECT_EQ(flushed.buffers(), kept.buffers()) << kernels->name << " " << ToString(rung);
    }
  }
}
#endif

}  // namespace
}  // namespace kvcast
