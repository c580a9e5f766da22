#include "kvcast/host/bench_tally.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kvcast/host/bench_report.h"

namespace kvcast {
namespace {

TEST(BenchTally, TellsPercentilesToAFewPercent) {
  BenchTally tally;
  for (int i = 1; i <= 100; ++i) {
    tally.load_s.Observe(i / 1000.0);
  }
  const BenchFigures figures = tally.Figures({Rung::kBf16}, 1000);
  EXPECT_EQ(figures.load.count, 100U);
  EXPECT_NEAR(figures.load.p50, 0.050, 0.0011);
  EXPECT_NEAR(figures.load.p90, 0.090, 0.0019);
  EXPECT_NEAR(figures.load.p99, 0.099, 0.0021);
  EXPECT_EQ(figures.find.count, 0U);
}

TEST(BenchTally, CountsBytesOfKvByBlocksAndCpuByBoth) {
  BenchTally tally;
  tally.blocks_asked.Add(8);
  tally.blocks_loaded.Add(2);
  tally.blocks_published.Add(6);
  BenchFigures figures = tally.Figures({Rung::kBf16}, 250'000'000);
  figures.seconds = 2;
  EXPECT_DOUBLE_EQ(figures.hit_ratio(), 0.25);
  EXPECT_EQ(figures.blocks_computed(), 6U);
  EXPECT_DOUBLE_EQ(figures.loaded_bytes_per_s(), 250e6);
  EXPECT_DOUBLE_EQ(figures.published_bytes_per_s(), 750e6);
  EXPECT_DOUBLE_EQ(figures.PerGb(3), 1.5);  // Two GB in all.
}

TEST(BenchTally, OfNothingSaysNothingThatIsNoNumber) {
  const Json json = BenchTally().Figures({Rung::kInt8}, 1).ToJson();
  EXPECT_EQ(json["hit_ratio"], 0);
  EXPECT_EQ(json["client_cpu_s_per_gb"], 0);
  EXPECT_EQ(json["loaded_bytes_per_s"], 0);
  EXPECT_TRUE(json["node_cpu_s_per_gb"].is_null());
  EXPECT_TRUE(json["error"].is_null());
}

TEST(BenchReport, PutsMoreRungsThanFitSideBySideIntoAnotherTable) {
  BenchReport report;
  for (const Rung rung : {Rung::kBf16, Rung::kInt8, Rung::kInt4, Rung::kFp8, Rung::kFp4}) {
    report.figures.push_back(BenchTally().Figures({rung}, 1));
  }
  const std::string table = report.Table();
  EXPECT_LT(table.find("FP8"), table.find("prompts"));
  EXPECT_GT(table.find("FP4"), table.find("prompts"));
  for (size_t begin = 0, end = 0; (end = table.find('\n', begin)) != std::string::npos;
       begin = end + 1) {
    EXPECT_LE(end - begin, 90U);
  }
}

}  // namespace
}  // namespace kvcast
