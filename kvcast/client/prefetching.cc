#include "kvcast/client/prefetching.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "kvcast/base/hex.h"

namespace kvcast {
namespace {

// Nobody waits for this.
constexpr uint8_t kLastPriority = 255;

}  // namespace

Prefetching::Prefetching(const Ground& ground, CacheMatch match, std::vector<BlockHash> blocks,
                         const PrefetchTerms& terms, Instant now)
    : session_(ground.session),
      index_(ground.index),
      kind_(ground.kind),
      shelf_(ground.shelf),
      match_(std::move(match)),
      blocks_(std::move(blocks)),
      terms_(terms),
      turn_(shelf_->Begin()),
      next_(match_.first_block()) {
  report_.first_block = next_;
  OnTimeout(now);
  GoOn();
}

bool Prefetching::IsShelved(size_t block) const {
  return shelf_->Has(blocks_[block], match_.rungs(), match_.generation());
}

void Prefetching::GoOn() {
  while (!over_ && !fetch_) {
    for (; next_ < end() && IsShelved(next_); ++next_) {
      ++report_.held;
      ++report_.blocks;
    }
    if (next_ == end()) {
      over_ = true;
    } else if (next_ >= match_.end_block()) {
      return;  // Nobody holds it yet.
    } else if (match_.offers(next_).empty()) {
      End(fault_.value_or(LoadFault{BlockOutcome::kNotHeld, "Nobody is known to hold it."}));
    } else {
      Start(NextRun());
    }
  }
}

// As many blocks as one fetch may bring, up to one that is there.
LoadRun Prefetching::NextRun() const {
  size_t count = 1;
  while (next_ + count < match_.end_block() && !IsShelved(next_ + count)) {
    ++count;
  }
  const Rung best = match_.offers(next_).front().rung;
  const LoadRun all = *match_.RunFrom(next_, best, count);
  const uint64_t bytes_each = std::max<uint64_t>(all.bytes / all.block_count, 1);
  const auto most = static_cast<size_t>(std::max<uint64_t>(kRunBytesMax / bytes_each, 1));
  return most < all.block_count ? *match_.RunFrom(next_, best, most) : all;
}

void Prefetching::Start(const LoadRun& run) {
  moqt::Parameters parameters;
  parameters.subscriber_priority = kLastPriority;
  const Result<moqt::RequestId> request = session_->Fetch(
      run.track, LocationRange::Groups(run.first_group, run.last_group()), parameters);
  if (!request.ok()) {
    End({BlockOutcome::kNodeLost, request.error().message()});
    return;
  }
  fetch_.emplace(Fetch{.request = *request, .run = run});
}

void Prefetching::OnEvent(const moqt::Event& event) {
  if (const auto* accepted = std::get_if<moqt::FetchAccepted>(&event)) {
    fetch_->accepted = true;
    fetch_->properties = accepted->answer.properties;
    Take();  // What came before the answer has waited for it.
  } else if (std::holds_alternative<moqt::ObjectsReady>(event)) {
    Take();
  } else if (const auto* refused = std::get_if<moqt::RequestRefused>(&event)) {
    GiveUp({BlockOutcome::kRefused,
            "The node refused the fetch: " + Printable(refused->error.reason)});
  } else if (const auto* cancelled = std::get_if<moqt::RequestCancelled>(&event)) {
    Take();
    if (fetch_ && fetch_->request == cancelled->request) {
      GiveUp(
          {BlockOutcome::kNotHeld, "The node gave the fetch up: " + Printable(cancelled->reason)});
    }
  }
  GoOn();
}

void Prefetching::Take() {
  const moqt::RequestId request = fetch_->request;
  while (fetch_ && fetch_->request == request && fetch_->accepted) {
    const std::optional<moqt::Received> item = session_->Take(request);
    if (!item) {
      return;
    }
    if (const auto* object = std::get_if<moqt::ReceivedObject>(&*item)) {
      OnObject(object->object);
    } else if (const auto* range = std::get_if<moqt::RangeEnd>(&*item)) {
      OnRangeEnd(*range);
    } else if (const auto* end = std::get_if<moqt::FetchEnd>(&*item)) {
      if (end->complete && !fetch_->objects.empty()) {
        EndBlock();
      }
      if (next_ < fetch_->run.end_block()) {
        GiveUp({BlockOutcome::kNotHeld, "The answer ended before it."});
      } else {
        EndFetch(/*cancel=*/false);
      }
    }
  }
}

void Prefetching::OnObject(const Object& object) {
  const auto wanted = [&] { return fetch_->run.first_group + next_ - fetch_->run.first_block; };
  if (!fetch_->objects.empty() && object.location.group != wanted()) {
    EndBlock();
  }
  if (next_ >= fetch_->run.end_block() || object.location.group != wanted()) {
    GiveUp({BlockOutcome::kNotHeld, "The node left a block out."});
    return;
  }
  if (fetch_->objects.empty()) {
    const Result<std::optional<BlockHash>> key = BlockHashIn(object.properties);
    if (object.location.object != 0 || !key.ok() || !*key || **key != blocks_[next_]) {
      GiveUp({BlockOutcome::kWrong, "What came is not the block that was wanted."});
      return;
    }
  }
  report_.bytes += object.payload.size();
  Object copy = BlockShelf::Copy(object);
  const uint64_t bytes = BlockShelf::BytesOf(copy);
  if (!shelf_->Grow(turn_, bytes)) {
    End({BlockOutcome::kRefused, "There is room for " + std::to_string(shelf_->bytes_max()) +
                                     " bytes of what is prefetched, and they are used."});
    return;
  }
  fetch_->bytes += bytes;
  fetch_->objects.push_back(std::move(copy));
}

// What does not exist is found out when the block is decoded.
void Prefetching::OnRangeEnd(const moqt::RangeEnd& range) {
  const uint64_t group = fetch_->run.first_group + next_ - fetch_->run.first_block;
  if (range.unknown && range.last.group > group && !fetch_->objects.empty()) {
    EndBlock();
  }
  if (range.unknown && next_ < fetch_->run.end_block()) {
    GiveUp({BlockOutcome::kNotHeld, "The node does not have all of it."});
  }
}

void Prefetching::EndBlock() {
  const LoadRun& run = fetch_->run;
  BlockShelf::Block block{.track = run.track,
                          .rung = run.rung,
                          .group = run.first_group + next_ - run.first_block,
                          .properties = fetch_->properties,
                          .objects = std::exchange(fetch_->objects, {}),
                          .bytes = std::exchange(fetch_->bytes, 0)};
  const Result<CacheTrack> track = CacheTrack::Parse(run.track);
  if (track.ok()) {
    block.generation = track->generation;
  }
  if (shelf_->Has(blocks_[next_], std::span(&run.rung, 1), {})) {
    shelf_->Shrink(block.bytes);  // Somebody else has brought it meanwhile.
    ++report_.held;
  } else {
    shelf_->Put(turn_, blocks_[next_], std::move(block));
  }
  ++report_.blocks;
  ++next_;
  fault_.reset();
}

void Prefetching::GiveUp(LoadFault fault) {
  const TrackName track = fetch_->run.track;
  EndFetch(/*cancel=*/true);
  if (next_ < match_.end_block()) {
    match_.Withdraw(next_, track);
  }
  fault_ = std::move(fault);
}

void Prefetching::EndFetch(bool cancel) {
  shelf_->Shrink(fetch_->bytes);
  const moqt::RequestId request = fetch_->request;
  fetch_.reset();
  if (cancel) {
    session_->Cancel(request, moqt::ResetCode::kCancelled);
  }
}

void Prefetching::End(LoadFault fault) {
  if (over_) {
    return;
  }
  if (fetch_) {
    EndFetch(/*cancel=*/true);
  }
  over_ = true;
  report_.fault = fault.outcome;
  report_.reason = std::move(fault.reason);
}

void Prefetching::Look() {
  if (over_ || !terms_.waits || index_version_ == index_->version()) {
    return;
  }
  index_version_ = index_->version();
  (void)match_.Extend(*index_, blocks_, *kind_, blocks_.size());
  GoOn();
}

void Prefetching::OnNodeLost(const std::string& reason) {
  End({BlockOutcome::kNodeLost, "The session to the node ended: " + Printable(reason)});
}

void Prefetching::OnTimeout(Instant now) {
  if (now >= terms_.deadline) {
    End({BlockOutcome::kTooLate, "The deadline passed."});
  }
}

void Prefetching::Cancel() { End({BlockOutcome::kCancelled, "It was cancelled."}); }

void Prefetching::GiveWayTo(std::span<const BlockHash> loaded) {
  size_t behind = next_;
  while (behind < std::min(loaded.size(), end()) && loaded[behind] == blocks_[behind]) {
    ++behind;
  }
  if (over_ || behind == next_) {
    return;
  }
  if (behind == end()) {
    End({BlockOutcome::kCancelled, "It is being loaded."});
    return;
  }
  if (fetch_) {
    EndFetch(/*cancel=*/true);  // Most of it may be what is loaded.
  }
  report_.held += behind - next_;
  report_.blocks += behind - next_;
  next_ = behind;
  fault_.reset();
  GoOn();
}

std::optional<Instant> Prefetching::deadline() const {
  return over_ || terms_.deadline == Instant::max() ? std::nullopt : std::optional(terms_.deadline);
}

}  // namespace kvcast
