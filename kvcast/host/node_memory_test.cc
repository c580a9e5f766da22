#include "kvcast/host/node_memory.h"

#include <gtest/gtest.h>

namespace kvcast {
namespace {

constexpr uint64_t kMemoryMib = uint64_t{1} << 20;
constexpr uint64_t kMemoryGib = uint64_t{1} << 30;

MemoryFacts MachineWith(uint64_t bytes) {
  MemoryFacts facts;
  facts.total_bytes = bytes;
  return facts;
}

TEST(NodeMemory, IsWhatWasAskedForIfThereIsSoMuch) {
  EXPECT_EQ(*NodeMemory("16MiB", MachineWith(8 * kMemoryGib)), 16 * kMemoryMib);
  EXPECT_EQ(*NodeMemory("8GiB", MachineWith(8 * kMemoryGib)), 8 * kMemoryGib);
  EXPECT_FALSE(NodeMemory("15MiB", MachineWith(8 * kMemoryGib)).ok());
  EXPECT_FALSE(NodeMemory("4GB", MachineWith(8 * kMemoryGib)).ok());
}

TEST(NodeMemory, IsNotMoreThanThereIs) {
  EXPECT_EQ(NodeMemory("9GiB", MachineWith(8 * kMemoryGib)).error().message(),
            "9 GiB is more than the 8 GiB of memory that this machine has. Ask for less, and leave "
            "some for everything else");
}

TEST(NodeMemory, IsNotMoreThanAContainerGrants) {
  MemoryFacts machine = MachineWith(64 * kMemoryGib);
  machine.cgroup_bytes_max = 2 * kMemoryGib;
  EXPECT_EQ(NodeMemory("3GiB", machine).error().message(),
            "3 GiB is more than the 2 GiB that this process's control group grants. Ask for less, "
            "and leave some for everything else");
  EXPECT_EQ(*NodeMemory("", machine), kMemoryGib);
}

TEST(NodeMemory, LeavesHalfOfASmallMachine) {
  EXPECT_EQ(*NodeMemory("", MachineWith(64 * kMemoryGib)), 4 * kMemoryGib);
  EXPECT_EQ(*NodeMemory("", MachineWith(8 * kMemoryGib)), 4 * kMemoryGib);
  EXPECT_EQ(*NodeMemory("", MachineWith(3 * kMemoryGib)), 3 * kMemoryGib / 2);
  EXPECT_EQ(*NodeMemory("", MachineWith(20 * kMemoryMib)), 16 * kMemoryMib);
}

}  // namespace
}  // namespace kvcast
