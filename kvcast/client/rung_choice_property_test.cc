// A thousand loads over a link whose width wanders, each with a deadline of its own: what is chosen
// block by block has to keep the deadlines that can be kept, and no fixed rung that keeps as many
// may be truer.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <vector>

#include "kvcast/base/random.h"
#include "kvcast/client/engine_memory_test.h"
#include "kvcast/client/rung_choice.h"

namespace kvcast {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr size_t kPromptBlocks = 27;
constexpr Duration kRoundTrip = std::chrono::milliseconds(40);

struct Step {
  Rung rung;
  uint64_t bytes;  // Of a block.
  double divergence;
};
// What a block of a real small model takes at the rungs of the ladder, and what each changes.
const std::vector<Step> kSteps = {{Rung::kBf16Lossless, 262'000, 0},
                                  {Rung::kInt8, 203'000, 0.00004},
                                  {Rung::kKtcFine, 76'000, 0.0010},
                                  {Rung::kKtcMedium, 60'000, 0.0026},
                                  {Rung::kKtcCoarse, 41'000, 0.0088}};

Duration Lasting(double time) { return std::chrono::duration_cast<Duration>(Seconds(time)); }

// One answer after the other, at a pace that is never quite the same.
class WanderingLink {
 public:
  explicit WanderingLink(uint64_t seed) : random_(seed) {}

  void Wander() {
    const double factor = 0.8 + 0.00045 * static_cast<double>(random_.Below(1000));
    bytes_per_second_ = std::clamp(bytes_per_second_ * factor, 2e6, 60e6);
  }
  double bytes_per_second() const { return bytes_per_second_; }
  // When so many bytes are there that were asked for at a time.
  Instant Arrival(Instant asked, uint64_t bytes) {
    const double wobble = 0.85 + 0.0003 * static_cast<double>(random_.Below(1000));
    free_ = std::max(free_, asked + kRoundTrip) +
            Lasting(wobble * static_cast<double>(bytes) / bytes_per_second_);
    return free_;
  }
  // What it takes if nothing wobbles.
  Duration Time(uint64_t bytes) const {
    return kRoundTrip + Lasting(static_cast<double>(bytes) / bytes_per_second_);
  }

 private:
  Random random_;
  double bytes_per_second_ = 15e6;
  Instant free_;
};

struct Played {
  size_t in_time = 0;  // Loads of which everything came before the deadline.
  size_t possible = 0;
  double divergence = 0;  // Of all blocks of those that were possible.
  size_t blocks = 0;

  double Kept() const { return static_cast<double>(in_time) / static_cast<double>(possible); }
  double Mean() const { return divergence / static_cast<double>(blocks); }
};

class Loads {
 public:
  Loads(std::vector<Rung> rungs, uint64_t seed) : rungs_(std::move(rungs)), link_(seed) {
    for (const Step& step : kSteps) {
      const TrackRef track = *index_.OpenTrack(
          node_, tracks_++, TestKind(step.rung).TrackOf(blocks_.back(), {std::byte{1}}).Name());
      for (size_t block = 0; block < kPromptBlocks; ++block) {
        EXPECT_TRUE(index_.Add(track, block, blocks_[block], step.bytes).ok());
      }
    }
  }

  Played Play(size_t loads, uint64_t seed) {
    Random random(seed);
    for (size_t i = 0; i < loads; ++i) {
      link_.Wander();
      now_ += std::chrono::seconds(1);
      // Between what hardly any rung keeps and what all of them do.
      const uint64_t bytes = 30'000 + random.Below(300'000);
      Load(now_ + link_.Time(kPromptBlocks * bytes));
    }
    return played_;
  }

 private:
  struct Coming {
    Instant at;
    Rung rung;
    uint64_t bytes;
  };

  void Load(Instant deadline) {
    const CacheMatch match = CacheMatch::Of(index_, blocks_, TestKind(), rungs_);
    const LoadTerms terms{deadline, std::nullopt};
    const Duration least = link_.Time(kPromptBlocks * kSteps.back().bytes);
    const bool possible = now_ + least * 5 / 4 <= deadline;
    size_t next = 0;
    size_t came = 0;
    bool given_up = false;
    while (came < kPromptBlocks && !given_up) {
      while (next < kPromptBlocks && (coming_.empty() || !HasChoice(match, terms) ||
                                      !IsEnoughAsked(pace_, coming_.back().rung, now_))) {
        const RungChoice choice = ChooseRung(match, next, terms, pace_, now_);
        if (!choice.run) {
          given_up = true;
          break;
        }
        pace_.OnAsked(choice.run->bytes, now_);
        for (; next < choice.run->end_block(); ++next) {
          const uint64_t bytes = *match.BytesAt(next, choice.run->rung);
          coming_.push_back({link_.Arrival(now_, bytes), choice.run->rung, bytes});
        }
      }
      if (!coming_.empty()) {
        now_ = coming_.front().at;
        Count(coming_.front(), possible);
        coming_.pop_front();
        ++came;
      }
    }
    pace_.OnOver(pace_.expected_bytes(), now_);
    coming_.clear();
    played_.possible += static_cast<size_t>(possible);
    played_.in_time += static_cast<size_t>(possible && came == kPromptBlocks && now_ <= deadline);
  }
  void Count(const Coming& block, bool possible) {
    pace_.OnBytes(block.rung, block.bytes, now_);
    if (!possible) {
      return;
    }
    played_.divergence += std::ranges::find(kSteps, block.rung, &Step::rung)->divergence;
    ++played_.blocks;
  }

  std::vector<Rung> rungs_;
  WanderingLink link_;
  PrefixIndex index_;
  NodeRef node_ = *index_.OpenNode();
  uint32_t tracks_ = 0;
  std::vector<BlockHash> blocks_ = TestBlocks(kPromptBlocks);
  NodePace pace_;
  Instant now_ = Instant() + std::chrono::hours(1);
  std::deque<Coming> coming_;
  Played played_;
};

// Of all seeds together: of a hundred loads, one more or less is chance.
Played PlayAll(const std::vector<Rung>& rungs) {
  Played sum;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const Played played = Loads(rungs, seed).Play(100, seed);
    sum.in_time += played.in_time;
    sum.possible += played.possible;
    sum.divergence += played.divergence;
    sum.blocks += played.blocks;
  }
  return sum;
}

TEST(RungChoices, KeepDeadlinesAtTheBestRungThatCan) {
  std::vector<Rung> all;
  for (const Step& step : kSteps) {
    all.push_back(step.rung);
  }
  const Played chosen = PlayAll(all);
  ASSERT_GT(chosen.possible, 500u);
  EXPECT_GE(chosen.Kept(), 0.95);
  size_t as_reliable = 0;
  for (const Step& step : kSteps) {
    const Played fixed = PlayAll({step.rung});
    if (fixed.Kept() >= chosen.Kept()) {
      ++as_reliable;
      EXPECT_LE(chosen.Mean(), fixed.Mean()) << ToString(step.rung);
    }
  }
  EXPECT_GE(as_reliable, 1u);
}

}  // namespace
}  // namespace kvcast
