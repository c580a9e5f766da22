#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace kvcast {

// Runs `limit` and `ours` in turn, for as many rounds as the benchmark wants, and reports the time
// of ours with the median ratio of the two: how much of the limit's speed we have. In turn, and
// the median, because these machines are shared: what disturbs one round mostly disturbs both of
// it, and what disturbs one of the two is in few rounds.
template <typename Limit, typename Ours>
void Interleave(benchmark::State& state, const std::string& ratio_name, Limit limit, Ours ours) {
  const auto seconds = [](auto work) {
    const auto begun = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  };
  std::vector<double> ratios;
  for (auto _ : state) {
    const double bound = seconds(limit);
    const double own = seconds(ours);
    ratios.push_back(bound / own);
    state.SetIterationTime(own);
  }
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
  std::nth_element(ratios.begin(), middle, ratios.end());
  state.counters[ratio_name] = *middle;
}

}  // namespace kvcast
