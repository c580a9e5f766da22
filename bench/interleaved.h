#pragma once

#include <benchmark/benchmark.h>

#include <chrono>
#include <string>

namespace kvcast {

// Runs `limit` and `ours` in turn, for as many rounds as the benchmark wants, and reports the time
// of ours with the ratio of the two: how much of the limit's speed we have. In turn, because these
// machines are shared: what disturbs one disturbs the other.
template <typename Limit, typename Ours>
void Interleave(benchmark::State& state, const std::string& ratio_name, Limit limit, Ours ours) {
  const auto seconds = [](auto work) {
    const auto begun = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  };
  double limit_seconds = 0;
  double our_seconds = 0;
  for (auto _ : state) {
    limit_seconds += seconds(limit);
    const double own = seconds(ours);
    our_seconds += own;
    state.SetIterationTime(own);
  }
  state.counters[ratio_name] = limit_seconds / our_seconds;
}

}  // namespace kvcast
