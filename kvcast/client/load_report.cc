#include "kvcast/client/load_report.h"

#include <algorithm>
#include <utility>

namespace kvcast {

std::string_view ToString(BlockOutcome outcome) {
  switch (outcome) {
    case BlockOutcome::kLoaded:
      return "loaded";
    case BlockOutcome::kNotHeld:
      return "not held";
    case BlockOutcome::kRefused:
      return "refused";
    case BlockOutcome::kWrong:
      return "wrong";
    case BlockOutcome::kTooLate:
      return "too late";
    case BlockOutcome::kCancelled:
      return "cancelled";
    case BlockOutcome::kNodeLost:
      return "node lost";
    case BlockOutcome::kComputingFaster:
      return "computing is faster";
    case BlockOutcome::kAfterGap:
      return "after a gap";
  }
  return "unknown";
}

LoadReport LoadReport::NodeLost(size_t first_block, size_t blocks, const std::string& why) {
  LoadReport report;
  report.first_block = first_block;
  report.outcomes.assign(blocks, BlockOutcome::kAfterGap);
  if (blocks > 0) {
    report.outcomes[0] = BlockOutcome::kNodeLost;
    report.reason = "There is no session to a node: " + why;
  }
  return report;
}

void LoadReport::GoOnWith(LoadReport next) {
  const size_t kept = loaded();
  const size_t wanted = outcomes.size();
  const bool ends_short = next.complete() && kept + next.outcomes.size() < wanted;
  outcomes.resize(kept);
  outcomes.insert(outcomes.end(), next.outcomes.begin(), next.outcomes.end());
  reason = std::move(next.reason);
  if (ends_short) {
    outcomes.push_back(BlockOutcome::kNotHeld);
    reason = "The node that took over does not hold it.";
  }
  outcomes.resize(std::max(wanted, outcomes.size()), BlockOutcome::kAfterGap);
  bytes += next.bytes;
  fetches += next.fetches;
  live += next.live;
  prefetched += next.prefetched;
  runs.insert(runs.end(), next.runs.begin(), next.runs.end());
  chosen.resize(kept);
  for (const std::optional<size_t>& choice : next.chosen) {
    chosen.push_back(choice ? std::optional(choices.size() + *choice) : std::nullopt);
  }
  choices.insert(choices.end(), next.choices.begin(), next.choices.end());
}

size_t LoadReport::loaded() const {
  return static_cast<size_t>(std::ranges::count(outcomes, BlockOutcome::kLoaded));
}

std::optional<BlockOutcome> LoadReport::fault() const {
  return complete() ? std::nullopt : std::optional(outcomes[loaded()]);
}

std::optional<Rung> LoadReport::RungOf(size_t number) const {
  const auto brings = [&](const LoadRun& run) {
    return run.first_block <= first_block + number && first_block + number < run.end_block();
  };
  const auto run = std::ranges::find_if(runs, brings);
  return run == runs.end() ? std::nullopt : std::optional(run->rung);
}

std::string LoadReport::WhyOf(size_t number) const {
  if (outcomes[number] == BlockOutcome::kAfterGap) {
    return "A block before it is missing.";
  }
  if (outcomes[number] != BlockOutcome::kLoaded) {
    return reason;
  }
  return chosen[number] ? choices[*chosen[number]] : "It came as it was published.";
}

std::vector<Rung> LoadReport::rungs() const {
  std::vector<Rung> distinct;
  for (const LoadRun& run : runs) {
    if (std::ranges::find(distinct, run.rung) == distinct.end()) {
      distinct.push_back(run.rung);
    }
  }
  return distinct;
}

}  // namespace kvcast
