#include "kvcast/client/run_decoder.h"

#include <utility>

#include "kvcast/base/check.h"
#include "kvcast/base/planted.h"
#include "kvcast/kv/cache_track.h"

namespace kvcast {
namespace {

LoadFault Wrong(std::string reason) { return {BlockOutcome::kWrong, std::move(reason)}; }
LoadFault NotHeld(std::string reason) { return {BlockOutcome::kNotHeld, std::move(reason)}; }

}  // namespace

RunDecoder::RunDecoder(const LoadRun& run, std::span<const BlockHash> blocks,
                       const PromptPages& pages, CountedJobs<DecodeJob>& jobs,
                       const WorkLimits& work)
    : first_group_(run.first_group),
      first_block_(run.first_block),
      block_count_(run.block_count),
      blocks_(blocks),
      pages_(&pages),
      jobs_(&jobs),
      work_(&work) {
  KVCAST_CHECK(block_count_ <= blocks.size() && first_block_ <= blocks.size() - block_count_);
  KVCAST_CHECK(first_block_ + block_count_ <= pages.block_count());
}

void RunDecoder::Begin(std::shared_ptr<const Codec> codec) {
  KVCAST_CHECK(codec->shape() == pages_->shape());
  codec_ = std::move(codec);
}

void RunDecoder::OnObject(const Object& object) {
  KVCAST_CHECK(begun());
  if (broken() || received()) {
    return;  // All that was wanted is there; what else the node sends is its affair.
  }
  const Location wanted = next();
  if (object.location != wanted) {
    Break(object.location < wanted
              ? Wrong("Object " + object.location.ToString() + " belongs to no token of a block.")
              : NotHeld("Token " + wanted.ToString() + " is missing."));
    return;
  }
  if (next_token_ == 0) {
    if (std::optional<LoadFault> fault = CheckKey(object)) {
      Break(*std::move(fault));
      return;
    }
    open_.push_back({std::make_shared<BlockView>(pages_->Block(first_block_ + blocks_received_))});
    first_waiting_ = 0;
  }
  waiting_.push_back(object.payload);
  waiting_bytes_ += object.payload.size();
  next_token_ += codec_->TokensFrom(next_token_);
  const bool is_last = next_token_ == pages_->shape().tokens();
  if (is_last || waiting_.size() >= work_->job_objects_max ||
      (waiting_bytes_ >= work_->decode_job_bytes && waiting_.size() >= codec_->Together())) {
    SubmitWaiting();
  }
  if (is_last) {
    open_.back().received = true;
    next_token_ = 0;
    ++blocks_received_;
  }
}

// REQUIRES: the block that they are of is the last that was opened.
void RunDecoder::SubmitWaiting() {
  if (waiting_.empty()) {
    return;
  }
  ++jobs_out_;
  ++open_.back().jobs;
  const DecodeJob::Place place{first_block_, blocks_received_, first_waiting_};
  first_waiting_ = next_token_;
  waiting_bytes_ = 0;
  jobs_->Submit(
      std::make_unique<DecodeJob>(place, codec_, open_.back().view, std::exchange(waiting_, {})));
}

void RunDecoder::OnDone(const DecodeJob& job) {
  --jobs_out_;
  bytes_ += job.decoded_bytes();
  Open& block = open_[job.place().block - blocks_done_];
  --block.jobs;
  if (job.fault()) {
    block.spoilt = true;
    waiting_.clear();
    // Whichever job is done first, what stands first in the track is told.
    const Place at{job.place().block, job.fault_token()};
    if (!fault_ || at < fault_at_) {
      const Location wrong{first_group_ + at.first, at.second};
      fault_ = Wrong("Token " + wrong.ToString() + ": " + job.fault()->message());
      fault_at_ = at;
    }
  }
  while (!open_.empty() && open_.front().received && open_.front().jobs == 0 &&
         !open_.front().spoilt) {
    open_.pop_front();
    ++blocks_done_;
  }
}

// The node's catalog is only a hint: what its publisher wrote into the group itself decides.
std::optional<LoadFault> RunDecoder::CheckKey(const Object& object) const {
  if (Planted(PlantedBug::kKeyNotCompared)) {
    return std::nullopt;
  }
  const Result<std::optional<BlockHash>> key = BlockHashIn(object.properties);
  if (!key.ok() || !*key || **key != blocks_[first_block_ + blocks_received_]) {
    return Wrong("Group " + std::to_string(object.location.group) + " is not the block wanted: " +
                 (!key.ok() ? key.error().message()
                  : !*key   ? std::string("it has no key.")
                            : std::string("its key is another one.")));
  }
  return std::nullopt;
}

void RunDecoder::OnRangeEnd(Location last) {
  if (!received() && last >= next()) {  // Else it is behind the last token of a group.
    Break(NotHeld("The node has no token " + next().ToString() + "."));
  }
}

void RunDecoder::OnEnd() {
  if (!received()) {
    Break(NotHeld("The answer ended before token " + next().ToString() + "."));
  }
}

// What has come of the block that is not whole is decoded all the same: that it is damaged says
// more than that the rest is missing.
void RunDecoder::Break(LoadFault fault) {
  if (broken() || received()) {
    return;
  }
  SubmitWaiting();
  fault_ = std::move(fault);
  fault_at_ = {blocks_received_, next_token_};
}

const LoadFault& RunDecoder::fault() const {
  KVCAST_CHECK(broken() && !busy());
  return *fault_;
}

}  // namespace kvcast
