#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kvcast/base/time.h"
#include "kvcast/client/block_shelf.h"
#include "kvcast/client/cache_kind.h"
#include "kvcast/client/cache_match.h"
#include "kvcast/client/decoding_run.h"
#include "kvcast/client/executor.h"
#include "kvcast/client/ladder.h"
#include "kvcast/client/load_report.h"
#include "kvcast/client/node_pace.h"
#include "kvcast/client/prompt_pages.h"
#include "kvcast/client/rung_choice.h"
#include "kvcast/client/work_limits.h"
#include "kvcast/kv/prefix_index.h"
#include "kvcast/moqt/event.h"
#include "kvcast/moqt/session.h"

namespace kvcast {

// One load under way: fetches a prompt's blocks in their order, a few runs at a time, each at the
// rung that suits what is known by then, and has jobs write what passes its checks straight into
// pages. A block that one track could not give is asked of another one that is said to hold it,
// once no job writes to it any more. While jobs have enough to do nothing is taken from the
// session, and so the node waits. What has been prefetched is taken from the shelf instead.
//
// Where it is to follow, it goes on where nothing more is held: it subscribes to a track that may
// still be being published, fetches what that has up to then, and takes what comes, block by block;
// whatever it does not get so it fetches once a catalog lists it.
//
// Where an engine says what computing costs, the load weighs that as long as it waits, and ends
// when what is left is computed faster than it is likely to come.
//
// Whatever goes wrong, at whatever moment, ends in a report: blocks up to the first that could not
// be had are loaded, that one and all after it are to be computed again. Once over() nothing
// touches a page any more, on whatever thread; destroying it, or Cancel(), makes it so, and waits
// for no more than the jobs that are being run.
class Loading {
 public:
  static constexpr size_t kFetchesMax = 4;  // At a time.

  // What the loads of a client share; all of it outlives them.
  struct Ground {
    moqt::Session* session;
    NodePace* pace;
    const PrefixIndex* index;
    const CacheKind* kind;
    const Ladder* ladder;
    Executor* executor;
    const WorkLimits* work;
    BlockShelf* shelf;  // Null: there is none.
  };
  // `blocks` names the whole prompt. REQUIRES: the match lies within it and within `pages`, whose
  // values are those of the ladder.
  Loading(const Ground& ground, CacheMatch match, std::vector<BlockHash> blocks, PromptPages pages,
          const LoadTerms& terms, Instant now);
  ~Loading();
  Loading(const Loading&) = delete;
  Loading& operator=(const Loading&) = delete;

  // Events of requests that it does not own are none of its business.
  bool Owns(moqt::RequestId request) const {
    return fetches_.contains(request) || (live_ && live_->request == request);
  }
  void OnEvent(const moqt::Event& event, Instant now);
  // After every input: the index may say more than before, and jobs may be done.
  void Look(Instant now);
  // The prompt's first so many blocks have pages that may be written to.
  void Room(size_t blocks, Instant now);
  void OnNodeLost(const std::string& reason);
  void OnTimeout(Instant now);
  void Cancel();

  bool over() const { return over_; }
  // Absent once it is over.
  std::optional<Instant> deadline() const {
    return over_ ? std::nullopt
                 : std::optional(std::min({terms_.deadline, WaitsUntil(), WorthUntil()}));
  }
  // Blocks loaded so far without a hole. Only rises, and those stay loaded.
  size_t leading() const { return leading_; }
  LoadReport Report() const;  // REQUIRES: over().

 private:
  using Run = DecodingRun;
  using Runs = std::map<size_t, Run>;  // By their first block; they stay where they are.

  // A track that may still be being published.
  struct Live {
    moqt::RequestId request = 0;
    TrackName track;
    Rung rung = Rung::kBf16;
    std::shared_ptr<const Codec> codec{};  // Null until it is accepted.
    uint64_t next_group = 0;  // The first that is still to come, as far as it comes in order.
    std::map<uint64_t, Runs::iterator> open{};  // Blocks of which some has come.
  };
  // Between what a track had when it was accepted, which is fetched, and what comes then: the block
  // that was half there.
  struct Joint {
    moqt::RequestId fetch = 0;
    Location last;                  // That is fetched.
    std::vector<Object> waiting{};  // Of its group, those that came after it.
    uint64_t waiting_bytes = 0;
    bool ended = false;  // No more of its group comes.
  };

  // After every input: asks for what can be asked for, and ends when nothing can be had any more.
  void Settle();
  void StartFetches();
  // The next block that somebody offers, and nobody was asked for, or who was could not give it.
  std::optional<size_t> NextBlock() const;
  bool IsOffered(size_t block) const;
  bool HasAskedEnough() const;
  // Null where it cannot be asked for, and everything from there on has failed.
  std::optional<moqt::RequestId> Start(const LoadRun& run, const LocationRange& range);
  Runs::iterator Claim(const LoadRun& run);
  // The track has told how it is coded.
  void Begin(const moqt::FetchAccepted& accepted);
  // As far as there is room for it, or all: what does not come again.
  enum class Extent : uint8_t { kRoom, kAll };
  void Take(moqt::RequestId request, Extent extent);
  void Feed(Run& run, const moqt::Received& item);
  bool IsFull() const { return jobs_.bytes() >= work_->decoding_bytes_max; }
  // So much waits for a fetch that nothing more is taken of what follows it.
  bool IsJointFull() const;
  // Looks at jobs that are done, and takes what had to wait for them; false if none are.
  bool Collect();
  bool CollectDone();
  void GiveUp(Runs::iterator run, LoadFault fault);  // It gives nothing more than has come.
  // If something is wrong with it, another source is tried for the rest, once none of it is being
  // decoded any more: what comes from there goes to the same pages. The run may be gone then.
  void Conclude(Runs::iterator run);
  void PassOn(Runs::iterator run);
  // Nothing from this block on is wanted any more.
  void Fail(size_t block, LoadFault fault);
  void FailAll(LoadFault fault);
  void EndFetch(std::map<moqt::RequestId, Runs::iterator>::iterator fetch, bool cancel);
  void Advance();

  // Of blocks that were prefetched; in loading_shelf.cc.
  void TakeShelved();
  void Decode(size_t block, const BlockShelf::Block& taken);
  void FailUnshelved();

  // What follows is of computing instead, and in loading_worth.cc.
  // After every input: what came of the block that is needed next, and what is left to ask for.
  void NoteProgress();
  uint64_t CameOfNext() const;
  void CountUnasked();
  // What all that is left takes to come, and what of it was asked for, once it comes.
  struct Rest {
    Duration all{};
    Duration asked{};
    size_t asked_blocks = 0;
  };
  Rest TimeOfRest() const;
  // Until when to wait for what was asked for is not known to be worse than computing all that is
  // left.
  Instant WorthUntil() const;
  void WeighComputing();

  // What follows is of following, and in loading_live.cc.
  bool follows() const { return terms_.follow.has_value(); }
  void OnLiveEvent(const moqt::Event& event);
  // Subscribes to a track that may bring what nobody is known to hold, if there is one.
  void Follow();
  std::optional<BlockOffer> BestToFollow(const CacheMatch& last, size_t end);
  void BeginLive(const moqt::RequestAccepted& accepted);
  void TakeLive(Extent extent);
  void OnLiveObject(const Object& object);
  void OnLiveGroupEnd(uint64_t group);
  void OnTrackEnd(const moqt::TrackEnd& end);
  void EndLive(bool cancel);
  // What was there has been fetched; what came since follows it.
  void GoOnFrom(std::map<moqt::RequestId, Runs::iterator>::iterator fetch);
  // A catalog may tell of a block before it is here: it need not be sent twice.
  bool IsComingLive(size_t block) const;
  size_t NextToLoad() const { return match_.first_block() + leading_; }
  bool IsFree(size_t block) const { return block >= next_block_ || missing_.contains(block); }
  // For how long it is worth waiting for somebody else's work; as long as there is, if something is
  // on its way.
  Instant WaitsUntil() const;
  void Weigh();

  moqt::Session* session_;
  NodePace* pace_;
  const PrefixIndex* index_;
  const CacheKind* kind_;
  const Ladder* ladder_;
  const WorkLimits* work_;
  BlockShelf* shelf_;
  CacheMatch match_;
  const std::vector<BlockHash> blocks_;
  const PromptPages pages_;
  const LoadTerms terms_;
  const size_t wanted_end_;  // Of the blocks that were asked for.

  CountedJobs<DecodeJob> jobs_;
  bool held_up_ = false;  // Something waits in the session for jobs to be done.
  Runs runs_;             // They refer to the members above.
  std::map<moqt::RequestId, Runs::iterator> fetches_;
  std::set<size_t> missing_;  // Blocks before the next that are to be asked for, or again.
  size_t next_block_;         // Nothing was asked for from here on.
  size_t end_block_;          // Nothing is wanted from here on.
  size_t room_;               // Nothing is asked for from here on, yet.
  uint64_t shelf_version_ = 0;
  std::set<size_t> shelved_;    // Blocks that are there, and that nobody was asked for.
  std::set<size_t> unoffered_;  // Blocks that were nowhere else when the load began.
  std::vector<RungChoice> choices_;
  size_t fetches_made_ = 0;
  size_t leading_ = 0;
  std::optional<LoadFault> fault_;  // Of the first block that cannot be had, as far as known.
  std::optional<Live> live_;
  std::optional<Joint> joint_;
  std::set<TrackName> followed_;        // Each is tried once.
  std::map<size_t, LoadFault> faults_;  // Of blocks that somebody else may still bring.
  bool begun_ = false;                  // Somebody publishes what was waited for.
  bool unsure_ = false;                 // What one should have brought may be listed yet.
  uint64_t index_version_ = 0;          // That the match knows of.
  Instant last_news_;
  // When something last came of the block that is needed next, or the first fetch of several was
  // sent, and how many blocks were loaded then.
  struct Progress {
    Instant at;
    size_t leading = 0;
  };
  Progress progress_;
  std::pair<size_t, uint64_t> came_{};  // Blocks that are loaded, and bytes of the next run.
  bool fetching_ = false;
  std::vector<std::pair<Rung, uint64_t>> unasked_;  // Bytes, of each block at its smallest.
  std::array<uint64_t, 5> unasked_of_{};            // When they were counted.
  Instant listed_at_{};  // The block that is waited for, though it is to come live.
  const Instant since_;
  Instant now_;
  bool over_ = false;
};

}  // namespace kvcast
