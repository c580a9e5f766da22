#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kvcast/base/time.h"
#include "kvcast/client/block_shelf.h"
#include "kvcast/client/cache_kind.h"
#include "kvcast/client/cache_match.h"
#include "kvcast/client/load_report.h"
#include "kvcast/kv/prefix_index.h"
#include "kvcast/moqt/event.h"
#include "kvcast/moqt/session.h"

namespace kvcast {

struct PrefetchTerms {
  Instant deadline = Instant::max();
  // For blocks that nobody holds yet, to the deadline: each is fetched once a catalog lists it.
  bool waits = false;
};

// How far it came.
struct PrefetchReport {
  size_t first_block = 0;
  size_t blocks = 0;   // From that one on, without a hole: on the shelf when it was their turn.
  size_t held = 0;     // Of them, those that were there before, or left to a load.
  uint64_t bytes = 0;  // Of payload that came.
  std::optional<BlockOutcome> fault;  // Why not more; absent: all that was wanted is there.
  std::string reason;                 // A sentence for a person; empty if there is no fault.
};

// Blocks of a prompt that somebody will soon load, on their way to the shelf: in their order, each
// at the best rung that there is, one fetch at a time, behind everything that somebody waits for.
// The node has them at hand then as well, for all its engines.
//
// It ends when all are there, when there is no room for the next, or when it cannot be had. What
// has come stays on the shelf, also when it is cancelled: a load takes it from there, or it gives
// way to what is prefetched later.
class Prefetching {
 public:
  static constexpr uint64_t kRunBytesMax = 16 * 1024 * 1024;  // Of one fetch, as catalogs have it.

  // All of it outlives this.
  struct Ground {
    moqt::Session* session;
    const PrefixIndex* index;
    const CacheKind* kind;
    BlockShelf* shelf;
  };
  // `blocks` names the whole prompt. REQUIRES: the match lies within it.
  Prefetching(const Ground& ground, CacheMatch match, std::vector<BlockHash> blocks,
              const PrefetchTerms& terms, Instant now);
  ~Prefetching() { Cancel(); }
  Prefetching(const Prefetching&) = delete;
  Prefetching& operator=(const Prefetching&) = delete;

  // Events of requests that it does not own are none of its business.
  bool Owns(moqt::RequestId request) const { return fetch_ && fetch_->request == request; }
  void OnEvent(const moqt::Event& event);
  // After every input: the index may say more than before.
  void Look();
  void OnNodeLost(const std::string& reason);
  void OnTimeout(Instant now);
  void Cancel();
  // Leaves out those of these blocks that it would bring: whoever loads them, from a prompt's first
  // on, fetches them now. Ends it if there are no others.
  void GiveWayTo(std::span<const BlockHash> loaded);

  bool over() const { return over_; }
  // Absent once it is over.
  std::optional<Instant> deadline() const;
  const PrefetchReport& report() const { return report_; }

 private:
  struct Fetch {
    moqt::RequestId request = 0;
    LoadRun run;
    bool accepted = false;
    Properties properties{};        // Of the track.
    std::vector<Object> objects{};  // What has come of the next block,
    uint64_t bytes = 0;             // and keeps in memory.
  };

  void GoOn();
  // Of the blocks that it is to bring.
  size_t end() const { return terms_.waits ? blocks_.size() : match_.end_block(); }
  LoadRun NextRun() const;
  void Start(const LoadRun& run);
  bool IsShelved(size_t block) const;
  void Take();
  void OnObject(const Object& object);
  void OnRangeEnd(const moqt::RangeEnd& range);
  // The next block of the fetch is whole, as far as the node says.
  void EndBlock();
  // The fetch gives no more blocks, for a reason of its own: somebody else is asked.
  void GiveUp(LoadFault fault);
  void EndFetch(bool cancel);
  void End(LoadFault fault);

  moqt::Session* session_;
  const PrefixIndex* index_;
  const CacheKind* kind_;
  BlockShelf* shelf_;
  CacheMatch match_;
  const std::vector<BlockHash> blocks_;
  const PrefetchTerms terms_;
  const BlockShelf::Turn turn_;
  size_t next_;  // What stands before it has had its turn.
  std::optional<Fetch> fetch_;
  std::optional<LoadFault> fault_;  // Of the next block, by who was asked last, if anybody.
  uint64_t index_version_ = 0;      // That the match knows of.
  PrefetchReport report_;
  bool over_ = false;
};

}  // namespace kvcast
