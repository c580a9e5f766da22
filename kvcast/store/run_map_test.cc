#include "kvcast/store/run_map.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "kvcast/base/random.h"

namespace kvcast {
namespace {

struct Numbered {
  uint64_t number = 0;
  std::string text;
};
uint64_t RunNumber(const Numbered& value) { return value.number; }

void ExpectSame(const RunMap<Numbered>& runs, const std::map<uint64_t, std::string>& model) {
  ASSERT_EQ(runs.size(), model.size());
  RunMap<Numbered>::Place at;
  for (const auto& [number, text] : model) {
    const Numbered* const value = runs.At(at);
    ASSERT_NE(value, nullptr);
    ASSERT_EQ(value->number, number);
    ASSERT_EQ(value->text, text);
    at = runs.Next(at);
  }
  ASSERT_EQ(runs.At(at), nullptr);
}

void ExpectSameAround(const RunMap<Numbered>& runs, const std::map<uint64_t, std::string>& model,
                      uint64_t number) {
  const auto from = model.lower_bound(number);
  const auto place = runs.From(number);
  ASSERT_EQ(runs.At(place) != nullptr, from != model.end());
  ASSERT_TRUE(runs.At(place) == nullptr || runs.At(place)->number == from->first);
  ASSERT_EQ(runs.Find(number) != nullptr, model.contains(number));
  const Numbered* const before = runs.Before(place);
  ASSERT_EQ(before != nullptr, from != model.begin());
  ASSERT_TRUE(before == nullptr || before->number == std::prev(from)->first);
}

// In order, from the end, or anyhow, with gaps; and what it grows by is what it said.
TEST(RunMap, HoldsWhatASortedMapHolds) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    size_t bytes = 0;
    {
      RunMap<Numbered> runs(&bytes);
      std::map<uint64_t, std::string> model;
      for (uint64_t step = 0; step < 1500; ++step) {
        const uint64_t number = seed % 3 == 0   ? step
                                : seed % 3 == 1 ? 1'000'000 - step
                                                : random.Below(1000);
        if (!model.contains(number)) {
          const size_t growth = runs.GrowthFor(number);
          const size_t before = bytes;
          runs.Insert({number, std::to_string(step)});
          model[number] = std::to_string(step);
          ASSERT_LE(bytes - before, growth);
        }
        if (random.Happens(seed % 2 == 0 ? 0.2 : 0.6)) {
          const uint64_t gone = model.lower_bound(random.Below(model.rbegin()->first + 1))->first;
          runs.Erase(gone);
          model.erase(gone);
        }
        ExpectSameAround(runs, model, random.Below(1000));
        ExpectSameAround(runs, model, number);
        ASSERT_FALSE(HasFatalFailure());
      }
      ExpectSame(runs, model);
      while (!model.empty()) {
        runs.Erase(model.begin()->first);
        model.erase(model.begin());
      }
      EXPECT_EQ(bytes, 0u);
      EXPECT_EQ(runs.Last(), nullptr);
    }
    EXPECT_EQ(bytes, 0u);
  }
}

// A peer that sends from the end, or into gaps, must not make runs of one.
TEST(RunMap, WastesLittleInWhateverOrderValuesCome) {
  for (const uint64_t stride : {1u, 7u, 4099u}) {
    size_t bytes = 0;
    RunMap<Numbered> runs(&bytes);
    for (uint64_t i = 10'000; i-- > 0;) {
      runs.Insert({i * stride % 10'007, ""});
    }
    EXPECT_LT(bytes, 3 * 10'000 * sizeof(Numbered));
  }
}

}  // namespace
}  // namespace kvcast
