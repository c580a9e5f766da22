#include "kvcast/client/run_decoder.h"

#include <utility>

#include "kvcast/base/check.h"
#include "kvcast/kv/cache_track.h"

namespace kvcast {
namespace {

LoadFault Wrong(std::string reason) { return {BlockOutcome::kWrong, std::move(reason)}; }
LoadFault NotHeld(std::string reason) { return {BlockOutcome::kNotHeld, std::move(reason)}; }

}  // namespace

RunDecoder::RunDecoder(const LoadRun& run, std::span<const BlockHash> blocks,
                       const PromptPages& pages)
    : first_group_(run.first_group),
      first_block_(run.first_block),
      block_count_(run.block_count),
      blocks_(blocks),
      pages_(&pages) {
  KVCAST_CHECK(block_count_ <= blocks.size() && first_block_ <= blocks.size() - block_count_);
  KVCAST_CHECK(first_block_ + block_count_ <= pages.block_count());
}

void RunDecoder::Begin(std::shared_ptr<const Codec> codec) {
  KVCAST_CHECK(codec->shape() == pages_->shape());
  codec_ = std::move(codec);
}

std::optional<LoadFault> RunDecoder::OnObject(const Object& object) {
  KVCAST_CHECK(begun());
  if (complete()) {
    return std::nullopt;  // All that was wanted is there; what else the node sends is its affair.
  }
  const Location wanted = next();
  if (object.location != wanted) {
    if (std::optional<LoadFault> fault = DecodeWaiting()) {
      return fault;
    }
    return object.location < wanted
               ? Wrong("Object " + object.location.ToString() + " belongs to no token of a block.")
               : NotHeld("Token " + wanted.ToString() + " is missing.");
  }
  if (next_token_ == 0) {
    if (std::optional<LoadFault> fault = CheckKey(object)) {
      return fault;
    }
    block_.emplace(pages_->Block(first_block_ + blocks_done_));
    first_waiting_ = 0;
  }
  waiting_.push_back(object.payload);
  next_token_ += codec_->TokensFrom(next_token_);
  const bool is_last = next_token_ == pages_->shape().tokens();
  if (!is_last && waiting_.size() < codec_->Together()) {
    return std::nullopt;
  }
  if (std::optional<LoadFault> fault = DecodeWaiting()) {
    return fault;
  }
  if (is_last) {
    next_token_ = 0;
    ++blocks_done_;
  }
  return std::nullopt;
}

std::optional<LoadFault> RunDecoder::DecodeWaiting() {
  if (waiting_.empty()) {
    return std::nullopt;
  }
  const Codec::Decoded decoded = codec_->DecodeSeveral(waiting_, first_waiting_, *block_);
  for (size_t i = 0; i < decoded.objects; ++i) {
    bytes_ += waiting_[i].size();
    first_waiting_ += codec_->TokensFrom(first_waiting_);
  }
  waiting_.clear();
  if (decoded.fault) {
    const Location wrong{first_group_ + blocks_done_, first_waiting_};
    return Wrong("Token " + wrong.ToString() + ": " + decoded.fault->message());
  }
  return std::nullopt;
}

// The node's catalog is only a hint: what its publisher wrote into the group itself decides.
std::optional<LoadFault> RunDecoder::CheckKey(const Object& object) const {
  const Result<std::optional<BlockHash>> key = BlockHashIn(object.properties);
  if (!key.ok() || !*key || **key != blocks_[first_block_ + blocks_done_]) {
    return Wrong("Group " + std::to_string(object.location.group) + " is not the block wanted: " +
                 (!key.ok() ? key.error().message()
                  : !*key   ? std::string("it has no key.")
                            : std::string("its key is another one.")));
  }
  return std::nullopt;
}

std::optional<LoadFault> RunDecoder::OnRangeEnd(Location last) {
  if (complete() || last < next()) {
    return std::nullopt;  // What is not there is behind the last token of a group.
  }
  if (std::optional<LoadFault> fault = DecodeWaiting()) {
    return fault;
  }
  return NotHeld("The node has no token " + next().ToString() + ".");
}

std::optional<LoadFault> RunDecoder::OnEnd() {
  if (complete()) {
    return std::nullopt;
  }
  if (std::optional<LoadFault> fault = DecodeWaiting()) {
    return fault;
  }
  return NotHeld("The answer ended before token " + next().ToString() + ".");
}

}  // namespace kvcast
