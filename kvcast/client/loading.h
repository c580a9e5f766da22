#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kvcast/base/time.h"
#include "kvcast/client/ladder.h"
#include "kvcast/client/load_plan.h"
#include "kvcast/client/load_report.h"
#include "kvcast/client/prompt_pages.h"
#include "kvcast/client/run_decoder.h"
#include "kvcast/moqt/event.h"
#include "kvcast/moqt/session.h"

namespace kvcast {

// One load under way: fetches the runs of a plan in the prompt's order, a few at a time, and writes
// what passes its checks straight into pages.
//
// Whatever goes wrong, at whatever moment, ends in a report: blocks up to the first that could not
// be had are loaded, that one and all after it are to be computed again. Once over() it touches
// no page any more; destroying it, or Cancel(), makes it so.
class Loading {
 public:
  static constexpr size_t kFetchesMax = 4;  // At a time.

  // `blocks` names the whole prompt. REQUIRES: the plan lies within it and within `pages`, whose
  // values are those of the ladder. The session must outlive it.
  Loading(moqt::Session& session, LoadPlan plan, std::vector<BlockHash> blocks, PromptPages pages,
          Ladder ladder, Instant deadline);
  ~Loading();
  Loading(const Loading&) = delete;
  Loading& operator=(const Loading&) = delete;

  // Events of requests that it does not own are none of its business.
  bool Owns(moqt::RequestId request) const { return fetches_.contains(request); }
  void OnEvent(const moqt::Event& event);
  void OnNodeLost(const std::string& reason);
  void OnTimeout(Instant now);
  void Cancel();

  bool over() const { return over_; }
  // Absent once it is over.
  std::optional<Instant> deadline() const {
    return over_ ? std::nullopt : std::optional(deadline_);
  }
  // Blocks loaded so far without a hole. Only rises, and those stay loaded.
  size_t leading() const { return leading_; }
  // REQUIRES: over().
  LoadReport Report() const;

 private:
  void StartFetches();
  // The track has told how it is coded.
  void Begin(const moqt::FetchAccepted& accepted);
  void Take(moqt::RequestId request);
  static std::optional<LoadFault> Feed(RunDecoder& run, const moqt::Received& item);
  // Nothing from the run's first unfinished block on is wanted any more.
  void Fail(size_t run, LoadFault fault);
  void FailAll(LoadFault fault);
  void EndFetch(moqt::RequestId request, bool cancel);
  void Advance();

  moqt::Session* session_;
  const LoadPlan plan_;
  const std::vector<BlockHash> blocks_;
  const PromptPages pages_;
  const Ladder ladder_;
  const Instant deadline_;

  std::deque<RunDecoder> runs_;  // As the plan has them; they refer to the members above.
  std::map<moqt::RequestId, size_t> fetches_;
  size_t runs_wanted_;  // So many of the first ones.
  size_t next_run_ = 0;
  size_t fetches_made_ = 0;
  size_t leading_ = 0;
  std::optional<LoadFault> fault_;  // Of the first block that cannot be had, as far as known.
  bool over_ = false;
};

}  // namespace kvcast
