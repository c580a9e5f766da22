#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kvcast/base/time.h"
#include "kvcast/client/cache_match.h"
#include "kvcast/client/ladder.h"
#include "kvcast/client/load_report.h"
#include "kvcast/client/node_pace.h"
#include "kvcast/client/prompt_pages.h"
#include "kvcast/client/run_decoder.h"
#include "kvcast/client/rung_choice.h"
#include "kvcast/moqt/event.h"
#include "kvcast/moqt/session.h"

namespace kvcast {

// One load under way: fetches a prompt's blocks in their order, a few runs at a time, each at the
// rung that suits what is known by then, and writes what passes its checks straight into pages. A
// block that one track could not give is asked of another one that is said to hold it.
//
// Whatever goes wrong, at whatever moment, ends in a report: blocks up to the first that could not
// be had are loaded, that one and all after it are to be computed again. Once over() it touches
// no page any more; destroying it, or Cancel(), makes it so.
class Loading {
 public:
  static constexpr size_t kFetchesMax = 4;  // At a time.

  // `blocks` names the whole prompt. REQUIRES: the match lies within it and within `pages`, whose
  // values are those of the ladder. Session and pace must outlive it.
  Loading(moqt::Session& session, NodePace& pace, CacheMatch match, std::vector<BlockHash> blocks,
          PromptPages pages, Ladder ladder, const LoadTerms& terms, Instant now);
  ~Loading();
  Loading(const Loading&) = delete;
  Loading& operator=(const Loading&) = delete;

  // Events of requests that it does not own are none of its business.
  bool Owns(moqt::RequestId request) const { return fetches_.contains(request); }
  void OnEvent(const moqt::Event& event, Instant now);
  void OnNodeLost(const std::string& reason);
  void OnTimeout(Instant now);
  void Cancel();

  bool over() const { return over_; }
  // Absent once it is over.
  std::optional<Instant> deadline() const {
    return over_ ? std::nullopt : std::optional(terms_.deadline);
  }
  // Blocks loaded so far without a hole. Only rises, and those stay loaded.
  size_t leading() const { return leading_; }
  // REQUIRES: over().
  LoadReport Report() const;

 private:
  // A run that was asked for. What it could not give is another run's, or nobody's.
  struct Run {
    Run(const LoadRun& wanted, std::span<const BlockHash> blocks, const PromptPages& pages)
        : run(wanted), decoder(wanted, blocks, pages) {}

    LoadRun run;
    RunDecoder decoder;
    uint64_t came_bytes = 0;
  };
  using Runs = std::map<size_t, Run>;  // By their first block; they stay where they are.

  void StartFetches();
  // The next block that nobody was asked for, or who was could not give it.
  std::optional<size_t> NextBlock() const;
  bool HasAskedEnough() const;
  bool Start(const LoadRun& run);
  // The track has told how it is coded.
  void Begin(const moqt::FetchAccepted& accepted);
  void Take(moqt::RequestId request);
  std::optional<LoadFault> Feed(Run& run, const moqt::Received& item);
  // The run gives nothing more; another source is tried for the rest of it.
  void GiveUp(Runs::iterator run, LoadFault fault);
  // Nothing from this block on is wanted any more.
  void Fail(size_t block, LoadFault fault);
  void FailAll(LoadFault fault);
  void EndFetch(std::map<moqt::RequestId, Runs::iterator>::iterator fetch, bool cancel);
  void Advance();

  moqt::Session* session_;
  NodePace* pace_;
  CacheMatch match_;
  const std::vector<BlockHash> blocks_;
  const PromptPages pages_;
  const Ladder ladder_;
  const LoadTerms terms_;

  Runs runs_;  // They refer to the members above.
  std::map<moqt::RequestId, Runs::iterator> fetches_;
  std::set<size_t> missing_;  // Blocks that were asked for in vain, and are to be asked for again.
  size_t next_block_;         // Nothing was asked for from here on.
  size_t end_block_;          // Nothing is wanted from here on.
  std::vector<RungChoice> choices_;
  size_t fetches_made_ = 0;
  size_t leading_ = 0;
  std::optional<LoadFault> fault_;  // Of the first block that cannot be had, as far as known.
  Instant now_;
  bool over_ = false;
};

}  // namespace kvcast
