#include "kvcast/base/chunk.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <thread>
#include <vector>

#include "kvcast/base/random.h"
#include "kvcast/base/sanitized_test.h"

namespace kvcast {
namespace {

TEST(ChunkPool, HandsTheSameMemoryOutAgain) {
  ChunkPool pool(1 << 20);
  const std::byte* first = pool.Allocate(1000).data();
  EXPECT_EQ(pool.Allocate(1000).data(), first);
}

TEST(ChunkPool, IsEmptyHandedWhenItsBytesAreSpent) {
  ChunkPool pool(600 * 1024);
  const ChunkRef a = pool.Allocate(kChunkBytesMax);
  ChunkRef b = pool.Allocate(kChunkBytesMax);
  EXPECT_TRUE(a && b);
  EXPECT_FALSE(pool.Allocate(kChunkBytesMax));
  b = ChunkRef();
  EXPECT_TRUE(pool.Allocate(kChunkBytesMax));
}

// What is kept for reuse must not starve a caller who needs another size.
TEST(ChunkPool, GivesUpKeptChunksForAnotherSize) {
  ChunkPool pool(300 * 1024);
  pool.Allocate(kChunkBytesMax);
  EXPECT_TRUE(pool.Allocate(64 * 1024));
  EXPECT_LE(pool.bytes_reserved(), 300u * 1024);
}

TEST(ChunkPool, CountsWhatIsHeldAndWhatIsKept) {
  ChunkPool pool(1 << 20);
  EXPECT_EQ(pool.bytes_used(), 0u);
  {
    const ChunkRef held = pool.Allocate(256);
    EXPECT_GE(pool.bytes_used(), 256u);
    EXPECT_EQ(pool.bytes_used(), pool.bytes_reserved());
  }
  EXPECT_EQ(pool.bytes_used(), 0u);
  EXPECT_GE(pool.bytes_reserved(), 256u);
}

// One chunk that somebody still holds must not keep all the others.
TEST(ChunkPool, GivesBackWhatItKeptWhenItGoes) {
  if (kSanitized) {
    GTEST_SKIP() << "sanitizers replace the allocator that would be asked";
  }
  const size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
  ChunkRef survivor;
  {
    ChunkPool pool(64 << 20);
    std::vector<ChunkRef> chunks;
    for (int i = 0; i < 100; ++i) {
      chunks.push_back(pool.Allocate(kChunkBytesMax));
    }
    survivor = chunks.front();
  }
  EXPECT_LT(mallinfo2().uordblks + mallinfo2().hblkhd - before, size_t{2} << 20);
}

TEST(ChunkPool, MayGoBeforeItsChunks) {
  ChunkRef survivor;
  {
    ChunkPool pool(1 << 20);
    survivor = pool.Allocate(100);
    survivor.mutable_data()[99] = std::byte{42};
  }
  EXPECT_EQ(survivor.data()[99], std::byte{42});
}

// Under TSan this is the test of the hand-over between threads.
TEST(ChunkPool, TakesChunksBackFromAnyThread) {
  ChunkPool pool(64 << 20);
  Random random(1);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      std::vector<ChunkRef> chunks;
      for (int i = 0; i < 50; ++i) {
        chunks.push_back(pool.Allocate(1 + random.Below(kChunkBytesMax)));
        ASSERT_TRUE(chunks.back());
        chunks.back().mutable_data()[0] = std::byte{1};
      }
      threads.emplace_back([chunks = std::move(chunks)]() mutable { chunks.clear(); });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    EXPECT_EQ(pool.bytes_used(), 0u);
  }
  EXPECT_LE(pool.bytes_reserved(), 64u << 20);
}

}  // namespace
}  // namespace kvcast
