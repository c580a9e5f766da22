#pragma once

#include <string>
#include <vector>

#include "kvcast/base/json.h"
#include "kvcast/host/bench_model.h"
#include "kvcast/host/bench_prompts.h"
#include "kvcast/host/bench_tally.h"

namespace kvcast {

// What was measured, for people and for scripts.
struct BenchReport {
  const BenchModel* model = nullptr;
  std::string node;        // Where it is.
  uint64_t ram_bytes = 0;  // Of one of our own; 0: it is somebody else's.
  std::string scope;       // Under which all of it was published.
  std::string trace;       // The file; empty: prompts are made up.
  SharingFigures sharing;
  size_t publishers = 0;
  size_t readers = 0;
  double seconds = 0;  // For each of the measurements.
  std::optional<double> deadline_ms;
  bool interrupted = false;
  std::vector<BenchFigures> figures;

  // What is about to be measured,
  std::string Opening() const;
  // and what came of it: a row for each figure, a column for each measurement.
  std::string Table() const;
  Json ToJson() const;
};

}  // namespace kvcast
