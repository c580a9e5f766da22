// What a load does where the engine says what computing costs: it goes on weighing that for as long
// as it waits. docs/design/rung-choice.md says why so.
#include <algorithm>
#include <utility>

#include "kvcast/client/loading.h"

namespace kvcast {
namespace {

// Longer than anybody waits; and an instant can still hold it.
constexpr Duration kMost = std::chrono::hours(24);

}  // namespace

// What stands behind the block that is needed next is of no use without it, and tells nothing of
// it.
uint64_t Loading::CameOfNext() const {
  const auto after = runs_.upper_bound(NextToLoad());
  return after == runs_.begin() ? 0 : std::prev(after)->second.came_bytes;
}

void Loading::NoteProgress() {
  const std::pair now(leading_, CameOfNext());
  const bool came = std::exchange(came_, now) != now;
  const bool begins = !std::exchange(fetching_, !fetches_.empty()) && fetching_;
  // Of a node that nothing is known of what has come is no promise.
  if (begins || (came && pace_->known() && !pace_->IsOld(now_))) {
    progress_ = {now_, leading_};
  }
}

// Anew only where something was asked for, or offered: a long prompt has many blocks.
void Loading::CountUnasked() {
  const size_t end = std::min(match_.end_block(), end_block_);
  const std::array<uint64_t, 5> now = {next_block_, missing_.size(), end, index_version_,
                                       shelved_.size()};
  if (std::exchange(unasked_of_, now) == now) {
    return;
  }
  unasked_.clear();
  for (size_t block = NextToLoad(); block < end; ++block) {
    if (!IsFree(block) || !IsOffered(block) || shelved_.contains(block)) {
      continue;
    }
    const BlockOffer& least =
        *std::ranges::min_element(match_.offers(block), {}, &BlockOffer::bytes);
    const auto counted = std::ranges::find(unasked_, least.rung, &std::pair<Rung, uint64_t>::first);
    if (counted != unasked_.end()) {
      counted->second += least.bytes;
    } else {
      unasked_.emplace_back(least.rung, least.bytes);
    }
  }
}

Loading::Rest Loading::TimeOfRest() const {
  Rest rest;
  const bool sure = pace_->known() && !pace_->IsOld(now_);
  const auto time_of = [&](Rung rung, uint64_t bytes) {
    return sure ? std::min(pace_->TimeFor(rung, bytes, now_), kMost) : Duration::zero();
  };
  for (const auto& [request, at] : fetches_) {
    const Run& run = at->second;
    rest.asked += time_of(run.run.rung, run.run.bytes - std::min(run.came_bytes, run.run.bytes));
    rest.asked_blocks += run.run.block_count - run.decoder.blocks_done();
  }
  rest.all = rest.asked;
  for (const auto& [rung, bytes] : unasked_) {
    rest.all += time_of(rung, bytes);
  }
  return rest;
}

// Silence is taken to last as long again as it has lasted, so the end that is to be expected moves
// away twice as fast as the time passes. Who waits until it is as far as computing would be, and
// then computes, has taken at most twice as long as who had known.
Instant Loading::WorthUntil() const {
  if (!terms_.compute_per_block || fetches_.empty()) {
    return Instant::max();
  }
  const Rest rest = TimeOfRest();
  const auto computing = [&](size_t blocks) {
    return *terms_.compute_per_block * static_cast<int64_t>(blocks);
  };
  // What is nearly here is taken along, though what follows it is not worth asking for.
  const size_t left = end_block_ - std::min(end_block_, match_.first_block() + progress_.leading);
  return progress_.at +
         std::min(std::max(computing(left) - rest.all, computing(rest.asked_blocks) - rest.asked),
                  kMost);
}

void Loading::WeighComputing() {
  if (over_ || !terms_.compute_per_block) {
    return;
  }
  CountUnasked();
  if (now_ < WorthUntil()) {
    return;
  }
  const size_t block = NextToLoad();
  RungChoice choice;
  choice.reason = RungChoice::Reason::kWaitedEnough;
  choice.block = block;
  choice.silent = now_ - progress_.at;
  choice.expected = TimeOfRest().all;
  choice.computing = *terms_.compute_per_block * static_cast<int64_t>(end_block_ - block);
  choices_.push_back(choice);
  Fail(block, {BlockOutcome::kComputingFaster, "Computing it is faster than to wait on for it."});
  Advance();
}

}  // namespace kvcast
