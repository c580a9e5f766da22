#include "kvcast/client/load_report.h"

#include <gtest/gtest.h>

namespace kvcast {
namespace {

LoadRun RunOf(size_t first_block, size_t blocks, Rung rung) {
  return {.track = *TrackName::Parse("a--b"),
          .rung = rung,
          .first_block = first_block,
          .block_count = blocks};
}

// Of blocks 3 to 7: two came before the node was lost.
LoadReport Interrupted() {
  LoadReport report;
  report.first_block = 3;
  report.outcomes = {BlockOutcome::kLoaded, BlockOutcome::kLoaded, BlockOutcome::kNodeLost,
                     BlockOutcome::kAfterGap, BlockOutcome::kAfterGap};
  report.reason = "The node was lost.";
  report.bytes = 20;
  report.fetches = 1;
  report.runs = {RunOf(3, 2, Rung::kBf16)};
  report.choices = {"as it is"};
  report.chosen = {0, 0, std::nullopt, std::nullopt, std::nullopt};
  return report;
}

// Of those that were left, from block 5 on.
LoadReport Next(const std::vector<BlockOutcome>& outcomes) {
  LoadReport report;
  report.first_block = 5;
  report.outcomes = outcomes;
  report.bytes = 7;
  report.fetches = 2;
  report.live = 1;
  report.runs = {RunOf(5, report.loaded(), Rung::kInt8)};
  report.choices = {"not this one", "small"};
  report.chosen.assign(outcomes.size(), std::nullopt);
  report.chosen[0] = 1;
  return report;
}

TEST(LoadReports, GoOnWithWhatCameAtAnotherNode) {
  LoadReport report = Interrupted();
  EXPECT_EQ(report.fault(), BlockOutcome::kNodeLost);
  report.GoOnWith(Next(std::vector(3, BlockOutcome::kLoaded)));
  EXPECT_TRUE(report.complete());
  EXPECT_EQ(report.fault(), std::nullopt);
  EXPECT_EQ(report.reason, "");
  EXPECT_EQ(report.loaded(), 5u);
  EXPECT_EQ(report.bytes, 27u);
  EXPECT_EQ(report.fetches, 3u);
  EXPECT_EQ(report.live, 1u);
  EXPECT_EQ(report.RungOf(1), Rung::kBf16);
  EXPECT_EQ(report.RungOf(4), Rung::kInt8);
  EXPECT_EQ(report.WhyOf(1), "as it is");
  EXPECT_EQ(report.WhyOf(2), "small");
  EXPECT_EQ(report.WhyOf(3), "It came as it was published.");
}

TEST(LoadReports, SayWhatTheNextNodeDoesNotHold) {
  LoadReport report = Interrupted();
  report.GoOnWith(Next({BlockOutcome::kLoaded}));
  EXPECT_EQ(report.loaded(), 3u);
  ASSERT_EQ(report.outcomes.size(), 5u);
  EXPECT_EQ(report.fault(), BlockOutcome::kNotHeld);
  EXPECT_EQ(report.outcomes[4], BlockOutcome::kAfterGap);
  EXPECT_EQ(report.reason, "The node that took over does not hold it.");
}

TEST(LoadReports, SayWhatWentWrongAtTheNextNode) {
  LoadReport report = Interrupted();
  LoadReport next = Next({BlockOutcome::kLoaded, BlockOutcome::kRefused});
  next.reason = "Unauthorized.";
  report.GoOnWith(next);
  ASSERT_EQ(report.outcomes.size(), 5u);
  EXPECT_EQ(report.fault(), BlockOutcome::kRefused);
  EXPECT_EQ(report.outcomes[4], BlockOutcome::kAfterGap);
  EXPECT_EQ(report.reason, "Unauthorized.");
}

}  // namespace
}  // namespace kvcast
