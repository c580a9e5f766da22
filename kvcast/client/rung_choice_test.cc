#include "kvcast/client/rung_choice.h"

#include <gtest/gtest.h>

#include <vector>

#include "kvcast/client/engine_memory_test.h"

namespace kvcast {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Reason = RungChoice::Reason;

const std::vector<Rung> kThree = {Rung::kBf16, Rung::kInt8, Rung::kInt4};

// A prompt of twelve blocks: 8,000, 4,000 and 2,000 bytes each at three rungs.
class Choosing : public testing::Test {
 protected:
  Choosing() {
    Add(Rung::kBf16, 0, 12, 8000);
    Add(Rung::kInt8, 0, 12, 4000);
    Add(Rung::kInt4, 0, 12, 2000);
  }
  void Add(Rung rung, size_t first, size_t count, uint64_t bytes) {
    const TrackName track =
        TestKind(rung).TrackOf(blocks_.back(), {std::byte{static_cast<uint8_t>(++tracks_)}}).Name();
    const TrackRef ref = *index_.OpenTrack(node_, tracks_, track);
    for (size_t block = first; block < first + count; ++block) {
      ASSERT_TRUE(index_.Add(ref, block, blocks_[block], bytes).ok());
    }
  }
  CacheMatch Match(const std::vector<Rung>& rungs = kThree) {
    return CacheMatch::Of(index_, blocks_, TestKind(), rungs);
  }
  // A node from which a byte takes a microsecond.
  NodePace Known() {
    NodePace pace;
    pace.OnAsked(100'000, now_);
    for (size_t i = 0; i < 100; ++i) {
      now_ += milliseconds(1);
      pace.OnBytes(Rung::kInt8, 1000, now_);
    }
    return pace;
  }
  RungChoice Choose(const NodePace& pace, const LoadTerms& terms, size_t block = 0) {
    return ChooseRung(Match(), block, terms, pace, now_);
  }
  LoadTerms Within(Duration time, std::optional<Duration> compute = std::nullopt) const {
    return {now_ + time, compute};
  }

  PrefixIndex index_;
  NodeRef node_ = *index_.OpenNode();
  std::vector<BlockHash> blocks_ = TestBlocks(12);
  uint32_t tracks_ = 0;
  Instant now_ = Instant() + seconds(10);
};

TEST_F(Choosing, LoadsAllAtTheBestRungWhereNothingIsToBeWeighed) {
  const RungChoice choice = Choose(NodePace(), {});
  EXPECT_EQ(choice.reason, Reason::kBest);
  EXPECT_EQ(choice.run->rung, Rung::kBf16);
  EXPECT_EQ(choice.run->block_count, 12u);
  const RungChoice only =
      ChooseRung(Match({Rung::kInt8}), 0, Within(milliseconds(1)), NodePace(), now_);
  EXPECT_EQ(only.run->block_count, 12u);  // There is no other to change to.
}

// What was asked for at one moment does not come while its first byte is on its way: who forgets
// that asks for more and more, the longer the way is.
TEST_F(Choosing, CountsTheWayOfWhatWasJustAskedFor) {
  NodePace pace;
  pace.OnAsked(101'000, now_);
  now_ += milliseconds(40);
  pace.OnBytes(Rung::kInt8, 1000, now_);
  for (size_t i = 0; i < 100; ++i) {
    now_ += milliseconds(1);
    pace.OnBytes(Rung::kInt8, 1000, now_);
  }
  const RungChoice first = Choose(pace, Within(milliseconds(100)));
  EXPECT_EQ(first.run->rung, Rung::kInt8);
  EXPECT_EQ(first.expected, milliseconds(88));
  pace.OnAsked(first.run->bytes, now_);
  const RungChoice next = Choose(pace, Within(milliseconds(100)), first.run->end_block());
  EXPECT_EQ(next.run->rung, Rung::kInt8);
  EXPECT_EQ(next.expected, milliseconds(88));
}

// Who would compute the rest waits for what was asked for first, too: a load that is worth it as a
// whole is not left after its first blocks, and then given up altogether.
TEST_F(Choosing, GoesOnWithWhatItBegan) {
  NodePace pace;  // 40 ms away, and 20 ms for each block.
  pace.OnAsked(11'000, now_);
  now_ += milliseconds(40);
  pace.OnBytes(Rung::kInt4, 1000, now_);
  for (size_t i = 0; i < 10; ++i) {
    now_ += milliseconds(10);
    pace.OnBytes(Rung::kInt4, 1000, now_);
  }
  const LoadTerms terms = Within(seconds(30), milliseconds(25));
  pace.OnAsked(2000, now_);
  size_t block = 1;
  while (block < 12) {
    const RungChoice choice = Choose(pace, terms, block);
    ASSERT_TRUE(choice.run.has_value()) << block << ": " << choice.ToString();
    EXPECT_EQ(choice.run->rung, Rung::kInt4) << block;
    pace.OnAsked(choice.run->bytes, now_);
    block = choice.run->end_block();
  }
}

TEST_F(Choosing, AsksForLittleOfANodeThatNobodyKnows) {
  const RungChoice choice = Choose(NodePace(), Within(seconds(1)));
  EXPECT_EQ(choice.reason, Reason::kUnknownLink);
  EXPECT_EQ(choice.run->rung, Rung::kInt4);
  EXPECT_EQ(choice.run->block_count, 2u);
}

// All twelve blocks take 96, 48 or 24 ms.
TEST_F(Choosing, TakesTheBestRungAtWhichAllComesInTime) {
  const NodePace pace = Known();
  EXPECT_EQ(Choose(pace, Within(milliseconds(120))).run->rung, Rung::kBf16);
  EXPECT_EQ(Choose(pace, Within(milliseconds(120))).reason, Reason::kBest);
  EXPECT_EQ(Choose(pace, Within(milliseconds(90))).run->rung, Rung::kInt8);
  EXPECT_EQ(Choose(pace, Within(milliseconds(90))).reason, Reason::kFits);
  EXPECT_EQ(Choose(pace, Within(milliseconds(40))).run->rung, Rung::kInt4);
  EXPECT_EQ(Choose(pace, Within(milliseconds(40)), 8).run->rung, Rung::kBf16);  // Four are left.
}

TEST_F(Choosing, LoadsAsMuchAsItCanWhereNotAllComesInTime) {
  const NodePace pace = Known();
  const RungChoice choice = Choose(pace, Within(milliseconds(10)));
  EXPECT_EQ(choice.reason, Reason::kFastest);
  EXPECT_EQ(choice.run->rung, Rung::kInt4);
  const RungChoice late = Choose(pace, Within(milliseconds(2)));
  EXPECT_EQ(late.reason, Reason::kTooLate);
  EXPECT_FALSE(late.run.has_value());
}

TEST_F(Choosing, NeverLoadsWhereComputingIsFaster) {
  const NodePace pace = Known();
  const auto with = [&](Duration compute) { return Choose(pace, {Instant::max(), compute}); };
  EXPECT_EQ(with(milliseconds(11)).run->rung, Rung::kBf16);
  EXPECT_EQ(with(milliseconds(6)).run->rung, Rung::kInt8);
  EXPECT_EQ(with(milliseconds(3)).run->rung, Rung::kInt4);
  EXPECT_EQ(with(milliseconds(1)).reason, Reason::kComputingFaster);
  EXPECT_FALSE(with(milliseconds(1)).run.has_value());
  // Even in time, and even at a node that is near.
  EXPECT_EQ(Choose(pace, Within(seconds(1), milliseconds(1))).reason, Reason::kComputingFaster);
}

// What goes to a load that is given up is lost, and computing is sure: with a fourth less time than
// computing takes one is begun, and not with just a little less.
TEST_F(Choosing, BeginsOnlyWhereThereIsSomethingToGain) {
  NodePace pace = Known();
  const LoadTerms terms{Instant::max(), std::chrono::microseconds(2500)};  // 24 of 30 ms.
  EXPECT_EQ(Choose(pace, terms).reason, Reason::kComputingFaster);
  pace.OnAsked(2000, now_);
  EXPECT_EQ(Choose(pace, terms, 1).run->rung, Rung::kInt4);
}

// Whoever is never asked again never becomes faster.
TEST_F(Choosing, AsksANodeAgainThatWasTooSlowLongAgo) {
  const NodePace pace = Known();
  const LoadTerms terms{Instant::max(), milliseconds(1)};
  now_ += seconds(10);
  EXPECT_EQ(Choose(pace, terms).reason, Reason::kComputingFaster);
  now_ += milliseconds(1);
  const RungChoice choice = Choose(pace, terms);
  EXPECT_EQ(choice.reason, Reason::kUnknownLink);
  EXPECT_EQ(choice.run->rung, Rung::kInt4);
  EXPECT_EQ(choice.run->block_count, 2u);
  // As fast as it was is fast enough: nothing is to be found out.
  EXPECT_EQ(Choose(pace, {Instant::max(), milliseconds(11)}).reason, Reason::kBest);
}

TEST_F(Choosing, CountsWhatIsOnItsWay) {
  NodePace pace = Known();
  EXPECT_EQ(Choose(pace, Within(milliseconds(120))).run->rung, Rung::kBf16);
  pace.OnAsked(50'000, now_);
  EXPECT_EQ(Choose(pace, Within(milliseconds(120))).run->rung, Rung::kInt8);
}

TEST_F(Choosing, SettlesNoMoreThanItCanForesee) {
  const NodePace pace = Known();
  EXPECT_EQ(Choose(pace, Within(milliseconds(120))).run->block_count, 3u);  // 25 ms of them.
  EXPECT_EQ(Choose(pace, Within(milliseconds(60))).run->block_count, 6u);
}

// A publisher may have given up half way: what is missing at one rung comes at another.
TEST_F(Choosing, GoesOnWhereARungEnds) {
  Add(Rung::kKtcFine, 0, 3, 1000);
  const CacheMatch match = Match({Rung::kKtcFine, Rung::kInt4});
  const NodePace pace = Known();
  const RungChoice first = ChooseRung(match, 0, Within(milliseconds(100)), pace, now_);
  EXPECT_EQ(first.run->rung, Rung::kKtcFine);
  EXPECT_EQ(first.run->block_count, 3u);
  EXPECT_EQ(ChooseRung(match, 3, Within(milliseconds(100)), pace, now_).run->rung, Rung::kInt4);
}

TEST_F(Choosing, SaysWhy) {
  const NodePace pace = Known();
  EXPECT_EQ(Choose(pace, Within(milliseconds(90))).ToString(),
            "blocks 0-5 as Int8: the best that comes in time; the rest takes 49 ms of 90 ms left.");
  EXPECT_EQ(Choose(pace, {Instant::max(), milliseconds(1)}).ToString(),
            "blocks from 0 on computed: computing is faster; the rest takes 25 ms, computing it "
            "12 ms.");
  EXPECT_EQ(Choose(NodePace(), Within(milliseconds(90))).ToString(),
            "blocks 0-1 as Int4: the smallest, since nothing is known of the link yet; there are "
            "90 ms left.");
}

}  // namespace
}  // namespace kvcast
