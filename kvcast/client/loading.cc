#include "kvcast/client/loading.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "kvcast/base/check.h"
#include "kvcast/base/hex.h"

namespace kvcast {
namespace {

constexpr size_t kFirstPriority = 128;  // What a request has that says nothing.

LoadFault FaultOf(const moqt::RequestError& error) {
  const bool absent = error.code == moqt::RequestCode::kDoesNotExist ||
                      error.code == moqt::RequestCode::kInvalidRange;
  return {absent ? BlockOutcome::kNotHeld : BlockOutcome::kRefused,
          "The node refused the fetch: " + Printable(error.reason)};
}

}  // namespace

Loading::Loading(const Ground& ground, CacheMatch match, std::vector<BlockHash> blocks,
                 PromptPages pages, const LoadTerms& terms, Instant now)
    : session_(ground.session),
      pace_(ground.pace),
      index_(ground.index),
      kind_(ground.kind),
      ladder_(ground.ladder),
      work_(ground.work),
      shelf_(ground.shelf),
      match_(std::move(match)),
      blocks_(std::move(blocks)),
      pages_(std::move(pages)),
      terms_(terms),
      wanted_end_(
          follows() ? std::max(match_.first_block(), std::min(blocks_.size(), pages_.block_count()))
                    : match_.end_block()),
      jobs_(ground.executor->Open()),
      next_block_(match_.first_block()),
      end_block_(wanted_end_),
      room_(terms.room),
      last_news_(now),
      progress_{now},
      since_(now),
      now_(now) {
  for (size_t block = match_.first_block(); !follows() && block < match_.end_block(); ++block) {
    if (match_.offers(block).empty()) {
      unoffered_.insert(block);
    }
  }
  Settle();
}

Loading::~Loading() { Cancel(); }

// Nobody's offer is waited for here: what is not offered where nothing is followed has failed.
bool Loading::IsOffered(size_t block) const {
  return block < match_.end_block() && !match_.offers(block).empty();
}

std::optional<size_t> Loading::NextBlock() const {
  const auto can_be_asked_for = [&](size_t block) {
    return block < std::min(end_block_, room_) && IsOffered(block) && !IsComingLive(block) &&
           !shelved_.contains(block);
  };
  const auto missing = std::ranges::find_if(missing_, can_be_asked_for);
  if (missing != missing_.end()) {
    return *missing;
  }
  return can_be_asked_for(next_block_) ? std::optional(next_block_) : std::nullopt;
}

bool Loading::HasAskedEnough() const {
  if (fetches_.size() >= kFetchesMax) {
    return true;
  }
  if (!HasChoice(match_, terms_) || fetches_.empty()) {
    return false;
  }
  return IsEnoughAsked(*pace_, fetches_.rbegin()->second->second.run.rung, now_);
}

void Loading::StartFetches() {
  while (!over_ && !HasAskedEnough()) {
    const std::optional<size_t> block = NextBlock();
    if (!block) {
      return;
    }
    RungChoice choice = ChooseRung(match_, *block, terms_, *pace_, now_);
    choices_.push_back(choice);
    if (!choice.run) {
      const bool late = choice.reason == RungChoice::Reason::kTooLate;
      Fail(*block, {late ? BlockOutcome::kTooLate : BlockOutcome::kComputingFaster,
                    late ? "It would have come too late." : "Computing it is faster."});
      return;
    }
    // What was asked of others stays with them.
    const auto after = runs_.upper_bound(*block);
    const size_t end = std::min(after == runs_.end() ? end_block_ : after->first, room_);
    size_t free = 1;
    while (free < choice.run->block_count && *block + free < end && !IsComingLive(*block + free) &&
           !shelved_.contains(*block + free)) {
      ++free;
    }
    if (choice.run->block_count > free) {
      choice.run = match_.RunFrom(*block, choice.run->rung, free);
    }
    const LocationRange range =
        LocationRange::Groups(choice.run->first_group, choice.run->last_group());
    if (!Start(*choice.run, range)) {
      return;
    }
  }
}

std::optional<moqt::RequestId> Loading::Start(const LoadRun& run, const LocationRange& range) {
  moqt::Parameters parameters;
  // What stands first in the prompt is of no use later than what stands behind it.
  parameters.subscriber_priority = static_cast<uint8_t>(
      std::min<size_t>(kFirstPriority + run.first_block - match_.first_block(), UINT8_MAX));
  const Result<moqt::RequestId> fetch = session_->Fetch(run.track, range, parameters);
  if (!fetch.ok()) {
    Fail(run.first_block, {BlockOutcome::kNodeLost, fetch.error().message()});
    return std::nullopt;
  }
  fetches_.emplace(*fetch, Claim(run));
  pace_->OnAsked(run.bytes, now_);
  ++fetches_made_;
  return *fetch;
}

// Whoever it is asked of, these blocks are asked for.
Loading::Runs::iterator Loading::Claim(const LoadRun& run) {
  for (; next_block_ < run.end_block(); ++next_block_) {
    missing_.insert(next_block_);
  }
  for (size_t block = run.first_block; block < run.end_block(); ++block) {
    missing_.erase(block);
  }
  const auto [started, is_new] =
      runs_.try_emplace(run.first_block, run, blocks_, pages_, jobs_, *work_);
  KVCAST_CHECK(is_new);
  return started;
}

void Loading::OnEvent(const moqt::Event& event, Instant now) {
  now_ = now;
  OnLiveEvent(event);
  if (const auto* ready = std::get_if<moqt::ObjectsReady>(&event)) {
    Take(ready->request, Extent::kRoom);
  } else if (const auto* accepted = std::get_if<moqt::FetchAccepted>(&event)) {
    Begin(*accepted);
  } else if (const auto* refused = std::get_if<moqt::RequestRefused>(&event)) {
    if (const auto found = fetches_.find(refused->request); found != fetches_.end()) {
      GiveUp(found->second, FaultOf(refused->error));
    }
  } else if (const auto* cancelled = std::get_if<moqt::RequestCancelled>(&event)) {
    Take(cancelled->request, Extent::kAll);
    if (const auto found = fetches_.find(cancelled->request); found != fetches_.end()) {
      GiveUp(found->second, {BlockOutcome::kNotHeld,
                             "The node gave the fetch up: " + Printable(cancelled->reason)});
    }
  }
  Settle();
}

void Loading::Settle() {
  Collect();
  TakeShelved();
  StartFetches();
  Follow();
  Advance();
  NoteProgress();
  WeighComputing();
  Weigh();
}

void Loading::Room(size_t blocks, Instant now) {
  if (over_ || blocks <= room_) {
    return;
  }
  room_ = blocks;
  now_ = now;
  last_news_ = now;  // Until now the engine was waited for, and nobody else.
  Settle();
}

void Loading::Begin(const moqt::FetchAccepted& accepted) {
  const auto found = fetches_.find(accepted.request);
  if (found == fetches_.end() || found->second->second.decoder.begun()) {
    return;
  }
  Run& run = found->second->second;
  Result<std::shared_ptr<const Codec>> codec =
      ladder_->Decoder(run.run.rung, accepted.answer.properties, pages_);
  if (!codec.ok()) {
    GiveUp(found->second, {BlockOutcome::kWrong, codec.error().message()});
    return;
  }
  run.decoder.Begin(*std::move(codec));
  Take(accepted.request, Extent::kRoom);  // What came before the answer has waited for it.
}

void Loading::Take(moqt::RequestId request, Extent extent) {
  while (true) {
    const auto found = fetches_.find(request);
    if (found == fetches_.end() || !found->second->second.decoder.begun()) {
      return;
    }
    if (extent == Extent::kRoom && IsFull()) {
      held_up_ = true;
      return;
    }
    const std::optional<moqt::Received> item = session_->Take(request);
    if (!item) {
      return;
    }
    last_news_ = now_;
    const bool is_end = std::holds_alternative<moqt::FetchEnd>(*item);
    if (is_end && joint_ && joint_->fetch == request) {
      GoOnFrom(found);
      return;
    }
    const Runs::iterator run = found->second;
    Feed(run->second, *item);
    if (is_end && !run->second.decoder.broken()) {
      EndFetch(found, /*cancel=*/false);
    }
    Conclude(run);
  }
}

void Loading::Feed(Run& run, const moqt::Received& item) {
  if (const auto* object = std::get_if<moqt::ReceivedObject>(&item)) {
    run.came_bytes += object->object.payload.size();
    run.decoder.OnObject(object->object);
    if (!run.live) {
      pace_->OnBytes(run.run.rung, object->object.payload.size(), now_);
    }
  } else if (const auto* range = std::get_if<moqt::RangeEnd>(&item)) {
    run.decoder.OnRangeEnd(range->last);
  } else {
    KVCAST_CHECK(std::holds_alternative<moqt::FetchEnd>(item));  // A fetch brings nothing else.
    run.decoder.OnEnd();
  }
}

bool Loading::CollectDone() {
  bool any = false;
  while (const std::unique_ptr<DecodeJob> job = jobs_.TakeDone()) {
    const auto run = runs_.find(job->place().run);
    KVCAST_CHECK(run != runs_.end());  // It stays while jobs of it are out.
    run->second.decoder.OnDone(*job);
    Conclude(run);
    any = true;
  }
  return any;
}

bool Loading::Collect() {
  const bool any = CollectDone();
  while (!over_ && !IsFull() && std::exchange(held_up_, false)) {
    std::vector<moqt::RequestId> open;  // The first of the prompt first.
    for (const auto& [request, run] : fetches_) {
      open.push_back(request);
    }
    for (const moqt::RequestId request : open) {
      Take(request, Extent::kRoom);
    }
    TakeLive(Extent::kRoom);
    CollectDone();
  }
  return any;
}

void Loading::EndFetch(std::map<moqt::RequestId, Runs::iterator>::iterator fetch, bool cancel) {
  const moqt::RequestId request = fetch->first;
  const Run& run = fetch->second->second;
  fetches_.erase(fetch);
  if (joint_ && joint_->fetch == request) {
    joint_.reset();
    held_up_ = true;
  }
  pace_->OnOver(run.run.bytes - std::min(run.came_bytes, run.run.bytes), now_);
  if (cancel) {
    session_->Cancel(request, moqt::ResetCode::kCancelled);
  }
}

void Loading::GiveUp(Runs::iterator at, LoadFault fault) {
  const auto fetch = std::ranges::find(fetches_, at, [](const auto& own) { return own.second; });
  if (fetch != fetches_.end()) {
    EndFetch(fetch, /*cancel=*/true);
  }
  at->second.decoder.Break(std::move(fault));
  Conclude(at);
}

void Loading::Conclude(Runs::iterator at) {
  if (!at->second.decoder.broken()) {
    return;
  }
  const auto fetch = std::ranges::find(fetches_, at, [](const auto& own) { return own.second; });
  if (fetch != fetches_.end()) {
    EndFetch(fetch, /*cancel=*/true);
  }
  if (live_) {
    std::erase_if(live_->open, [&](const auto& open) { return open.second == at; });
  }
  if (!at->second.decoder.busy()) {
    PassOn(at);
  }
}

void Loading::PassOn(Runs::iterator at) {
  const Run& run = at->second;
  const LoadFault fault = run.decoder.fault();
  const size_t broken = run.run.first_block + run.decoder.blocks_done();
  // What a track has that says something wrong is not believed; of one that lacks a block, the
  // others may be there.
  const bool one_only = fault.outcome == BlockOutcome::kNotHeld && run.decoder.begun();
  const size_t withdrawn = std::min(one_only ? broken + 1 : SIZE_MAX, run.run.end_block());
  // What did not come live may be fetched once it is listed, and what was here may be fetched anew.
  const bool withdraws = !run.shelved && (!run.live || fault.outcome == BlockOutcome::kWrong);
  for (size_t block = broken; withdraws && block < withdrawn; ++block) {
    match_.Withdraw(block, run.run.track);
  }
  for (size_t block = broken; block < run.run.end_block(); ++block) {
    missing_.insert(block);
  }
  for (size_t block = broken; block < run.run.end_block(); ++block) {
    if (follows()) {
      faults_.insert_or_assign(block, fault);
    } else if (match_.offers(block).empty()) {
      Fail(block, fault);
      break;
    }
  }
  const bool is_live = run.live && live_ && run.run.track == live_->track;
  if (run.decoder.blocks_done() == 0) {
    runs_.erase(at);
  }
  if (is_live && fault.outcome == BlockOutcome::kWrong) {
    EndLive(/*cancel=*/true);  // What says something wrong is not believed.
  }
}

void Loading::Fail(size_t block, LoadFault fault) {
  if (block >= end_block_) {
    return;
  }
  end_block_ = block;
  fault_ = std::move(fault);
  for (auto at = fetches_.begin(); at != fetches_.end();) {
    const auto fetch = at++;
    if (fetch->second->first >= block) {
      EndFetch(fetch, /*cancel=*/true);
    }
  }
}

void Loading::FailAll(LoadFault fault) {
  if (over_) {
    return;
  }
  CollectDone();
  Advance();
  if (over_) {
    return;
  }
  Fail(match_.first_block() + leading_, std::move(fault));
  while (!fetches_.empty()) {
    EndFetch(fetches_.begin(), /*cancel=*/true);
  }
  Advance();
}

void Loading::Advance() {
  // A run that was given up has what it had, and the next one goes on from there.
  size_t done = match_.first_block();
  for (auto run = runs_.begin(); run != runs_.end() && run->first == done; ++run) {
    done += run->second.decoder.blocks_done();
  }
  leading_ = std::max(leading_, done - match_.first_block());
  // What is complete need not be waited for to end; so a fetch may still be open here.
  if (!over_ && done >= end_block_) {
    over_ = true;
    jobs_.Close();  // The pages are the engine's again.
    while (!fetches_.empty()) {
      EndFetch(fetches_.begin(), /*cancel=*/true);
    }
    if (live_) {
      session_->Cancel(live_->request, moqt::ResetCode::kCancelled);
      live_.reset();
    }
  }
}

void Loading::OnNodeLost(const std::string& reason) {
  FailAll({BlockOutcome::kNodeLost, "The session to the node ended: " + Printable(reason)});
}

void Loading::OnTimeout(Instant now) {
  now_ = now;
  if (Collect()) {
    Settle();
  }
  if (now >= terms_.deadline) {
    FailAll({BlockOutcome::kTooLate, "The deadline passed."});
  }
  WeighComputing();
  Weigh();
}

void Loading::Cancel() { FailAll({BlockOutcome::kCancelled, "The load was cancelled."}); }

LoadReport Loading::Report() const {
  KVCAST_CHECK(over_);
  LoadReport report;
  report.first_block = match_.first_block();
  report.outcomes.assign(wanted_end_ - match_.first_block(), BlockOutcome::kAfterGap);
  std::fill_n(report.outcomes.begin(), leading_, BlockOutcome::kLoaded);
  if (leading_ < report.outcomes.size()) {
    report.outcomes[leading_] = fault_->outcome;
    report.reason = fault_->reason;
  }
  const size_t end = match_.first_block() + leading_;
  for (const auto& [first, run] : runs_) {
    const size_t count = std::min(run.decoder.blocks_done(), end - std::min(first, end));
    report.bytes += run.decoder.bytes();
    if (count == 0) {
      continue;
    }
    report.live += run.live ? count : 0;
    report.prefetched += run.shelved ? count : 0;
    LoadRun* const last = report.runs.empty() ? nullptr : &report.runs.back();
    if (last != nullptr && run.live && last->track == run.run.track &&
        last->last_group() + 1 == run.run.first_group && last->end_block() == first) {
      last->block_count += count;
    } else {
      report.runs.push_back(run.run);
      report.runs.back().block_count = count;
    }
  }
  std::map<size_t, size_t> choice_of;  // By the first block of its run, the last.
  for (const RungChoice& choice : choices_) {
    choice_of[choice.block] = report.choices.size();
    report.choices.push_back(choice.ToString());
  }
  report.chosen.resize(leading_);
  for (const auto& [first, run] : runs_) {
    for (size_t block = first; !run.live && block < std::min(end, run.run.end_block()); ++block) {
      report.chosen[block - match_.first_block()] = choice_of.at(first);
    }
  }
  report.fetches = fetches_made_;
  return report;
}

}  // namespace kvcast
