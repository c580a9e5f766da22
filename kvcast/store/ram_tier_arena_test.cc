// Payloads in memory that was set aside: what of it is idle counts, and gives way.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kvcast/base/random.h"
#include "kvcast/store/ram_tier.h"

namespace kvcast {
namespace {

constexpr size_t kArenaTierBytes = size_t{16} << 20;
constexpr size_t kArenaPayload = 32 * 1024;

// A block each, so that none is the end of another's prefix.
TrackName ArenaTrack(uint64_t block) {
  return *TrackName::Of(*TrackNamespace::Of({"service", "tenant/m"}), std::to_string(block));
}

// Memory that can be given back, as far as anybody can tell.
ChunkMemory Pretended(size_t bytes) {
  const auto memory = std::make_shared<std::vector<std::byte>>(bytes + 4096);
  void* begin = memory->data();
  size_t room = memory->size();
  std::align(4096, bytes, begin, room);
  ChunkMemory pretended;
  pretended.bytes = std::span(static_cast<std::byte*>(begin), bytes);
  pretended.owner = memory;
  pretended.discard = [](std::span<std::byte>) {};
  return pretended;
}

class RamTierArena : public testing::Test {
 protected:
  RamTierArena() : chunks_(0, Pretended(kArenaTierBytes - (1 << 20))), tier_(Make()) {}

  RamTier Make() {
    RamTierOptions options;
    options.bytes_max = kArenaTierBytes;
    options.payload_chunks = &chunks_;
    return *RamTier::Of(options);
  }
  // As a session receives it.
  Object Received(Location at, size_t bytes) {
    Object object;
    object.location = at;
    const std::vector<std::byte> payload(bytes, std::byte{1});
    const std::optional<Bytes> pooled = Bytes::Copy(payload, chunks_);
    from_the_heap_ += pooled ? 0u : 1u;
    object.payload = pooled ? *pooled : Bytes::Copy(payload);
    return object;
  }
  void Put(uint64_t block, uint64_t objects, size_t bytes) {
    for (uint64_t object = 0; object < objects; ++object) {
      ASSERT_TRUE(tier_.Put(ArenaTrack(block), Received({0, object}, bytes)).ok());
      ASSERT_LE(tier_.bytes() + chunks_.CollectIdle(), kArenaTierBytes);
    }
    ASSERT_TRUE(tier_.EndGroup(ArenaTrack(block), 0, objects).ok());
  }

  ChunkPool chunks_;
  RamTier tier_;
  size_t from_the_heap_ = 0;
};

// Most of the tier is payloads that lie in it, and it goes on so when it is full.
TEST_F(RamTierArena, HoldsWhatIsReceivedInIt) {
  for (uint64_t block = 0; block < 400; ++block) {
    Put(block, 4, kArenaPayload);
    if (block == 200) {
      from_the_heap_ = 0;
    }
  }
  EXPECT_GT(tier_.object_count() * kArenaPayload, kArenaTierBytes / 4 * 3);
  EXPECT_LT(from_the_heap_, 400u) << "Of 800: room is made before the next one comes.";
}

// What is small comes from the heap, for which what is idle gives way.
TEST_F(RamTierArena, GivesWayToWhatIsNotInIt) {
  for (uint64_t block = 0; block < 3000; ++block) {
    Put(block, 4, 2000);
  }
  EXPECT_GT(tier_.object_count() * 2000, kArenaTierBytes / 2);
  EXPECT_LT(chunks_.CollectIdle(), size_t{1} << 20);
  for (uint64_t block = 3000; block < 3400; ++block) {
    Put(block, 4, kArenaPayload);
  }
  EXPECT_GT(tier_.object_count() * kArenaPayload, kArenaTierBytes / 2);
}

// Used, idle, or headers: there is no byte of it that nobody counts.
TEST_F(RamTierArena, CountsAllOfIt) {
  const size_t without = RamTier(kArenaTierBytes).bytes();
  EXPECT_EQ(tier_.bytes() + chunks_.CollectIdle(), without + chunks_.memory_bytes());
  Put(0, 4, 200'000);
  const size_t used = chunks_.memory_bytes() - chunks_.CollectIdle() - chunks_.overhead_bytes();
  EXPECT_GE(used, 780'000u);  // And 3 KB of each on the heap.
  EXPECT_GT(tier_.bytes(), without + chunks_.overhead_bytes() + used);
  tier_.Remove(ArenaTrack(0), 0);
  EXPECT_TRUE(tier_.Forget(ArenaTrack(0)));
  EXPECT_EQ(tier_.bytes() + chunks_.CollectIdle(), without + chunks_.memory_bytes());
}

// Whoever reads keeps what it reads, however often its place was given up since.
TEST_F(RamTierArena, LeavesToReadersWhatTheyRead) {
  Put(0, 4, kArenaPayload);
  const std::optional<Object> read = tier_.Get(ArenaTrack(0), {0, 2});
  ASSERT_TRUE(read);
  for (uint64_t block = 1; block < 400; ++block) {
    Put(block, 4, kArenaPayload);
  }
  ASSERT_FALSE(tier_.Get(ArenaTrack(0), {0, 2}));
  EXPECT_EQ(read->payload.ToString(), std::string(kArenaPayload, 1));
}

TEST_F(RamTierArena, StaysInItsBoundsWhateverComes) {
  Random random(1);
  for (uint64_t block = 0; block < 1000; ++block) {
    Put(block, 1 + random.Below(4), 1 + random.Below(random.Happens(0.5) ? 3000 : 200'000));
    if (random.Happens(0.1)) {
      tier_.Remove(ArenaTrack(random.Below(block + 1)), 0);
    }
  }
}

}  // namespace
}  // namespace kvcast
