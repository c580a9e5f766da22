#include "kvcast/base/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

namespace kvcast {
namespace {

TEST(Metrics, AreReadBackByNameAndLabels) {
  Metrics metrics;
  Counter& hits = metrics.counter("kvcast_fetch_total", "Fetches.", {{"tier", "ram"}});
  hits.Add();
  hits.Add(2);
  metrics.gauge("kvcast_held_bytes", "Bytes held.").Set(-5);
  EXPECT_EQ(metrics.Value("kvcast_fetch_total", {{"tier", "ram"}}), 3);
  EXPECT_EQ(metrics.Value("kvcast_fetch_total", {{"tier", "disk"}}), 0);
  EXPECT_EQ(metrics.Value("kvcast_held_bytes"), -5);
  EXPECT_EQ(metrics.Value("kvcast_unheard_of"), 0);
}

TEST(Metrics, AreTheSameWhoeverAsks) {
  Metrics metrics;
  Counter& a = metrics.counter("kvcast_a_total", "A.", {{"x", "1"}, {"y", "2"}});
  Counter& b = metrics.counter("kvcast_a_total", "A.", {{"y", "2"}, {"x", "1"}});
  EXPECT_EQ(&a, &b);
}

TEST(Metrics, RenderAsPrometheusReadsThem) {
  Metrics metrics;
  metrics.counter("kvcast_b_total", "Second.", {{"tier", "a\"b\\c\nd"}}).Add(7);
  Histogram& wait = metrics.histogram("kvcast_a_wait_us", "First.", {1, 10});
  wait.Observe(1);
  wait.Observe(5);
  wait.Observe(100);
  EXPECT_EQ(metrics.Render(),
            "# HELP kvcast_a_wait_us First.\n"
            "# TYPE kvcast_a_wait_us histogram\n"
            "kvcast_a_wait_us_bucket{le=\"1\"} 1\n"
            "kvcast_a_wait_us_bucket{le=\"10\"} 2\n"
            "kvcast_a_wait_us_bucket{le=\"+Inf\"} 3\n"
            "kvcast_a_wait_us_sum 106\n"
            "kvcast_a_wait_us_count 3\n"
            "# HELP kvcast_b_total Second.\n"
            "# TYPE kvcast_b_total counter\n"
            "kvcast_b_total{tier=\"a\\\"b\\\\c\\nd\"} 7\n");
}

// Quotes are escaped in labels only: a HELP line has none to end.
TEST(Metrics, HelpKeepsItsQuotes) {
  Metrics metrics;
  metrics.gauge("kvcast_a", "The \"a\" of\nC:\\.");
  EXPECT_EQ(metrics.Render(),
            "# HELP kvcast_a The \"a\" of\\nC:\\\\.\n"
            "# TYPE kvcast_a gauge\n"
            "kvcast_a 0\n");
}

// One bad name, and Prometheus would refuse all the others with it.
TEST(MetricsDeathTest, HaveNamesThatPrometheusReads) {
  Metrics metrics;
  for (const char* name : {"", "1a", "a-b", "a b", "a\n"}) {
    EXPECT_DEATH(metrics.counter(name, "A."), "") << name;
  }
  for (const char* key : {"", "1a", "a:b", "a-b", "__a"}) {
    EXPECT_DEATH(metrics.counter("kvcast_a_total", "A.", {{key, "x"}}), "") << key;
  }
  EXPECT_DEATH(metrics.histogram("kvcast_a_us", "A.", {1}, {{"le", "x"}}), "");
  metrics.counter("kvcast:a_total", "A.", {{"_b1", "x"}});
}

TEST(Histogram, DoesNotCountWhatIsNoNumber) {
  Histogram histogram({1, 2});
  histogram.Observe(std::nan(""));
  histogram.Observe(2);
  EXPECT_EQ(histogram.count(), 1u);
  EXPECT_EQ(histogram.bucket(0), 0u);
  EXPECT_EQ(histogram.sum(), 2);
}

TEST(Histogram, TellsQuantilesByItsBounds) {
  Histogram histogram(Histogram::Exponential(1, 2, 4));  // 1 2 4 8
  for (const double value : {0.5, 3.0, 3.5, 100.0}) {
    histogram.Observe(value);
  }
  EXPECT_EQ(histogram.Quantile(0.25), 1);
  EXPECT_EQ(histogram.Quantile(0.75), 4);
  EXPECT_TRUE(std::isinf(histogram.Quantile(1)));
}

TEST(Metrics, CountFromEveryThread) {
  Metrics metrics;
  Counter& counter = metrics.counter("kvcast_c_total", "Threads.");
  Histogram& histogram = metrics.histogram("kvcast_d_us", "Threads.", {1});
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        counter.Add();
        histogram.Observe(0.5);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(counter.value(), 4000u);
  EXPECT_EQ(histogram.count(), 4000u);
  EXPECT_EQ(histogram.sum(), 2000);
}

TEST(Metrics, AddUpAsIfOneHadCounted) {
  Metrics one;
  Metrics other;
  one.counter("a_total", "A.").Add(2);
  other.counter("a_total", "A.").Add(3);
  other.counter("b_total", "B.", {{"tier", "ram"}}).Add(5);
  one.gauge("g", "G.").Set(7);
  other.gauge("g", "G.").Set(-2);
  one.histogram("h", "H.", {1, 2}).Observe(0.5);
  other.histogram("h", "H.", {1, 2}).Observe(1.5);
  other.histogram("i", "I.", {1}).Observe(9);
  Metrics sum;
  sum.Add(one);
  sum.Add(other);
  EXPECT_EQ(sum.Value("a_total"), 5);
  EXPECT_EQ(sum.Value("b_total", {{"tier", "ram"}}), 5);
  EXPECT_EQ(sum.Value("g"), 5);
  EXPECT_EQ(sum.Value("h"), 2);
  EXPECT_EQ(sum.histogram("h", "H.", {1, 2}).sum(), 2);
  EXPECT_EQ(sum.histogram("h", "H.", {1, 2}).bucket(1), 1u);
  EXPECT_EQ(sum.Value("i"), 1);
  EXPECT_EQ(one.Value("a_total"), 2);
}

}  // namespace
}  // namespace kvcast
