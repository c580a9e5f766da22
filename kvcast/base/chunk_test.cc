#include "kvcast/base/chunk.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <set>
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

// Memory for an arena, and whether it is still needed.
ChunkMemory SetAside(size_t bytes) {
  const auto memory = std::make_shared<std::vector<std::byte>>(bytes + 64);
  void* begin = memory->data();
  size_t room = memory->size();
  std::align(64, bytes, begin, room);
  ChunkMemory set_aside;
  set_aside.bytes = std::span(static_cast<std::byte*>(begin), bytes);
  set_aside.owner = memory;
  return set_aside;
}

bool Within(const ChunkRef& chunk, const ChunkMemory& memory) {
  return chunk.data() >= memory.bytes.data() &&
         chunk.data() + chunk.capacity() <= memory.bytes.data() + memory.bytes.size();
}

TEST(ChunkPool, CutsChunksFromMemoryThatWasSetAside) {
  const ChunkMemory memory = SetAside(1 << 20);
  ChunkPool pool(0, memory);
  const size_t idle = pool.CollectIdle();
  EXPECT_GT(idle, size_t{900} << 10);
  const ChunkRef large = pool.Allocate(kChunkBytesMax);
  const ChunkRef small = pool.Allocate(16 * 1024);
  EXPECT_TRUE(Within(large, memory) && Within(small, memory));
  EXPECT_EQ(pool.CollectIdle(), idle - kChunkBytesMax - 16 * 1024);
  EXPECT_EQ(
      pool.CollectIdle() + pool.overhead_bytes() + large.memory_bytes() + small.memory_bytes(),
      memory.bytes.size());
  EXPECT_EQ(pool.bytes_reserved(), 0u);
  EXPECT_FALSE(pool.Allocate(8 * 1024)) << "What is small would waste a unit.";
}

TEST(ChunkPool, GoesToTheHeapWhenWhatWasSetAsideIsSpent) {
  const ChunkMemory memory = SetAside(300 << 10);
  ChunkPool pool(1 << 20, memory);
  const ChunkRef first = pool.Allocate(kChunkBytesMax);
  const ChunkRef second = pool.Allocate(kChunkBytesMax);
  EXPECT_TRUE(Within(first, memory));
  ASSERT_TRUE(second);
  EXPECT_FALSE(Within(second, memory));
}

// Whatever was cut and came back, in whatever order: at the end the halves have found together.
TEST(ChunkPool, JoinsWhatItHasCut) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const ChunkMemory memory = SetAside((random.Below(64) + 20) * 16 * 1024);
    ChunkPool pool(0, memory);
    const size_t idle = pool.CollectIdle();
    std::vector<ChunkRef> held;
    for (int step = 0; step < 500; ++step) {
      ChunkRef chunk = pool.Allocate((size_t{16} << random.Below(5)) * 1024);
      size_t bytes = 0;
      for (const ChunkRef& other : held) {
        bytes += other.capacity();
        ASSERT_TRUE(!chunk || chunk.data() >= other.data() + other.capacity() ||
                    other.data() >= chunk.data() + chunk.capacity());
      }
      if (chunk) {
        ASSERT_TRUE(Within(chunk, memory));
        chunk.mutable_data()[chunk.capacity() - 1] = std::byte{1};
        bytes += chunk.capacity();
        held.push_back(std::move(chunk));
      }
      ASSERT_LE(bytes + pool.CollectIdle(), idle);
      while (!held.empty() && random.Happens(0.45)) {
        std::swap(held[random.Below(held.size())], held.back());
        held.pop_back();
      }
    }
    held.clear();
    (void)pool.Allocate(1);  // Looks at what has come back.
    EXPECT_EQ(pool.CollectIdle(), idle);
    size_t whole = 0;
    for (ChunkRef chunk = pool.Allocate(kChunkBytesMax); chunk;
         chunk = pool.Allocate(kChunkBytesMax)) {
      held.push_back(std::move(chunk));
      ++whole;
    }
    EXPECT_EQ(whole, idle / kChunkBytesMax);
  }
}

// What is idle may be wanted elsewhere. It is written to again when there is nothing else.
TEST(ChunkPool, GivesIdleMemoryBackWhenAsked) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    ChunkMemory memory = SetAside((random.Below(64) + 40) * 16 * 1024);
    std::set<const std::byte*> given_back;  // Units.
    memory.discard = [&](std::span<std::byte> bytes) {
      for (size_t at = 0; at < bytes.size(); at += 16 * 1024) {
        EXPECT_TRUE(given_back.insert(bytes.data() + at).second || bytes.size() > 16 * 1024);
      }
    };
    ChunkPool pool(0, memory);
    const size_t all = pool.CollectIdle();
    std::vector<ChunkRef> held;
    for (int step = 0; step < 500; ++step) {
      const size_t idle = pool.CollectIdle();
      if (random.Happens(0.2)) {
        const size_t wanted = random.Below(300 * 1024);
        pool.Discard(wanted);
        EXPECT_LE(pool.CollectIdle(), idle - std::min(idle, wanted));
        EXPECT_GE(pool.CollectIdle() + wanted + kChunkBytesMax, idle);
      } else if (ChunkRef chunk = pool.Allocate((size_t{16} << random.Below(5)) * 1024)) {
        for (size_t at = 0; at < chunk.capacity(); at += 16 * 1024) {
          given_back.erase(chunk.data() + at);
        }
        held.push_back(std::move(chunk));
      }
      while (!held.empty() && random.Happens(0.4)) {
        std::swap(held[random.Below(held.size())], held.back());
        held.pop_back();
      }
      size_t used = 0;
      for (const ChunkRef& chunk : held) {
        used += chunk.capacity();
      }
      ASSERT_EQ(used + pool.CollectIdle() + given_back.size() * 16 * 1024, all);
    }
    pool.Discard(all);
    EXPECT_EQ(pool.CollectIdle(), 0u);
    held.clear();
    EXPECT_TRUE(pool.Allocate(kChunkBytesMax));
  }
}

// What is not there yet is not idle, and is taken when nothing else is left.
TEST(ChunkPool, TakesWhatIsThereFirst) {
  ChunkMemory memory = SetAside(2 << 20);
  memory.there_bytes = 1 << 20;
  ChunkPool pool(0, memory);
  const size_t idle = pool.CollectIdle();
  EXPECT_LE(idle, size_t{1} << 20);
  EXPECT_GT(idle, size_t{900} << 10);
  std::vector<ChunkRef> held;
  while (ChunkRef chunk = pool.Allocate(16 * 1024)) {
    const bool is_there = chunk.data() + chunk.capacity() <= memory.bytes.data() + (1 << 20);
    EXPECT_EQ(is_there, held.size() < idle / (16 * 1024)) << held.size();
    held.push_back(std::move(chunk));
  }
  EXPECT_GT(held.size() * 16 * 1024, size_t{1900} << 10);
  EXPECT_EQ(pool.CollectIdle(), 0u);
  held.clear();
  EXPECT_GT(pool.CollectIdle(), size_t{1900} << 10) << "What was used once is there.";
}

TEST(ChunkPool, KeepsItsMemoryForAsLongAsAnyChunkOfItLives) {
  ChunkMemory memory = SetAside(1 << 20);
  const std::weak_ptr<const void> alive = memory.owner;
  ChunkRef survivor;
  {
    ChunkPool pool(0, std::move(memory));
    survivor = pool.Allocate(kChunkBytesMax);
    ASSERT_TRUE(survivor);
  }
  memory = {};
  EXPECT_FALSE(alive.expired());
  survivor.mutable_data()[5] = std::byte{42};
  survivor = ChunkRef();
  EXPECT_TRUE(alive.expired());
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
