#pragma once

#include <cstdint>
#include <span>

#include "kvcast/client/counted_jobs.h"
#include "kvcast/client/decode_job.h"
#include "kvcast/client/load_run.h"
#include "kvcast/client/prompt_pages.h"
#include "kvcast/client/run_decoder.h"
#include "kvcast/client/work_limits.h"
#include "kvcast/kv/prefix_chain.h"

namespace kvcast {

// A run that a load has asked somebody for, or has here. What it could not give is another run's,
// or nobody's.
struct DecodingRun {
  DecodingRun(const LoadRun& wanted, std::span<const BlockHash> blocks, const PromptPages& pages,
              CountedJobs<DecodeJob>& jobs, const WorkLimits& work)
      : run(wanted), decoder(wanted, blocks, pages, jobs, work) {}

  LoadRun run;
  RunDecoder decoder;
  uint64_t came_bytes = 0;
  bool live = false;     // It comes at its publisher's pace, and says nothing of the node's.
  bool shelved = false;  // It was here before.
};

}  // namespace kvcast
