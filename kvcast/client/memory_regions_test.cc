#include "kvcast/client/memory_regions.h"

#include <gtest/gtest.h>

#include <vector>

namespace kvcast {
namespace {

TEST(MemoryRegionsBounds, HoldWhateverNumbersComeTogether) {
  std::vector<std::byte> memory(100);
  MemoryRegions regions;
  const RegionId region = *regions.Add(memory);
  EXPECT_EQ(regions.Place(region, 10, 90)->data(), memory.data() + 10);
  EXPECT_EQ(regions.Place(region, 100, 0)->size(), 0u);
  for (const auto& [offset, length] : {std::pair<uint64_t, uint64_t>{10, 91},
                                       {101, 0},
                                       {0, 101},
                                       {UINT64_MAX, 1},
                                       {1, UINT64_MAX},
                                       {UINT64_MAX - 49, 100},
                                       {50, UINT64_MAX - 49}}) {
    EXPECT_FALSE(regions.Place(region, offset, length).ok()) << offset << " " << length;
  }
  EXPECT_FALSE(regions.Place(region + 1, 0, 1).ok());
  EXPECT_FALSE(regions.Place(0, 0, 1).ok());
  EXPECT_FALSE(regions.Add({}).ok());
}

TEST(MemoryRegionsUse, KeepsThemFromBeingTakenAway) {
  std::vector<std::byte> memory(100);
  MemoryRegions regions;
  const RegionId region = *regions.Add(memory);
  regions.Use(region);
  regions.Use(region);
  regions.Release(region);
  EXPECT_FALSE(regions.Remove(region).ok());
  regions.Release(region);
  EXPECT_TRUE(regions.Remove(region).ok());
  EXPECT_FALSE(regions.Remove(region).ok());
  EXPECT_NE(*regions.Add(memory), region);
}

}  // namespace
}  // namespace kvcast
