#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/base/time.h"
#include "kvcast/client/client.h"
#include "kvcast/engine/call_news.h"
#include "kvcast/engine/live_load.h"
#include "kvcast/engine/live_prefetch.h"
#include "kvcast/engine/live_publication.h"
#include "kvcast/engine/node_address.h"
#include "kvcast/engine/node_link.h"
#include "kvcast/engine/ongoing_loads.h"
#include "kvcast/engine/ongoing_publications.h"
#include "kvcast/io/loop_thread.h"

namespace kvcast {

// What an engine uses: a connection to a node, or to one of several that will do as well, on a
// thread of its own, with calls that wait, and others that do not.
//
//   const auto node = NodeConnection::Open(address, kind, std::chrono::seconds(10));
//   const CacheMatch match = node->Find(chain.blocks());
//   const LoadReport report = node->Load(match, chain.blocks(), pages, {.deadline = ...});
//   ... compute what report.loaded() leaves ...
//   node->Publish(chain.blocks(), pages, {});
//
// or, while it computes, with another engine that loads and follows:
//
//   const auto live = node->BeginPublish(chain.blocks(), pages, {});
//   ... compute a block; (*live)->Ready(++blocks); and the next; then (*live)->Finish();
//
// May be called from any number of threads. When the connection is lost a new one is made, for ever
// tried again: to the next node, or to the same when it is back. A load goes on there with what has
// not come, if that is soon, and a publication with what that node does not hold; what is called
// meanwhile ends as a report that says so: the engine computes, and goes on.
class NodeConnection {
 public:
  struct LoadCall {
    Instant deadline = Instant::max();
    // What computing a block takes: blocks that are computed faster than loaded are left.
    std::optional<Duration> compute_per_block = {};
    std::stop_token stop = {};  // Ends it early.
    std::function<void(size_t)> on_progress =
        {};  // So many blocks are loaded; on the caller's thread.
    // Waits for blocks that are being published; for all that have a place.
    std::optional<FollowTerms> follow = {};
    uint64_t tag = 0;          // Of one that nobody waits for: what NextNews() calls it by.
    CallNews* news = nullptr;  // Who is to be told of it; null: whoever asks the connection.
    // Blocks of the prompt whose pages may be written to, until LiveLoad::Room() says more.
    size_t room = SIZE_MAX;
  };
  struct PublishCall {
    Instant deadline = Instant::max();
    std::stop_token stop = {};
    std::function<void(const PublishReport&)> on_progress = {};
    Durability durability = Durability::kMemory;
    std::optional<Rung> rung = {};  // Another one than the connection's.
    // What others publish slices of the same cache under, one of whom has drawn it; else one is
    // drawn.
    std::optional<Generation> generation = {};
    uint64_t tag = 0;  // As above.
    CallNews* news = nullptr;
  };
  struct PrefetchCall {
    PrefetchTerms terms;
    uint64_t tag = 0;  // As above.
    CallNews* news = nullptr;
  };

  // Connects to whichever of these nodes is there first, those that are named first having a head
  // start, and waits until it is known what it holds; for `patience` at most. For pages of BF16,
  // unless the ladder says otherwise. REQUIRES: an address.
  static Result<std::unique_ptr<NodeConnection>> Open(
      const std::vector<NodeAddress>& addresses, const CacheKind& kind, Duration patience,
      const Ladder& ladder = Ladder(HalfType::kBf16)) {
    return Open(addresses, ClientOptions{kind, ladder}, patience);
  }
  // The options' seed is drawn here.
  static Result<std::unique_ptr<NodeConnection>> Open(const std::vector<NodeAddress>& addresses,
                                                      const ClientOptions& options,
                                                      Duration patience);
  static Result<std::unique_ptr<NodeConnection>> Open(
      const NodeAddress& address, const CacheKind& kind, Duration patience,
      const Ladder& ladder = Ladder(HalfType::kBf16)) {
    return Open(std::vector{address}, kind, patience, ladder);
  }
  // REQUIRES: no call is under way.
  ~NodeConnection();
  NodeConnection(const NodeConnection&) = delete;
  NodeConnection& operator=(const NodeConnection&) = delete;

  // Which blocks of a prompt can be had, from `first_block` on, at which of these rungs, the best
  // first; at the connection's own if none are named. With a generation, only what was published
  // under it. Asks nobody. Ladder::LoadedDownTo() says which there are.
  CacheMatch Find(std::span<const BlockHash> blocks, size_t first_block = 0,
                  std::span<const Rung> rungs = {},
                  const std::optional<Generation>& generation = {});
  // The same in full: everybody who holds them, and what they take to come.
  std::vector<BlockPlace> Places(std::span<const BlockHash> blocks, size_t first_block = 0,
                                 std::span<const Rung> rungs = {},
                                 const std::optional<Generation>& generation = {});
  // For several ranks that publish their slices of a cache: one draws it, all use it.
  static Generation DrawGeneration();
  // Returns when all is loaded or cannot be, and no page is touched after that. Of several rungs
  // each block comes at the best with which the deadline is kept. Invalid: pages that cannot take
  // it.
  Result<LoadReport> Load(const CacheMatch& match, std::span<const BlockHash> blocks,
                          const PromptPages& pages, const LoadCall& call);
  // The same, while nobody waits. The connection must outlive the result.
  Result<std::unique_ptr<LiveLoad>> BeginLoad(const CacheMatch& match,
                                              std::span<const BlockHash> blocks,
                                              const PromptPages& pages, const LoadCall& call);
  // Returns when the node lists every block, or will not; the pages are not read after that. Where
  // the node is lost another one is waited for, until the deadline, and for the options' patience
  // at most. Invalid: pages that are not of this kind, or of another number of blocks.
  Result<PublishReport> Publish(std::span<const BlockHash> blocks, const PromptPages& pages,
                                const PublishCall& call);
  // The same while the blocks are being computed: each is sent when it is said to be ready, and not
  // read before. Waits for nothing; of the call, only durability, rung, generation and tag count.
  // The connection must outlive the result. Invalid: as above.
  Result<std::unique_ptr<LivePublication>> BeginPublish(std::span<const BlockHash> blocks,
                                                        const PromptPages& pages,
                                                        const PublishCall& call);

  // Brings blocks that will be loaded soon into the host's memory, from where loads of this
  // connection take them; while nobody waits. The connection must outlive the result.
  std::unique_ptr<LivePrefetch> BeginPrefetch(const CacheMatch& match,
                                              std::span<const BlockHash> blocks,
                                              const PrefetchCall& call);

  // Of what nobody waits for: the tag of a load that has come further, or of
  // whatever is over, since this last said so. Absent if there is none.
  std::optional<uint64_t> NextNews() { return NextNews(own_news_); }
  std::optional<uint64_t> NextNews(CallNews& news);
  // Can be read while there are such news.
  int descriptor() const { return own_news_.descriptor(); }

  // Why there is no connection now, if there is none.
  std::optional<std::string> lost() const;

 private:
  friend class LiveLoad;
  friend class LivePrefetch;
  friend class LivePublication;
  using Call = uint64_t;
  // How far a call is, as the loop's thread has told.
  struct Progress {
    size_t loaded = 0;
    PublishReport published;
    std::optional<LoadReport> load_end;
    std::optional<PublishReport> publish_end;
    std::optional<PrefetchReport> prefetch_end;
    uint64_t changes = 0;
    std::optional<uint64_t> tag;  // Of a call that nobody waits for,
    CallNews* news = nullptr;     // and who is to be told.
    bool is_news = false;

    bool over() const { return load_end || publish_end || prefetch_end; }
  };

  explicit NodeConnection(CallNews news) : own_news_(std::move(news)) {}
  static Result<std::unique_ptr<NodeConnection>> OpenAny(const std::vector<NodeAddress>& addresses,
                                                         const ClientOptions& options,
                                                         Instant deadline);
  Result<void> Connect(const std::vector<NodeAddress>& addresses, const NodeLink::First& first,
                       const ClientOptions& options);
  // False if it is neither ready nor lost by then.
  Result<bool> AwaitReady(Instant deadline);

  Call Add(const std::optional<uint64_t>& tag, CallNews* news);
  // Where there is no node it is over at once.
  Result<Call> StartLoad(const CacheMatch& match, std::span<const BlockHash> blocks,
                         const PromptPages& pages, const LoadCall& call,
                         const std::optional<uint64_t>& tag);
  Result<Call> StartPublish(std::span<const BlockHash> blocks, const PromptPages& pages,
                            const PublishCall& call, size_t ready,
                            const std::optional<uint64_t>& tag);
  // Waits until it is over: by itself, or cancelled at the deadline or when told to stop.
  Progress Await(Call call, Instant deadline, const std::stop_token& stop,
                 const std::function<void(const Progress&)>& on_change);
  PublishReport AwaitPublish(Call call, const PublishCall& terms);
  // Absent if it is not over by then.
  std::optional<Progress> AwaitEnd(Call call, Instant until);
  size_t Loaded(Call call) const;
  void PostCancel(Call call);
  void PostRoom(Call call, size_t blocks);
  void PostReady(Call call, size_t blocks);
  void PostClose(Call call);
  std::string LostReason() const;

  // With the lock held.
  Progress Take(Call call);
  void Note(Call call, bool is_news);

  // On the loop's thread.
  void OnEvent(const ClientEvent& event);
  void OnLinkEvent(const ClientEvent& event);
  void OnPrefetchEnd(const PrefetchEnded& ended);
  void OnLoaded(Call call, size_t blocks);
  void OnLoadEnd(Call call, LoadReport report);
  void OnPublishReport(Call call, const PublishReport& report, bool over);
  void Cancel(Call call);

  // False where there is no node.
  bool Command(const std::function<void(Client&)>& command);

  std::unique_ptr<LoopThread> thread_;
  // On the loop's thread.
  std::unique_ptr<NodeLink> link_;
  std::unique_ptr<OngoingLoads> loads_;
  std::unique_ptr<OngoingPublications> publications_;
  std::map<std::pair<uint64_t, OperationId>, Call> prefetches_;  // Of sessions.

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<Call, Progress> calls_;
  CallNews own_news_;
  Call next_call_ = 1;
  bool ready_ = false;
  std::optional<std::string> lost_;
};

}  // namespace kvcast
