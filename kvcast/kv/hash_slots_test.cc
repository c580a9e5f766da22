#include "kvcast/kv/hash_slots.h"

#include <gtest/gtest.h>

#include <map>

#include "kvcast/base/random.h"

namespace kvcast {
namespace {

Digest DigestOf(uint64_t number) { return Sha256::Of(std::to_string(number)); }

TEST(HashSlots, FindsNothingInAnEmptyTable) {
  const HashSlots slots(1);
  EXPECT_EQ(slots.Find(DigestOf(1)), HashSlots::kNone);
  std::vector<Digest> digests(40, DigestOf(1));
  std::vector<uint32_t> found(40);
  slots.FindAll(digests, found);
  EXPECT_EQ(found, std::vector<uint32_t>(40, HashSlots::kNone));
}

// Whatever is inserted and erased, every digest is found where its number was told to be.
TEST(HashSlots, BehavesLikeAMap) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    HashSlots slots(seed);
    std::map<uint32_t, uint32_t> slot_of;  // By number, as moved() said.
    std::map<uint64_t, uint32_t> model;    // Number by digest.
    const auto moved = [&](uint32_t number, uint32_t slot) { slot_of[number] = slot; };
    uint32_t next = 0;
    for (int step = 0; step < 600; ++step) {
      const uint64_t digest = random.Below(150);
      if (!model.contains(digest)) {
        slots.Insert(DigestOf(digest), next, moved);
        model[digest] = next++;
      } else if (random.Happens(0.7)) {
        slots.Erase(slot_of.at(model[digest]), moved);
        slot_of.erase(model[digest]);
        model.erase(digest);
      }
    }
    std::vector<Digest> digests;
    for (uint64_t digest = 0; digest < 150; ++digest) {
      digests.push_back(DigestOf(digest));
    }
    std::vector<uint32_t> found(digests.size());
    slots.FindAll(digests, found);
    for (uint64_t digest = 0; digest < 150; ++digest) {
      ASSERT_EQ(found[digest], slots.Find(digests[digest]));
      if (!model.contains(digest)) {
        ASSERT_EQ(found[digest], HashSlots::kNone) << "seed " << seed;
        continue;
      }
      ASSERT_NE(found[digest], HashSlots::kNone) << "seed " << seed;
      ASSERT_EQ(slots.number(found[digest]), model[digest]);
      ASSERT_EQ(slot_of.at(model[digest]), found[digest]) << "seed " << seed;
    }
    ASSERT_EQ(slots.size(), model.size());
  }
}

}  // namespace
}  // namespace kvcast
