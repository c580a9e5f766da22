#include "kvcast/kv/slot_table.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "kvcast/base/random.h"

namespace kvcast {
namespace {

std::set<uint32_t> AllWithTag(const SlotTable& table, uint32_t tag) {
  std::set<uint32_t> found;
  table.Find(tag, [&](uint32_t index) {
    found.insert(index);
    return false;
  });
  return found;
}

TEST(SlotTable, FindsNothingInAnEmptyTable) {
  EXPECT_FALSE(SlotTable().Find(7, [](uint32_t) { return true; }).has_value());
}

// Few distinct tags, at both ends of the range too, so that runs of slots collide and wrap around.
TEST(SlotTable, BehavesLikeAMultimap) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    SlotTable table;
    std::map<uint32_t, std::set<uint32_t>> model;
    uint32_t next = 0;
    for (int step = 0; step < 2000; ++step) {
      const uint32_t tag = static_cast<uint32_t>(random.Below(40) * 0x06666666 + random.Below(3));
      if (random.Happens(0.55)) {
        table.Insert(tag, next);
        model[tag].insert(next++);
      } else if (!model[tag].empty()) {
        table.Erase(tag, *model[tag].begin());
        model[tag].erase(model[tag].begin());
      }
    }
    size_t size = 0;
    for (const auto& [tag, indices] : model) {
      ASSERT_EQ(AllWithTag(table, tag), indices) << "seed " << seed;
      size += indices.size();
    }
    ASSERT_EQ(table.size(), size);
  }
}

}  // namespace
}  // namespace kvcast
