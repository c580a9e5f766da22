#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kvcast {

// What is only ever added to. Any thread.
class Counter {
 public:
  void Add(uint64_t amount = 1) { value_.fetch_add(amount, std::memory_order_relaxed); }
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

// What goes up and down: bytes held, sessions open. Any thread.
class Gauge {
 public:
  void Set(int64_t value) { value_.store(value, std::memory_order_relaxed); }
  void Add(int64_t amount) { value_.fetch_add(amount, std::memory_order_relaxed); }
  int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> value_{0};
};

// How often a value fell below each bound. Any thread; a reader may see a sum that is one
// observation ahead of a count.
class Histogram {
 public:
  // REQUIRES: bounds ascend. A value equal to a bound counts under it; one more bucket takes the
  // values above all of them.
  explicit Histogram(std::vector<double> bounds);

  // `count` bounds, each `factor` times the one before.
  static std::vector<double> Exponential(double first, double factor, size_t count);

  // What is not a number lies under no bound, and would spoil the sum: it is not counted.
  void Observe(double value);
  uint64_t count() const;
  double sum() const { return sum_.load(std::memory_order_relaxed); }
  const std::vector<double>& bounds() const { return bounds_; }
  // Observations in bucket `index` alone, not those below it. REQUIRES: index <= bounds().size().
  uint64_t bucket(size_t index) const { return buckets_[index].value(); }
  // The bound under which at least `share` of the observations lie: 0.5 for the median.
  double Quantile(double share) const;
  // All that the other has observed. REQUIRES: the same bounds.
  void Add(const Histogram& other);

 private:
  std::vector<double> bounds_;
  std::unique_ptr<Counter[]> buckets_;
  std::atomic<double> sum_{0};
};

using Labels = std::vector<std::pair<std::string, std::string>>;

// Every metric of one process or shard, by name and labels. Asking for the same one twice gives
// the same one, which stays where it is for the registry's life: keep the reference, not the name.
//
// Names end in their unit, counters in _total: kvcast_fetch_bytes_total{tier="ram"}.
// A name or a label's key that Prometheus would not read is a bug of ours, and stops us.
// Asking and rendering belong to one thread; the metrics themselves to any.
class Metrics {
 public:
  Counter& counter(std::string_view name, std::string_view help, const Labels& labels = {});
  Gauge& gauge(std::string_view name, std::string_view help, const Labels& labels = {});
  Histogram& histogram(std::string_view name, std::string_view help, std::vector<double> bounds,
                       const Labels& labels = {});

  // What a test asks: the value of a counter or gauge, or a histogram's count; 0 if there is none.
  double Value(std::string_view name, const Labels& labels = {}) const;

  // Adds what another has of each metric, as if this one had counted it: of gauges, too, so that
  // those that do not add up have to be set anew. On the other's thread.
  void Add(const Metrics& other);

  // Prometheus' text format, families and series in a fixed order.
  std::string Render() const;

 private:
  enum class Kind : uint8_t { kCounter, kGauge, kHistogram };
  struct Series {
    std::unique_ptr<Counter> counter;
    std::unique_ptr<Gauge> gauge;
    std::unique_ptr<Histogram> histogram;
  };
  struct Family {
    Kind kind = Kind::kCounter;
    std::string help;
    std::map<std::string, Series> series;  // By labels as they are rendered.
  };
  Series& SeriesFor(std::string_view name, std::string_view help, Kind kind, const Labels& labels);

  std::map<std::string, Family, std::less<>> families_;
};

}  // namespace kvcast
