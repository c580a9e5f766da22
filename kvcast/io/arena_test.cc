#include "kvcast/io/arena.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace kvcast {
namespace {

size_t ResidentPages(std::span<std::byte> bytes) {
  std::vector<unsigned char> resident(bytes.size() / 4096);
  EXPECT_EQ(mincore(bytes.data(), bytes.size(), resident.data()), 0);
  return static_cast<size_t>(
      std::ranges::count_if(resident, [](unsigned char page) { return (page & 1) != 0; }));
}

TEST(Arena, IsThereBeforeItIsNeeded) {
  const Result<Arena> arena = MapArena({.bytes = 5 << 20});
  ASSERT_TRUE(arena.ok());
  const std::span<std::byte> bytes = arena->memory.bytes;
  EXPECT_EQ(bytes.size(), size_t{6} << 20);  // Whole huge pages.
  EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes.data()) % (2 << 20), 0u);
  EXPECT_EQ(ResidentPages(bytes), bytes.size() / 4096);
  EXPECT_EQ(arena->memory.there_bytes, bytes.size());
  EXPECT_LE(arena->huge_bytes, bytes.size());
}

TEST(Arena, IsThereOnlyAsFarAsAsked) {
  const Result<Arena> arena = MapArena({.bytes = 8 << 20, .prefault_bytes = 2 << 20});
  ASSERT_TRUE(arena.ok());
  EXPECT_EQ(arena->memory.there_bytes, size_t{2} << 20);
  EXPECT_EQ(ResidentPages(arena->memory.bytes), (size_t{2} << 20) / 4096);
}

// Whoever has it stopped gets one that works.
TEST(Arena, CanBeStopped) {
  const Result<Arena> arena = MapArena({.bytes = 8 << 20, .on_progress = [](size_t done, size_t) {
                                          EXPECT_EQ(done, 0u);
                                          return false;
                                        }});
  ASSERT_TRUE(arena.ok());
  EXPECT_EQ(arena->memory.there_bytes, 0u);
  ChunkPool pool(0, arena->memory);
  EXPECT_EQ(pool.CollectIdle(), 0u);
  EXPECT_TRUE(pool.Allocate(kChunkBytesMax));
}

// What is idle is the machine's again, and nobody's bytes are touched by that.
TEST(Arena, GivesBackWhatNobodyHolds) {
  const Result<Arena> arena = MapArena({.bytes = 6 << 20});
  ASSERT_TRUE(arena.ok());
  ChunkPool pool(0, arena->memory);
  ChunkRef held = pool.Allocate(kChunkBytesMax);
  std::memset(held.mutable_data(), 7, held.capacity());
  pool.Discard(3 << 20);
  const size_t pages = ResidentPages(arena->memory.bytes);
  EXPECT_LE(pages, (size_t{3} << 20) / 4096);
  EXPECT_GE(pages, (size_t{2} << 20) / 4096);
  pool.Discard(SIZE_MAX);
  EXPECT_LT(ResidentPages(arena->memory.bytes), (size_t{1} << 20) / 4096);
  EXPECT_EQ(held.data()[0], std::byte{7});
  EXPECT_EQ(held.data()[kChunkBytesMax - 1], std::byte{7});
  EXPECT_TRUE(pool.Allocate(kChunkBytesMax));
}

TEST(Arena, HoldsChunksUntilTheLastHasGone) {
  ChunkRef survivor;
  {
    Result<Arena> arena = MapArena({.bytes = 1 << 20});
    ASSERT_TRUE(arena.ok());
    ChunkPool pool(0, std::move(arena->memory));
    survivor = pool.Allocate(kChunkBytesMax);
    ASSERT_TRUE(survivor);
  }
  std::memset(survivor.mutable_data(), 7, survivor.capacity());
  EXPECT_EQ(survivor.data()[kChunkBytesMax - 1], std::byte{7});
}

TEST(Arena, SaysWhyThereIsNone) {
  const Result<Arena> arena = MapArena({.bytes = size_t{1} << 60});
  ASSERT_FALSE(arena.ok());
  EXPECT_EQ(arena.error().code(), ErrorCode::kMachine);
}

}  // namespace
}  // namespace kvcast
