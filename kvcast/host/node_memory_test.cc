#include "kvcast/host/node_memory.h"

#include <gtest/gtest.h>

namespace kvcast {
namespace {

constexpr uint64_t kMib = uint64_t{1} << 20;
constexpr uint64_t kGib = uint64_t{1} << 30;

MemoryFacts MachineWith(uint64_t bytes) {
  MemoryFacts facts;
  facts.total_bytes = bytes;
  return facts;
}

TEST(NodeMemory, IsWhatWasAskedForIfThereIsSoMuch) {
  EXPECT_EQ(*NodeMemory("16MiB", MachineWith(8 * kGib)), 16 * kMib);
  EXPECT_EQ(*NodeMemory("8GiB", MachineWith(8 * kGib)), 8 * kGib);
  EXPECT_FALSE(NodeMemory("15MiB", MachineWith(8 * kGib)).ok());
  EXPECT_FALSE(NodeMemory("4GB", MachineWith(8 * kGib)).ok());
}

TEST(NodeMemory, IsNotMoreThanThereIs) {
  EXPECT_EQ(NodeMemory("9GiB", MachineWith(8 * kGib)).error().message(),
            "9 GiB is more than the 8 GiB of memory that this machine has. Ask for less, and leave "
            "some for everything else");
}

TEST(NodeMemory, IsNotMoreThanAContainerGrants) {
  MemoryFacts machine = MachineWith(64 * kGib);
  machine.cgroup_bytes_max = 2 * kGib;
  EXPECT_EQ(NodeMemory("3GiB", machine).error().message(),
            "3 GiB is more than the 2 GiB that this process's control group grants. Ask for less, "
            "and leave some for everything else");
  EXPECT_EQ(*NodeMemory("", machine), kGib);
}

TEST(NodeMemory, LeavesHalfOfASmallMachine) {
  EXPECT_EQ(*NodeMemory("", MachineWith(64 * kGib)), 4 * kGib);
  EXPECT_EQ(*NodeMemory("", MachineWith(8 * kGib)), 4 * kGib);
  EXPECT_EQ(*NodeMemory("", MachineWith(3 * kGib)), 3 * kGib / 2);
  EXPECT_EQ(*NodeMemory("", MachineWith(20 * kMib)), 16 * kMib);
}

}  // namespace
}  // namespace kvcast
