#include "kvcast/host/bench_desk.h"

#include <gtest/gtest.h>

#include <atomic>

#include "kvcast/io/thread_team.h"

namespace kvcast {
namespace {

RequestTrace TraceOf(std::vector<std::vector<uint64_t>> requests) {
  RequestTrace trace;
  trace.requests = std::move(requests);
  trace.distinct_count = 10;
  return trace;
}

TEST(BenchDesk, HandsARequestToAReaderAndThenToAPublisher) {
  const RequestTrace trace = TraceOf({{0, 1}, {0, 1, 2}, {3}});
  BenchDesk desk(trace, /*readers=*/1, /*waiting_max=*/4);
  for (size_t i = 0; i < 3; ++i) {
    const auto request = desk.NextToRead();
    ASSERT_TRUE(request);
    EXPECT_EQ(request->number, i);
    EXPECT_EQ(request->seen_blocks, i == 1 ? 2U : 0U);
    desk.HaveRead(*request);
    EXPECT_EQ(desk.NextToPublish()->number, i);
  }
  EXPECT_FALSE(desk.NextToRead());
  EXPECT_FALSE(desk.NextToPublish());
}

TEST(BenchDesk, WithoutReadersPublishersTakeAll) {
  const RequestTrace trace = TraceOf({{0}, {1}});
  BenchDesk desk(trace, 0, 1);
  EXPECT_EQ(desk.NextToPublish()->number, 0U);
  EXPECT_EQ(desk.NextToPublish()->number, 1U);
  EXPECT_FALSE(desk.NextToPublish());
}

TEST(BenchDesk, WhenClosedNobodyWaitsAnyMore) {
  const RequestTrace trace = TraceOf({{0}, {1}, {2}});
  BenchDesk desk(trace, 1, 1);
  desk.HaveRead(*desk.NextToRead());  // Nobody publishes it: the next reader has to wait.
  ThreadTeam team;
  std::atomic<int> turned_away{0};
  team.Start([&] { turned_away += desk.NextToRead() ? 0 : 1; });
  desk.Close();
  team.Join();
  EXPECT_EQ(turned_away, 1);
  EXPECT_FALSE(desk.NextToPublish());
}

// However many work side by side, each request is read once and published once.
TEST(BenchDesk, LosesNothingBetweenManyThreads) {
  const RequestTrace trace = TraceOf(std::vector<std::vector<uint64_t>>(500, {1}));
  BenchDesk desk(trace, 3, 5);
  std::atomic<size_t> read{0};
  std::atomic<size_t> published{0};
  ThreadTeam team;
  for (int i = 0; i < 3; ++i) {
    team.Start([&] {
      while (const auto request = desk.NextToRead()) {
        read += request->number;
        desk.HaveRead(*request);
      }
    });
    team.Start([&] {
      while (const auto request = desk.NextToPublish()) {
        published += request->number;
      }
    });
  }
  team.Join();
  EXPECT_EQ(read, 500U * 499 / 2);
  EXPECT_EQ(published, read);
}

}  // namespace
}  // namespace kvcast
