#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kvcast/client/counted_jobs.h"
#include "kvcast/client/executor.h"
#include "kvcast/client/prompt_pages.h"
#include "kvcast/client/survey_job.h"
#include "kvcast/client/work_limits.h"
#include "kvcast/codec/exponent_survey.h"
#include "kvcast/codec/half_type.h"

namespace kvcast {

// A look at some of a prompt's blocks, by jobs, for the constants that suit them. It takes tens of
// milliseconds of a large model's cache: too long for a thread on which loads wait. No more of it
// waits for other jobs, or has them wait, than of what is encoded ahead.
//
// Reads the engine's memory until it is done, stopped or destroyed.
class PageSurvey {
 public:
  // The executor must outlive it.
  PageSurvey(PromptPages pages, HalfType type, Executor& executor, const WorkLimits& work);

  // Goes on with it. False: it is not done, and is to be called again when jobs are.
  bool Look();
  // What was seen; all of it once Look() has said so.
  const ExponentSurvey& seen() const { return seen_; }
  // Nothing is read any more when this returns, and Look() is not called again.
  void Stop() { jobs_.Close(); }

 private:
  bool all_begun() const { return next_block_ >= pages_.block_count(); }
  void BeginJob();
  void TakeDone();

  const PromptPages pages_;
  const HalfType type_;
  const WorkLimits work_;
  const size_t step_;  // From one block that is looked at to the next.
  ExponentSurvey seen_;
  CountedJobs<SurveyJob> jobs_;
  std::shared_ptr<const BlockView> view_;  // Of the block that is begun next, and
  size_t next_block_ = 0;
  size_t next_layer_ = 0;  // where to go on in it.
  uint32_t next_token_ = 0;
};

}  // namespace kvcast
