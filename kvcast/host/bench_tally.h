#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kvcast/base/json.h"
#include "kvcast/base/metrics.h"
#include "kvcast/kv/rung.h"

namespace kvcast {

// How long something took, in seconds, by share of the times.
struct Percentiles {
  uint64_t count = 0;
  double p50 = 0;
  double p90 = 0;
  double p99 = 0;

  static Percentiles Of(const Histogram& histogram);
  Json ToJson() const;
};

// What a measurement came to. GB are of KV as it lies in pages, unless they are wire bytes.
struct BenchFigures {
  std::vector<Rung> rungs;
  double seconds = 0;
  size_t block_bytes = 0;  // In pages.

  uint64_t requests = 0;  // That were answered, from the cache or not at all.
  uint64_t blocks_asked = 0;
  uint64_t blocks_seen = 0;    // Of them, those that a cache without limits or delay would hit.
  uint64_t blocks_found = 0;   // As the node's catalog said,
  uint64_t blocks_loaded = 0;  // and of them: in their pages, checked,
  uint64_t blocks_late = 0;    // not there by the deadline,
  uint64_t blocks_failed = 0;  // or gone, or refused.
  uint64_t blocks_wrong = 0;   // Of the loaded, those that are not what was published: a bug.
  uint64_t load_wire_bytes = 0;
  uint64_t blocks_published = 0;
  uint64_t blocks_held = 0;  // That the node had already.
  uint64_t publish_wire_bytes = 0;
  uint64_t publishes_failed = 0;

  Percentiles find;
  Percentiles load;
  Percentiles publish;
  double load_bytes_per_s_p50 = 0;   // Of single loads.
  std::optional<double> error;       // Of what lossy rungs gave, as a share of the values.
  double client_cpu_s = 0;           // Without what measuring itself took.
  std::optional<double> node_cpu_s;  // Where the node is ours.
  std::vector<std::pair<Rung, uint64_t>> loaded_at;  // Blocks, by rung.
  std::string trouble;                               // The first thing that went wrong, for people.

  uint64_t blocks_computed() const { return blocks_asked - blocks_loaded; }
  double hit_ratio() const;
  double hit_ratio_possible() const;
  double loaded_bytes_per_s() const;
  double published_bytes_per_s() const;
  double PerSecond(uint64_t bytes) const;
  // Of KV that was published or loaded.
  double PerGb(double cpu_s) const;
  std::string Label() const;
  Json ToJson() const;
};

// The same while it is being counted, by any number of threads.
class BenchTally {
 public:
  Counter requests;
  Counter blocks_asked;
  Counter blocks_seen;
  Counter blocks_found;
  Counter blocks_loaded;
  Counter blocks_late;
  Counter blocks_failed;
  Counter blocks_wrong;
  Counter load_wire_bytes;
  Counter blocks_published;
  Counter blocks_held;
  Counter publish_wire_bytes;
  Counter publishes_failed;
  Counter overhead_cpu_ns;  // What measuring itself took.
  Histogram find_s{Times()};
  Histogram load_s{Times()};
  Histogram publish_s{Times()};
  Histogram load_bytes_per_s{Histogram::Exponential(1e3, 1.02, 1000)};
  Histogram errors{Histogram::Exponential(1e-6, 1.1, 160)};
  std::array<Counter, 16> loaded_at;  // By rung.

  // All but the time, which whoever keeps it fills in.
  BenchFigures Figures(const std::vector<Rung>& rungs, size_t block_bytes) const;

 private:
  // From a microsecond to an hour, in steps of 2 %.
  static std::vector<double> Times() { return Histogram::Exponential(1e-6, 1.02, 1112); }
};

}  // namespace kvcast
