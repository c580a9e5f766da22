#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/client/block_supply.h"
#include "kvcast/client/counted_jobs.h"
#include "kvcast/client/encode_job.h"
#include "kvcast/client/executor.h"
#include "kvcast/client/ladder.h"
#include "kvcast/client/page_survey.h"
#include "kvcast/client/prompt_pages.h"
#include "kvcast/client/track_coding.h"
#include "kvcast/client/work_limits.h"
#include "kvcast/codec/codec.h"
#include "kvcast/kv/rung.h"

namespace kvcast {

// A prompt's blocks, encoded from the engine's pages by jobs, ahead of what is sent, as far as a
// bound of bytes goes.
class PageSupply final : public BlockSupply {
 public:
  // Reads no page before Prepare(), which chooses how they are coded by those that it may read,
  // unless `coding` has been chosen before. The executor must outlive it.
  PageSupply(PromptPages pages, Ladder ladder, Rung rung, Executor& executor,
             const WorkLimits& work, std::shared_ptr<TrackCoding> coding);

  size_t block_count() const override { return pages_.block_count(); }
  Result<bool> Prepare(size_t blocks) override;
  Properties TrackProperties(const Properties& others) const override;
  uint32_t EndOf(size_t block) const override;
  uint64_t FirstFrom(size_t block, uint64_t object) const override;
  uint32_t After(size_t block, uint32_t object) const override;
  Properties ObjectPropertiesOf(const BlockHash& hash, size_t block,
                                uint32_t object) const override;
  std::optional<Bytes> Payload(size_t block, uint32_t object) override;
  void Expect(size_t block, uint32_t object) override;
  bool wants_more() const override { return plan_.empty() && !IsFull(); }
  std::optional<size_t> last_expected() const override;
  void Stop() override;

 private:
  // What one job makes, from its beginning until all of it was asked for.
  struct Part {
    uint64_t number = 0;  // Of the job.
    size_t block = 0;
    uint32_t next = 0;  // The token of the first object that was not asked for.
    bool made = false;
    std::deque<Bytes> objects{};
  };
  using Place = std::pair<size_t, uint32_t>;  // A block, and where to go on in it.

  bool IsFull() const { return jobs_.bytes() + made_bytes_ >= work_.encoded_bytes_max; }
  // Whatever is ahead of this object is not asked for after all.
  void GoTo(Place place);
  void DropFirst();
  void BeginJobs();
  void TakeDone();

  const PromptPages pages_;
  const Ladder ladder_;
  const Rung rung_;
  Executor* const executor_;
  const WorkLimits work_;
  const std::shared_ptr<TrackCoding> coding_;
  std::optional<PageSurvey> survey_;  // While it is not known how they are coded.
  std::shared_ptr<const Codec> codec_;
  std::shared_ptr<const BlockView> view_;  // Of the block that jobs were last begun of.
  size_t viewed_ = 0;

  CountedJobs<EncodeJob> jobs_;
  uint64_t next_number_ = 0;
  std::deque<Part> parts_;   // In the order in which they are asked for,
  uint64_t made_bytes_ = 0;  // and what of them is made.
  std::deque<Place> plan_;   // What is to be begun after them.
};

}  // namespace kvcast
