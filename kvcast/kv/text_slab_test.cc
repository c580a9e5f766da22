#include "kvcast/kv/text_slab.h"

#include <gtest/gtest.h>

#include <map>

#include "kvcast/base/random.h"

namespace kvcast {
namespace {

std::string TextOf(Random& random) {
  std::string text(random.Below(90), 'a');
  for (char& c : text) {
    c = static_cast<char>('a' + random.Below(2));
  }
  return text;
}

// Texts that end with a piece, that are empty, that begin alike, in pieces others gave back.
TEST(TextSlab, BehavesLikeAMap) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    TextSlab slab;
    std::map<uint32_t, std::string> model;
    for (int step = 0; step < 500; ++step) {
      if (model.empty() || random.Happens(0.6)) {
        const std::string text = TextOf(random);
        const size_t before = slab.bytes();
        const size_t more = slab.bytes_to_put(TextSlab::PiecesFor(text));
        const uint32_t number = slab.Put(text);
        ASSERT_LE(slab.bytes(), before + more);
        ASSERT_TRUE(model.emplace(number, text).second);
      } else {
        const auto one = std::next(model.begin(), static_cast<long>(random.Below(model.size())));
        slab.Erase(one->first);
        model.erase(one);
      }
    }
    for (const auto& [number, text] : model) {
      ASSERT_EQ(slab.Get(number), text) << "seed " << seed;
      ASSERT_TRUE(slab.Is(number, text));
      ASSERT_FALSE(slab.Is(number, text + "a"));
      ASSERT_TRUE(text.empty() || !slab.Is(number, text.substr(1)));
    }
  }
}

// What was given back is enough for as much again, whatever the lengths.
TEST(TextSlab, GrowsNoFurtherThanWhatItHolds) {
  TextSlab slab;
  std::vector<uint32_t> numbers;
  for (int i = 0; i < 1000; ++i) {
    numbers.push_back(slab.Put(std::string(270, 'x')));
  }
  const size_t full = slab.bytes();
  for (const uint32_t number : numbers) {
    slab.Erase(number);
  }
  for (int i = 0; i < 10000; ++i) {
    slab.Put(std::string(27, 'y'));
  }
  EXPECT_EQ(slab.bytes(), full);
}

}  // namespace
}  // namespace kvcast
