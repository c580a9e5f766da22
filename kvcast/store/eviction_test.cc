#include "kvcast/store/eviction.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "kvcast/base/random.h"
#include "kvcast/store/eviction_models_test.h"

namespace kvcast {
namespace {

std::unique_ptr<Eviction> Make(std::string_view name, const EvictionLimits& limits) {
  return *MakeEviction(name, limits);
}

class EveryEviction : public testing::TestWithParam<std::string_view> {};

INSTANTIATE_TEST_SUITE_P(Policies, EveryEviction, testing::ValuesIn(EvictionNames()),
                         [](const auto& policy) { return std::string(policy.param); });

// A tier under a policy, beside the model of it: blocks of some tracks that are offered again and
// again, in runs, as prefixes are.
class ModelledTier {
 public:
  ModelledTier(std::string_view name, const EvictionLimits& limits, uint64_t seed)
      : limits_(limits),
        random_(seed),
        policy_(Make(name, limits)),
        model_(MakeModel(name, limits)) {}

  void Step() {
    const uint64_t handle = random_.Below(90) + 1;
    if (random_.Below(3) > 0) {
      UseRun(handle / 9, random_.Below(9) + 1);
    } else if (held_.contains(handle)) {
      Disturb(handle);
    }
    Compare();
    EXPECT_LE(policy_->ghost_count(), limits_.ghosts_max);
  }

  // Everything goes, what is only remembered too.
  void Empty() {
    for (uint64_t handle = 0; handle <= 200; ++handle) {
      if (!held_.contains(handle)) {
        policy_->Insert({handle, handle, 0, 1});
      }
      policy_->Forget(handle);
    }
  }

  const Eviction& policy() const { return *policy_; }
  size_t evictions() const { return evictions_; }

 private:
  void UseRun(uint64_t track, uint64_t length) {
    const bool from_the_end = random_.Happens(0.5);
    for (uint64_t i = 0; i < length; ++i) {
      const uint64_t group = from_the_end ? length - 1 - i : i;
      const uint64_t handle = track * 9 + group + 1;
      if (held_.contains(handle)) {
        const size_t before = policy_->bytes();
        policy_->Hit(handle);
        EXPECT_LE(policy_->bytes(), before);
        model_->Hit(handle);
      } else {
        // Another track each time, as publications have it, but for those that go on.
        Insert({handle, random_.Happens(0.2) ? track : 1000 + ++publications_ / 9, group,
                random_.Below(20) + 1});
      }
    }
  }

  void Insert(const StoredGroup& group) {
    policy_->Insert(group);
    model_->Insert(group);
    held_[group.handle] = group.bytes;
    bytes_ += group.bytes;
    while (bytes_ > limits_.bytes_max) {
      const std::optional<uint64_t> victim = Compare();
      if (!victim) {
        return;
      }
      policy_->Evict(*victim);
      model_->Leave(*victim, true);
      Gone(*victim);
      ++evictions_;
    }
  }

  void Disturb(uint64_t handle) {
    if (pinned_.contains(handle)) {
      policy_->Unpin(handle);
      model_->Unpin(handle);
      pinned_.erase(handle);
    } else if (pinned_.size() < 10 && random_.Happens(0.4)) {
      policy_->Pin(handle);
      model_->Pin(handle);
      pinned_.insert(handle);
    } else if (random_.Happens(0.5)) {
      const uint64_t bytes = random_.Below(20) + 1;
      policy_->Resize(handle, bytes);
      model_->Resize(handle, bytes);
      bytes_ += bytes - held_[handle];
      held_[handle] = bytes;
    } else {
      policy_->Forget(handle);
      model_->Leave(handle, false);
      Gone(handle);
    }
  }

  void Gone(uint64_t handle) {
    bytes_ -= held_[handle];
    held_.erase(handle);
    pinned_.erase(handle);
  }

  std::optional<uint64_t> Compare() {
    const std::optional<uint64_t> victim = policy_->Victim();
    EXPECT_EQ(victim, model_->Victim());
    EXPECT_EQ(victim, policy_->Victim()) << "Asking again must not change the answer.";
    EXPECT_EQ(victim.has_value(), held_.size() > pinned_.size());
    EXPECT_TRUE(!victim || (held_.contains(*victim) && !pinned_.contains(*victim)));
    return victim;
  }

  EvictionLimits limits_;
  Random random_;
  std::unique_ptr<Eviction> policy_;
  std::unique_ptr<EvictionModel> model_;
  std::map<uint64_t, uint64_t> held_;  // Handles, and their bytes.
  std::set<uint64_t> pinned_;
  uint64_t bytes_ = 0;
  uint64_t publications_ = 0;
  size_t evictions_ = 0;
};

TEST_P(EveryEviction, ChoosesTheVictimsOfItsModel) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ModelledTier tier(GetParam(), {.bytes_max = 100 * (seed % 4 + 1), .ghosts_max = 5 * seed},
                      seed);
    for (int step = 0; step < 600 && !HasFailure(); ++step) {
      tier.Step();
    }
    ASSERT_FALSE(HasFailure());
    EXPECT_GT(tier.evictions(), 100u);
  }
}

TEST_P(EveryEviction, CostsNothingWhenEverythingHasGone) {
  const EvictionLimits limits{.bytes_max = 300, .ghosts_max = 40};
  ModelledTier tier(GetParam(), limits, 7);
  for (int step = 0; step < 600; ++step) {
    tier.Step();
  }
  EXPECT_GT(tier.policy().bytes(), Make(GetParam(), limits)->bytes());
  tier.Empty();
  EXPECT_EQ(tier.policy().bytes(), Make(GetParam(), limits)->bytes());
  EXPECT_EQ(tier.policy().ghost_count(), 0u);
}

// However long the stream of strangers, what is remembered of them has an end.
TEST_P(EveryEviction, StaysWithinItsMemory) {
  const EvictionLimits limits{.bytes_max = 64, .ghosts_max = 200};
  const auto policy = Make(GetParam(), limits);
  size_t bytes_max = 0;
  for (uint64_t handle = 1; handle <= 20'000; ++handle) {
    policy->Insert({handle, handle / 10, handle % 10, 1});
    if (handle > 64) {
      policy->Evict(*policy->Victim());
    }
    if (handle == 2'000) {
      bytes_max = policy->bytes();
    }
    ASSERT_LE(policy->ghost_count(), 200u);
  }
  EXPECT_LE(policy->bytes(), bytes_max + bytes_max / 8);
}

TEST_P(EveryEviction, NamesNobodyWhereAllArePinned) {
  const auto policy = Make(GetParam(), {.bytes_max = 10, .ghosts_max = 10});
  EXPECT_EQ(policy->Victim(), std::nullopt);
  policy->Insert({1, 1, 0, 1});
  policy->Pin(1);
  EXPECT_EQ(policy->Victim(), std::nullopt);
  policy->Unpin(1);
  EXPECT_EQ(policy->Victim(), 1u);
}

TEST(MakeEviction, SaysWhichPoliciesThereAre) {
  const auto made = MakeEviction("fifo", {});
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().message().find("s3fifo"), std::string::npos);
}

// A prefix is useless without its beginning, so the beginning stays the longest, even where the end
// was used more recently.
TEST(PrefixEviction, TakesATrackFromItsEnd) {
  const auto policy = Make("default", {.bytes_max = 1000, .ghosts_max = 100});
  for (uint64_t group = 0; group < 5; ++group) {
    policy->Insert({100 + group, 1, group, 10});
  }
  policy->Hit(104);
  policy->Hit(103);
  for (uint64_t handle = 104; handle >= 100; --handle) {
    ASSERT_EQ(policy->Victim(), handle);
    policy->Evict(handle);
  }
}

TEST(PrefixEviction, TakesTheDeeperGroupAcrossTracks) {
  const auto policy = Make("default", {.bytes_max = 1000, .ghosts_max = 100});
  policy->Insert({1, 1, 3, 1});
  policy->Insert({2, 2, 7, 1});
  policy->Insert({3, 3, 5, 1});
  EXPECT_EQ(policy->Victim(), 2u);
}

// Ten blocks that are asked for all the time, among a stream of blocks that never come back.
TEST(PrefixEviction, KeepsWhatComesBackFromWhatDoesNot) {
  const auto policy = Make("default", {.bytes_max = 20, .ghosts_max = 320});
  std::set<uint64_t> held;
  size_t hits = 0;
  for (uint64_t round = 0; round < 2'000; ++round) {
    for (const uint64_t handle :
         {round % 10, 1000 + 3 * round, 1001 + 3 * round, 1002 + 3 * round}) {
      if (held.contains(handle)) {
        ++hits;
        policy->Hit(handle);
        continue;
      }
      policy->Insert({handle, handle, 0, 1});
      held.insert(handle);
      if (held.size() > 20) {
        const uint64_t victim = *policy->Victim();
        policy->Evict(victim);
        held.erase(victim);
      }
    }
  }
  EXPECT_GT(hits, 1'800u);  // Each comes again after 40 others: LRU has none.
}

}  // namespace
}  // namespace kvcast
