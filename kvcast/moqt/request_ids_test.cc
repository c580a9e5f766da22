#include "kvcast/moqt/request_ids.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <set>

#include "kvcast/base/random.h"

namespace kvcast::moqt {
namespace {

TEST(RequestIds, AreThePeersAndComeOnceInAnyOrder) {
  RequestIds ids(1);
  EXPECT_EQ(ids.next(), 1u);
  for (const uint64_t id : {1u, 7u, 5u, 3u}) {
    EXPECT_FALSE(ids.Has(id));
    EXPECT_TRUE(ids.Add(id));
    EXPECT_TRUE(ids.Has(id));
    EXPECT_FALSE(ids.Add(id));
  }
  EXPECT_FALSE(ids.Add(8));
  EXPECT_EQ(ids.next(), 9u);
}

// They are as long as an integer can be.
TEST(RequestIds, GoUpToTheLargestNumberThereIs) {
  constexpr uint64_t kLargest = std::numeric_limits<uint64_t>::max();
  for (const uint64_t first : {0u, 1u}) {
    RequestIds ids(first);
    const uint64_t last = kLargest - 1 + first;
    EXPECT_TRUE(ids.Add(last));
    EXPECT_TRUE(ids.Add(last - 2));
    EXPECT_FALSE(ids.Add(last));
    EXPECT_TRUE(ids.Add(first));
    EXPECT_EQ(ids.next(), last);
  }
}

// Far more are left out than anybody can remember; yet of those that came none is taken again,
// wherever it stands.
TEST(RequestIds, ComeOnceHoweverManyWereLeftOut) {
  for (const uint64_t seed : {1u, 2u, 3u}) {
    Random random(seed);
    RequestIds ids(0);
    std::set<uint64_t> taken;
    while (taken.size() < 3 * RequestIds::kGapsMax) {
      const bool late = random.Happens(0.5);
      const uint64_t id =
          late ? 2 * random.Below(ids.next() / 2 + 1) : ids.next() + 2 * random.Below(8);
      if (ids.Add(id)) {
        ASSERT_TRUE(taken.insert(id).second) << "seed " << seed << ", id " << id;
      }
    }
    for (const uint64_t id : taken) {
      ASSERT_FALSE(ids.Add(id)) << "seed " << seed << ", id " << id;
    }
  }
}

// What is late is told from what comes twice, until too much was left out since.
TEST(RequestIds, AreNewAsLongAsTheirGapIsRemembered) {
  RequestIds ids(0);
  for (uint64_t i = 0; i <= RequestIds::kGapsMax; ++i) {
    ASSERT_TRUE(ids.Add(4 * i));
  }
  EXPECT_FALSE(ids.Has(2));
  EXPECT_TRUE(ids.Add(2));
  EXPECT_FALSE(ids.Add(2));
  // One was filled, so there is room for one more; the one after that takes the oldest's.
  ASSERT_TRUE(ids.Add(4 * (RequestIds::kGapsMax + 1)));
  EXPECT_FALSE(ids.Has(6));
  ASSERT_TRUE(ids.Add(4 * (RequestIds::kGapsMax + 2)));
  EXPECT_TRUE(ids.Has(6));
  EXPECT_FALSE(ids.Add(6));
  EXPECT_TRUE(ids.Add(10));
}

}  // namespace
}  // namespace kvcast::moqt
