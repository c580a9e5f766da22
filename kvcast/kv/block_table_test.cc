#include "kvcast/kv/block_table.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "kvcast/base/random.h"

namespace kvcast {
namespace {

Digest DigestOf(uint64_t number) { return Sha256::Of(std::to_string(number)); }

std::vector<uint32_t> FindAll(const BlockTable& table, const std::vector<Digest>& digests) {
  std::vector<uint32_t> numbers(digests.size());
  table.FindAll(digests, numbers);
  return numbers;
}

TEST(BlockTable, FindsNothingWhereNothingIs) {
  const BlockTable table(1);
  EXPECT_EQ(table.Find(DigestOf(1)), BlockTable::kNone);
  EXPECT_EQ(FindAll(table, std::vector<Digest>(40, DigestOf(1))),
            std::vector<uint32_t>(40, BlockTable::kNone));
}

// The guess after the last number there is must not look past the end.
TEST(BlockTable, ARunMayEndWithTheLastNumber) {
  BlockTable table(1);
  std::vector<Digest> digests;
  for (uint64_t i = 0; i < 256; ++i) {
    digests.push_back(DigestOf(i));
    table.Insert(digests.back());
  }
  digests.push_back(DigestOf(1000));
  const std::vector<uint32_t> numbers = FindAll(table, digests);
  EXPECT_EQ(numbers[255], table.Find(DigestOf(255)));
  EXPECT_EQ(numbers[256], BlockTable::kNone);
}

// A number that was given back has no digest, and nobody may find it by guessing.
TEST(BlockTable, ADigestOfZerosIsNeverFound) {
  BlockTable table(1);
  std::vector<Digest> digests;
  for (uint64_t i = 0; i < 64; ++i) {
    digests.push_back(DigestOf(i));
    table.Insert(digests.back());
  }
  table.Erase(table.Find(digests[40]));
  digests[40] = Digest();
  const std::vector<uint32_t> numbers = FindAll(table, digests);
  EXPECT_EQ(numbers[40], BlockTable::kNone);
  EXPECT_EQ(numbers[41], table.Find(digests[41]));
}

// Whatever is inserted and erased, and in whatever order it is asked for.
TEST(BlockTable, BehavesLikeAMap) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    BlockTable table(seed);
    std::map<uint64_t, uint32_t> model;  // Number by digest.
    for (int step = 0; step < 600; ++step) {
      const uint64_t digest = random.Below(150);
      if (!model.contains(digest)) {
        model[digest] = table.Insert(DigestOf(digest));
      } else if (random.Happens(0.3)) {
        table.Erase(model[digest]);
        model.erase(digest);
      }
    }
    ASSERT_EQ(table.size(), model.size());
    // Some stretches in the order of their numbers, some at random.
    std::map<uint32_t, uint64_t> by_number;
    for (const auto& [digest, number] : model) {
      by_number[number] = digest;
    }
    std::vector<uint64_t> asked;
    for (const auto& [number, digest] : by_number) {
      asked.push_back(digest);
      if (random.Happens(0.05)) {
        asked.push_back(random.Below(200));
      }
    }
    std::vector<Digest> digests;
    for (const uint64_t digest : asked) {
      digests.push_back(DigestOf(digest));
    }
    const std::vector<uint32_t> numbers = FindAll(table, digests);
    for (size_t i = 0; i < asked.size(); ++i) {
      const auto known = model.find(asked[i]);
      const uint32_t expected = known == model.end() ? BlockTable::kNone : known->second;
      ASSERT_EQ(numbers[i], expected) << "seed " << seed;
      ASSERT_EQ(table.Find(digests[i]), expected) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace kvcast
