#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/base/time.h"
#include "kvcast/catalog/acknowledgement.h"
#include "kvcast/client/memory_regions.h"
#include "kvcast/engine/node_address.h"
#include "kvcast/engine/node_link.h"
#include "kvcast/engine/ongoing_batches.h"
#include "kvcast/engine/value_batch.h"
#include "kvcast/io/event_signal.h"
#include "kvcast/io/loop_thread.h"
#include "kvcast/kv/tenant.h"
#include "kvcast/kv/value_format.h"

namespace kvcast {

// What an engine uses that brings its own keys, its own layout and its own memory: values put into
// a node, looked up and got, many at a time, while nobody waits.
//
// May be called from any number of threads. A batch ends at its deadline, or as soon after as the
// loop's thread comes to it; then its memory is not touched any more. When the node is lost a batch
// goes on at the next one, or at the same when it is back, if that is soon; what is called
// meanwhile ends at once, and the store goes on trying.
class ValueStore {
 public:
  static constexpr size_t kItemsMax = 65'536;  // Of a batch.
  static constexpr size_t kBatchesMax = 4096;  // Not taken yet, under way or over.

  struct Options {
    std::vector<NodeAddress> addresses;  // Any will do; in order of preference.
    Tenant tenant = Tenant::Public();
    NamingKey key = NamingKey::Public();
    ValueFormat format;
    // How long to wait until the node is there; with none, it may come later.
    Duration patience = std::chrono::seconds(10);
    size_t index_bytes_max = size_t{1} << 30;
  };
  // Invalid: a format that is none. Of the machine: the node is not there in time.
  static Result<std::unique_ptr<ValueStore>> Open(const Options& options);
  // Ends all batches. REQUIRES: no call is under way.
  ~ValueStore();
  ValueStore(const ValueStore&) = delete;
  ValueStore& operator=(const ValueStore&) = delete;

  // See MemoryRegions. Memory must stay until it is unregistered, which fails while a batch is
  // under way that uses it.
  Result<RegionId> Register(std::span<std::byte> memory);
  Result<void> Unregister(RegionId region);

  // The names of blocks whose hashes, as the engine has them, each say nothing of what stands
  // before them: `before` is the name of the last of `blocks_before` blocks. Invalid: not a hash,
  // or salt.
  Result<std::vector<BlockHash>> Chain(std::span<const std::span<const std::byte>> hashes,
                                       const std::optional<BlockHash>& before = std::nullopt,
                                       uint64_t blocks_before = 0,
                                       std::string_view salt = {}) const;

  // Begins it; items that make no sense end as invalid, and are no matter to others. The items are
  // not looked at after this returns. Too large: too many of them, or too many batches that nobody
  // takes. Invalid: a salt that is too long.
  Result<BatchId> Submit(const ValueBatch& batch);
  // A batch that is over and was not taken yet, the oldest first.
  std::optional<BatchId> Ended();
  // What came of it, once: after that it is forgotten. Absent while it is under way. Not found: no
  // such batch, or taken already.
  Result<std::optional<std::vector<ValueResult>>> Take(BatchId batch);
  // The same, and waits for it until then.
  Result<std::optional<std::vector<ValueResult>>> Wait(BatchId batch, Instant until);
  // When this returns it is over, if it was not already. Nothing happens where there is none.
  void Cancel(BatchId batch);

  // Can be read while a batch is over that nobody has taken.
  int descriptor() const { return signal_.descriptor(); }
  bool connected() const;
  // Why there is no node now; empty if there is one.
  std::string lost_reason() const;

 private:
  struct Entry {
    std::vector<ValueResult> results;
    std::vector<size_t> asked;      // Which of them the client was asked for.
    std::vector<RegionId> regions;  // Used, each as often.
    bool over = false;
  };
  explicit ValueStore(const Options& options, EventSignal signal);
  Result<void> AwaitReady(Instant deadline);
  Result<BlockNamer> NamerOf(std::string_view salt) const;
  // Which items can be asked for; of the others it is said why not.
  OngoingBatches::Order Plan(const ValueBatch& batch, std::vector<BlockHash> names,
                             const std::vector<bool>& named, Entry& entry);
  std::optional<std::vector<ValueResult>> TakeLocked(std::map<BatchId, Entry>::iterator batch);

  // On the loop's thread.
  void OnEvent(const ClientEvent& event);
  void End(BatchId batch, std::span<const ValueResult> results);

  const Options options_;
  const Digest fingerprint_;
  std::unique_ptr<LoopThread> thread_;
  std::unique_ptr<NodeLink> link_;  // On the loop's thread, as is what follows.
  std::unique_ptr<OngoingBatches> ongoing_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  EventSignal signal_;
  MemoryRegions regions_;
  std::map<BatchId, Entry> batches_;
  std::deque<BatchId> ended_;
  BatchId next_batch_ = 1;
  bool connected_ = false;
  std::string lost_reason_;
};

}  // namespace kvcast
