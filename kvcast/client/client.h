#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/base/time.h"
#include "kvcast/client/ack_follower.h"
#include "kvcast/client/block_place.h"
#include "kvcast/client/block_shelf.h"
#include "kvcast/client/cache_kind.h"
#include "kvcast/client/cache_match.h"
#include "kvcast/client/catalog_follower.h"
#include "kvcast/client/client_event.h"
#include "kvcast/client/executor.h"
#include "kvcast/client/ladder.h"
#include "kvcast/client/loading.h"
#include "kvcast/client/local_executor.h"
#include "kvcast/client/node_holdings.h"
#include "kvcast/client/node_pace.h"
#include "kvcast/client/pace_book.h"
#include "kvcast/client/prefetching.h"
#include "kvcast/client/prompt_pages.h"
#include "kvcast/client/publication.h"
#include "kvcast/client/rung_choice.h"
#include "kvcast/client/track_coding.h"
#include "kvcast/client/track_kind.h"
#include "kvcast/client/value_loading.h"
#include "kvcast/client/value_outcome.h"
#include "kvcast/client/work_limits.h"
#include "kvcast/kv/prefix_index.h"
#include "kvcast/moqt/session.h"

namespace kvcast {

struct ClientOptions {
  CacheKind kind;  // What is published and found, at its rung where a call names no other.
  // Of pages of BF16, unless somebody says otherwise.
  Ladder ladder = Ladder(HalfType::kBf16);
  size_t index_bytes_max = size_t{1} << 30;
  uint64_t index_seed = 0;  // Drawn by the machine, except in tests.
  // How long a publication waits for the node to do anything.
  Duration publish_patience = std::chrono::seconds(30);
  // Where caches are encoded and decoded; it outlives the client. Null: within its calls.
  Executor* executor = nullptr;
  WorkLimits work = {};
  // How long to wait for catalogs of a node that may have none.
  Duration catalog_patience = std::chrono::milliseconds(500);
  // What is known of nodes from sessions before this one, and will be after it. Null: nothing.
  std::shared_ptr<PaceBook> paces{};
  // Where blocks of this kind that are prefetched are, over all sessions, and how much there may be
  // of them where whoever makes the client makes the shelf. Null: there is none.
  std::shared_ptr<BlockShelf> shelf{};
  uint64_t prefetch_bytes_max = uint64_t{256} << 20;
};

// What an engine asks of one node, over one session: publish a prompt's blocks, find how many of a
// prompt exist, load them into pages.
//
// A state machine: it owns no thread, socket or clock. Whoever feeds the session calls OnInput()
// after it, and when jobs of its executor are done; OnTimeout() when deadline() has come; and takes
// events after these and after every command. Every operation ends, with an event, whatever the
// node does; none throws.
class Client {
 public:
  // Asks for catalogs at once. The session must be new, and outlive the client.
  Client(moqt::Session& session, const ClientOptions& options);

  void OnInput(Instant now);
  void OnTimeout(Instant now);
  std::optional<Instant> deadline() const;
  std::optional<ClientEvent> NextEvent();

  // Which blocks of the prompt can be had, from `first_block` on, where, and at which of these
  // rungs, the best first; at the client's own if none are named. Those that are on the shelf can
  // be, whoever lists them. With a generation, only what was published under it. Asks nobody.
  CacheMatch Find(std::span<const BlockHash> blocks, size_t first_block = 0,
                  std::span<const Rung> rungs = {},
                  const std::optional<Generation>& generation = {}) const;

  // The same in full: everybody who holds them, and what they take to come.
  std::vector<BlockPlace> Places(std::span<const BlockHash> blocks, size_t first_block,
                                 std::span<const Rung> rungs,
                                 const std::optional<Generation>& generation, Instant now) const;

  struct PublishTerms {
    Generation generation{};  // Drawn anew for each.
    // It is over when all blocks have reached that, or when one cannot.
    Durability durability = Durability::kMemory;
    std::optional<Rung> rung{};
    // Blocks that are computed; the others become so by Ready(), and are not read before.
    size_t ready = SIZE_MAX;
    // Shared with publications of the same blocks under the same generation and rung at other
    // nodes. Null: there are none.
    std::shared_ptr<TrackCoding> coding{};
  };
  // Offers a prompt's blocks, once what the node holds is known. Invalid: pages that are not of
  // this kind, or of another number of blocks; or what the ladder says of the rung.
  Result<OperationId> Publish(std::vector<BlockHash> blocks, PromptPages pages,
                              const PublishTerms& terms, Instant now);
  // The first so many blocks of a publication are computed now.
  void Ready(OperationId publish, size_t blocks, Instant now);
  // No more than those that are ready will be: it ends when the node lists these.
  void Close(OperationId publish, Instant now);
  // Loads what a match of these blocks says; where the terms are to follow, all blocks that have a
  // place, as they come. Invalid: pages that are not of this kind, or that have no place for all of
  // the match.
  Result<OperationId> Load(CacheMatch match, std::vector<BlockHash> blocks, PromptPages pages,
                           const LoadTerms& terms, Instant now);

  // The first so many blocks of a prompt that is loaded have pages that may be written to now.
  void Room(OperationId load, size_t blocks, Instant now);

  // Brings what a match of these blocks says, or will say by the deadline, to the shelf, from where
  // loads take it. REQUIRES: a shelf.
  OperationId Prefetch(CacheMatch match, std::vector<BlockHash> blocks, const PrefetchTerms& terms,
                       Instant now);

  // Values are bytes of an engine's own, under names of its own. How long each of these is, as far
  // as somebody is said to hold it. Asks nobody.
  std::vector<std::optional<uint64_t>> FindValues(std::span<const BlockHash> names) const;
  struct PutTerms {
    Generation generation{};  // Drawn anew for each.
    Durability durability = Durability::kMemory;
    Instant deadline = Instant::max();
  };
  // What the node does not hold is published, as one track; a name that stands twice, once. The
  // first of a name is read, and what becomes of it is told of all. REQUIRES, of both: values of 1
  // to ValuePiece::kValueBytesMax bytes.
  OperationId PutValues(const std::vector<ValueSource>& values, const PutTerms& terms, Instant now);
  OperationId GetValues(std::vector<ValuePlace> places, Instant deadline, Instant now);

  // Ends it now: its memory is not touched any more when this returns. Told as its end.
  void Cancel(OperationId operation, Instant now);

  // What the node holds is known, as far as it tells.
  bool ready() const { return follower_.settled(); }
  bool lost() const { return lost_; }
  const PrefixIndex& index() const { return index_; }
  // How fast the node has been.
  const NodePace& pace() const { return *pace_; }

 private:
  struct PublishEntry {
    std::unique_ptr<Publication> publication;
    PublishReport told;
    // Of values: which of the publication's blocks each is.
    std::optional<std::vector<size_t>> values{};
  };
  struct LoadEntry {
    std::unique_ptr<Loading> loading;
    size_t told = 0;
  };

  Result<void> CheckPages(const PromptPages& pages) const;
  void OnEvent(const moqt::Event& event, Instant now);
  void OnSetup(const moqt::Setup& peer, Instant now);
  void OnRequestEvent(moqt::RequestId request, const moqt::Event& event, Instant now);
  void OnSessionClosed(const std::string& reason);
  // After every input: starts what waited, tells what has changed, forgets what is over.
  void Settle(Instant now);
  void SettlePublications(Instant now);
  void SettleLoads(Instant now);
  void SettlePrefetches();
  void SettleValues();
  OperationId Begin(PublishEntry entry, Instant now);

  moqt::Session* session_;
  const ClientOptions options_;
  LocalExecutor own_executor_;
  Executor* executor_;
  PrefixIndex index_;
  NodeHoldings held_;
  CatalogFollower follower_;
  std::shared_ptr<NodePace> pace_;
  AckFollower acks_;
  std::map<OperationId, PublishEntry> publications_;
  std::map<OperationId, LoadEntry> loads_;
  std::map<OperationId, std::unique_ptr<Prefetching>> prefetches_;
  const TrackKind value_kind_;
  std::map<OperationId, std::unique_ptr<ValueLoading>> value_loads_;
  OperationId next_operation_ = 1;
  std::deque<ClientEvent> events_;
  bool ready_told_ = false;
  bool lost_ = false;
  bool lost_told_ = false;
  std::string lost_reason_;
};

}  // namespace kvcast
