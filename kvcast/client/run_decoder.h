#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kvcast/base/bytes.h"
#include "kvcast/client/counted_jobs.h"
#include "kvcast/client/decode_job.h"
#include "kvcast/client/load_report.h"
#include "kvcast/client/load_run.h"
#include "kvcast/client/prompt_pages.h"
#include "kvcast/client/work_limits.h"
#include "kvcast/codec/codec.h"
#include "kvcast/kv/prefix_chain.h"
#include "kvcast/object/location.h"
#include "kvcast/object/object.h"

namespace kvcast {

// Takes the objects of one run in their order and has jobs write them into pages, each only once it
// has been checked: that its block is the one wanted, that it holds the next token, and that its
// bytes are whole and of this model's shape. A few of a block wait for each other, to be one job.
//
// A block is done when all its jobs are, and all blocks before it. The first thing that is not as
// it must be ends the run: what comes after it is not looked at, what came before is still decoded,
// and only then does it count. The blocks that were whole before stay so.
class RunDecoder {
 public:
  // `blocks` are the wanted hashes of the whole prompt.
  // REQUIRES: the run lies within them and within `pages`; all outlive the decoder, and its jobs.
  RunDecoder(const LoadRun& run, std::span<const BlockHash> blocks, const PromptPages& pages,
             CountedJobs<DecodeJob>& jobs, const WorkLimits& work);

  // By what its objects are decoded, once their track has told. REQUIRES: a codec of the pages'
  // shape.
  void Begin(std::shared_ptr<const Codec> codec);
  bool begun() const { return codec_ != nullptr; }

  // REQUIRES: begun().
  void OnObject(const Object& object);
  // Nothing exists, or is known, between the item before and this location.
  void OnRangeEnd(Location last);
  // Nothing more comes.
  void OnEnd();
  // It gives no more than has come, for a reason that is not its own.
  void Break(LoadFault fault);
  // What waits for more, to be one job with it, is one by itself.
  void SubmitWaiting();
  // One of its jobs has been run.
  void OnDone(const DecodeJob& job);

  // Something is not as it must be,
  bool broken() const { return fault_.has_value(); }
  // and this is it. REQUIRES: broken(), and not busy(): until then it might be another.
  const LoadFault& fault() const;
  // Some of its jobs have not been run: its pages are being written to.
  bool busy() const { return jobs_out_ > 0; }
  // All that was wanted has come, though it may not be decoded.
  bool received() const { return blocks_received_ == block_count_; }
  size_t blocks_done() const { return blocks_done_; }
  bool complete() const { return blocks_done_ == block_count_; }
  // The object that it waits for.
  Location next() const { return {first_group_ + blocks_received_, next_token_}; }
  // Of payload that was decoded.
  uint64_t bytes() const { return bytes_; }

 private:
  // A block of which something has come, and that is not done.
  struct Open {
    std::shared_ptr<BlockView> view;
    size_t jobs = 0;        // That have not been run.
    bool received = false;  // All of it.
    bool spoilt = false;
  };
  using Place = std::pair<size_t, uint32_t>;  // A block of the run, and its token.

  std::optional<LoadFault> CheckKey(const Object& object) const;
  const uint64_t first_group_;
  const size_t first_block_;
  const size_t block_count_;
  const std::span<const BlockHash> blocks_;
  const PromptPages* pages_;
  CountedJobs<DecodeJob>* jobs_;
  const WorkLimits* work_;
  std::shared_ptr<const Codec> codec_;
  size_t blocks_done_ = 0;
  std::deque<Open> open_;  // From the first that is not done.
  size_t blocks_received_ = 0;
  uint32_t next_token_ = 0;
  size_t jobs_out_ = 0;
  uint32_t first_waiting_ = 0;  // The token of the first object that waits.
  std::vector<Bytes> waiting_;
  size_t waiting_bytes_ = 0;
  std::optional<LoadFault> fault_;
  Place fault_at_;
  uint64_t bytes_ = 0;
};

}  // namespace kvcast
