#include "kvcast/client/loading.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "kvcast/base/check.h"
#include "kvcast/base/hex.h"

namespace kvcast {
namespace {

constexpr uint8_t kFirstPriority = 128;  // What a request has that says nothing.

LoadFault FaultOf(const moqt::RequestError& error) {
  const bool absent = error.code == moqt::RequestCode::kDoesNotExist ||
                      error.code == moqt::RequestCode::kInvalidRange;
  return {absent ? BlockOutcome::kNotHeld : BlockOutcome::kRefused,
          "The node refused the fetch: " + Printable(error.reason)};
}

}  // namespace

Loading::Loading(moqt::Session& session, LoadPlan plan, std::vector<BlockHash> blocks,
                 PromptPages pages, Ladder ladder, Instant deadline)
    : session_(&session),
      plan_(std::move(plan)),
      blocks_(std::move(blocks)),
      pages_(std::move(pages)),
      ladder_(std::move(ladder)),
      deadline_(deadline),
      runs_wanted_(plan_.runs().size()) {
  for (const LoadRun& run : plan_.runs()) {
    runs_.emplace_back(run, blocks_, pages_);
  }
  StartFetches();
  Advance();
}

Loading::~Loading() { Cancel(); }

void Loading::StartFetches() {
  while (fetches_.size() < kFetchesMax && next_run_ < runs_wanted_) {
    const LoadRun& run = plan_.runs()[next_run_];
    moqt::Parameters parameters;
    // What stands first in the prompt is of no use later than what stands behind it.
    parameters.subscriber_priority =
        static_cast<uint8_t>(std::min<size_t>(kFirstPriority + next_run_, UINT8_MAX));
    const Result<moqt::RequestId> fetch = session_->Fetch(
        run.track, LocationRange::Groups(run.first_group, run.last_group()), parameters);
    if (!fetch.ok()) {
      Fail(next_run_, {BlockOutcome::kNodeLost, fetch.error().message()});
      return;
    }
    fetches_.emplace(*fetch, next_run_++);
    ++fetches_made_;
  }
}

void Loading::OnEvent(const moqt::Event& event) {
  if (const auto* ready = std::get_if<moqt::ObjectsReady>(&event)) {
    Take(ready->request);
  } else if (const auto* accepted = std::get_if<moqt::FetchAccepted>(&event)) {
    Begin(*accepted);
  } else if (const auto* refused = std::get_if<moqt::RequestRefused>(&event)) {
    if (const auto found = fetches_.find(refused->request); found != fetches_.end()) {
      Fail(found->second, FaultOf(refused->error));
    }
  } else if (const auto* cancelled = std::get_if<moqt::RequestCancelled>(&event)) {
    Take(cancelled->request);
    if (const auto found = fetches_.find(cancelled->request); found != fetches_.end()) {
      Fail(found->second,
           {BlockOutcome::kNotHeld, "The node gave the fetch up: " + Printable(cancelled->reason)});
    }
  }
  StartFetches();
  Advance();
}

void Loading::Begin(const moqt::FetchAccepted& accepted) {
  const auto found = fetches_.find(accepted.request);
  if (found == fetches_.end() || runs_[found->second].begun()) {
    return;
  }
  Result<std::shared_ptr<const Codec>> codec =
      ladder_.Decoder(plan_.rung(), accepted.answer.properties, pages_);
  if (!codec.ok()) {
    Fail(found->second, {BlockOutcome::kWrong, codec.error().message()});
    return;
  }
  runs_[found->second].Begin(*std::move(codec));
  Take(accepted.request);  // What came before the answer has waited for it.
}

void Loading::Take(moqt::RequestId request) {
  while (true) {
    const auto found = fetches_.find(request);
    std::optional<moqt::Received> item;
    if (found == fetches_.end() || !runs_[found->second].begun() ||
        !(item = session_->Take(request))) {
      return;
    }
    const size_t number = found->second;
    if (std::optional<LoadFault> fault = Feed(runs_[number], *item)) {
      Fail(number, *std::move(fault));
    } else if (std::holds_alternative<moqt::FetchEnd>(*item)) {
      EndFetch(request, /*cancel=*/false);
    }
  }
}

std::optional<LoadFault> Loading::Feed(RunDecoder& run, const moqt::Received& item) {
  if (const auto* object = std::get_if<moqt::ReceivedObject>(&item)) {
    return run.OnObject(object->object);
  }
  if (const auto* range = std::get_if<moqt::RangeEnd>(&item)) {
    return run.OnRangeEnd(range->last);
  }
  KVCAST_CHECK(std::holds_alternative<moqt::FetchEnd>(item));  // A fetch brings nothing else.
  return run.OnEnd();
}

void Loading::EndFetch(moqt::RequestId request, bool cancel) {
  fetches_.erase(request);
  if (cancel) {
    session_->Cancel(request, moqt::ResetCode::kCancelled);
  }
}

void Loading::Fail(size_t run, LoadFault fault) {
  if (run >= runs_wanted_) {
    return;
  }
  runs_wanted_ = run;
  fault_ = std::move(fault);
  for (auto at = fetches_.begin(); at != fetches_.end();) {
    const auto [request, number] = *at++;
    if (number >= run) {
      EndFetch(request, /*cancel=*/true);
    }
  }
}

void Loading::FailAll(LoadFault fault) {
  if (over_) {
    return;
  }
  // The first run that is not complete is where it breaks off.
  const auto broken =
      std::ranges::find_if(runs_, [](const RunDecoder& run) { return !run.complete(); });
  Fail(static_cast<size_t>(broken - runs_.begin()), std::move(fault));
  Advance();
}

void Loading::Advance() {
  size_t leading = 0;
  for (const RunDecoder& run : runs_) {
    leading += run.blocks_done();
    if (!run.complete()) {
      break;
    }
  }
  leading_ = leading;
  // What is complete need not be waited for to end; so a fetch may still be open here.
  const bool all_known =
      std::ranges::all_of(runs_.begin(), runs_.begin() + static_cast<std::ptrdiff_t>(runs_wanted_),
                          [](const RunDecoder& run) { return run.complete(); });
  if (!over_ && all_known) {
    over_ = true;
    while (!fetches_.empty()) {
      EndFetch(fetches_.begin()->first, /*cancel=*/true);
    }
  }
}

void Loading::OnNodeLost(const std::string& reason) {
  FailAll({BlockOutcome::kNodeLost, "The session to the node ended: " + Printable(reason)});
}

void Loading::OnTimeout(Instant now) {
  if (now >= deadline_) {
    FailAll({BlockOutcome::kTooLate, "The deadline passed."});
  }
}

void Loading::Cancel() { FailAll({BlockOutcome::kCancelled, "The load was cancelled."}); }

LoadReport Loading::Report() const {
  KVCAST_CHECK(over_);
  LoadReport report;
  report.first_block = plan_.first_block();
  report.outcomes.assign(plan_.block_count(), BlockOutcome::kAfterGap);
  std::fill_n(report.outcomes.begin(), leading_, BlockOutcome::kLoaded);
  if (leading_ < report.outcomes.size()) {
    report.outcomes[leading_] = fault_->outcome;
    report.reason = fault_->reason;
  }
  for (const RunDecoder& run : runs_) {
    report.bytes += run.bytes();
  }
  report.fetches = fetches_made_;
  return report;
}

}  // namespace kvcast
