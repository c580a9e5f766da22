#include "kvcast/host/payload_memory.h"

#include <gtest/gtest.h>

namespace kvcast {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;

MemoryFacts MachineWith(uint64_t total, uint64_t available) {
  MemoryFacts machine;
  machine.total_bytes = total;
  machine.available_bytes = available;
  return machine;
}

TEST(PayloadShare, LeavesRoomForNames) {
  const PayloadShare share = PayloadShare::Of(4 * kGiB, MachineWith(64 * kGiB, 60 * kGiB));
  EXPECT_EQ(share.bytes, kGiB / 4 * 15);
  EXPECT_EQ(share.prefault_bytes, share.bytes);
}

// Others who need the machine's memory must not be killed for what nobody has put yet.
TEST(PayloadShare, TakesNoMoreAtOnceThanTheMachineHasToSpare) {
  const PayloadShare share = PayloadShare::Of(32 * kGiB, MachineWith(64 * kGiB, 8 * kGiB));
  EXPECT_EQ(share.bytes, 30 * kGiB);
  EXPECT_EQ(share.prefault_bytes, 4 * kGiB);
}

TEST(PayloadShare, KeepsToTheControlGroup) {
  MemoryFacts machine = MachineWith(64 * kGiB, 60 * kGiB);
  machine.cgroup_bytes_max = kGiB;
  EXPECT_EQ(PayloadShare::Of(kGiB, machine).prefault_bytes, 512u << 20);
}

TEST(PayloadShare, SaysWhatItIs) {
  Result<Arena> arena = SetAside({4 << 20, 2 << 20}, [] { return true; });
  ASSERT_TRUE(arena.ok());
  arena->huge_bytes = 0;
  EXPECT_EQ(DescribeArena(arena->memory.there_bytes, arena->huge_bytes),
            "2 MiB of it set aside, none in huge pages");
  arena->huge_bytes = 2 << 20;
  EXPECT_EQ(DescribeArena(arena->memory.there_bytes, arena->huge_bytes),
            "2 MiB of it set aside, 2 MiB in huge pages");
}

}  // namespace
}  // namespace kvcast
