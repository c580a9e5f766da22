#include "kvcast/client/page_survey.h"

#include <algorithm>
#include <utility>

namespace kvcast {
namespace {

// Enough to know which exponents a prompt has; all others are written out, and cost a byte more.
constexpr size_t kBlocksLookedAt = 4;

}  // namespace

PageSurvey::PageSurvey(PromptPages pages, HalfType type, Executor& executor, const WorkLimits& work)
    : pages_(std::move(pages)),
      type_(type),
      work_(work),
      step_(std::max<size_t>(pages_.block_count() / kBlocksLookedAt, 1)),
      seen_(pages_.shape(), type, pages_.slice()),
      jobs_(executor.Open()) {}

bool PageSurvey::Look() {
  TakeDone();
  while (!all_begun() && (jobs_.empty() || jobs_.bytes() < work_.encoded_bytes_max)) {
    BeginJob();
    TakeDone();
  }
  return all_begun() && jobs_.empty();
}

// What one job looks at is of one layer: each has counts of its own.
void PageSurvey::BeginJob() {
  if (view_ == nullptr) {
    view_ = std::make_shared<const BlockView>(pages_.Block(next_block_));
  }
  const uint64_t values = pages_.shape().layers()[next_layer_].values();
  const uint64_t token_bytes = std::max<uint64_t>(values * pages_.value_bytes(), 1);
  const uint32_t left = pages_.shape().tokens() - next_token_;
  const auto tokens =
      static_cast<uint32_t>(std::clamp<uint64_t>(work_.encode_job_bytes / token_bytes, 1, left));
  jobs_.Submit(std::make_unique<SurveyJob>(
      view_, type_, SurveyJob::Part{next_layer_, next_token_, tokens, tokens * token_bytes}));
  next_token_ += tokens;
  if (next_token_ == pages_.shape().tokens()) {
    next_token_ = 0;
    ++next_layer_;
  }
  if (next_layer_ == pages_.shape().layers().size()) {
    next_layer_ = 0;
    next_block_ += step_;
    view_ = nullptr;
  }
}

void PageSurvey::TakeDone() {
  while (const std::unique_ptr<SurveyJob> job = jobs_.TakeDone()) {
    seen_.Add(job->layer(), job->seen());
  }
}

}  // namespace kvcast
