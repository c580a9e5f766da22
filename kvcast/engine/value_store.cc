#include "kvcast/engine/value_store.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "kvcast/base/check.h"
#include "kvcast/base/hex.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/entropy.h"
#include "kvcast/kv/value_piece.h"

namespace kvcast {
namespace {

// Turns of the loop that a farewell may take before nobody waits for it any more.
constexpr int kFarewellTurns = 100;
// A wait is added to the time that it is, and must not overflow then.
constexpr Duration kLongestWait = std::chrono::hours(1);
constexpr size_t kReasonBytesMax = 500;

bool IsKey(std::span<const std::byte> key) {
  return !key.empty() && key.size() <= ValueFormat::kKeyBytesMax;
}

bool IsLength(uint64_t length) { return length > 0 && length <= ValuePiece::kValueBytesMax; }

}  // namespace

Result<std::unique_ptr<ValueStore>> ValueStore::Open(const Options& options) {
  KVCAST_CHECK(!options.addresses.empty());
  KVCAST_TRY_VOID(options.format.Check());
  KVCAST_TRY(const ModelScope scope,
             ModelScope::Of(options.tenant, options.format.model, options.format.Fingerprint()));
  KVCAST_TRY(EventSignal signal, EventSignal::Make());
  std::unique_ptr<ValueStore> store(new ValueStore(options, std::move(signal)));
  KVCAST_TRY(store->thread_, LoopThread::Make());
  // The rung is that of caches, which this client moves none of.
  ClientOptions client{CacheKind(scope, Rung::kBf16)};
  client.index_bytes_max = options.index_bytes_max;
  FillRandom(std::as_writable_bytes(std::span(&client.index_seed, 1)));
  ValueStore& self = *store;
  store->thread_->Run([&] {
    self.link_ =
        std::make_unique<NodeLink>(self.thread_->loop(), options.addresses, client,
                                   [&self](const ClientEvent& event) { self.OnEvent(event); });
    self.ongoing_ = std::make_unique<OngoingBatches>(
        self.thread_->loop(), *self.link_,
        [&self](BatchId batch, std::span<const ValueResult> results) { self.End(batch, results); });
  });
  KVCAST_TRY_VOID(store->AwaitReady(Now() + std::min(options.patience, kLongestWait)));
  return store;
}

ValueStore::ValueStore(const Options& options, EventSignal signal)
    : options_(options), fingerprint_(options.format.Fingerprint()), signal_(std::move(signal)) {}

Result<void> ValueStore::AwaitReady(Instant deadline) {
  if (options_.patience <= Duration(0)) {
    return {};
  }
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::max(deadline - Now(), Duration(0)), [&] { return connected_; });
  if (!connected_) {
    return Error(ErrorCode::kMachine,
                 lost_reason_.empty()
                     ? "The node does not answer. Is 'kvcast serve' running there, and does UDP "
                       "get through?"
                     : "Cannot use the node: " + lost_reason_)
        .In("node " + NamesOf(options_.addresses));
  }
  return {};
}

ValueStore::~ValueStore() {
  if (thread_ == nullptr || link_ == nullptr) {
    return;
  }
  thread_->Run([&] { link_->Close(); });
  bool closed = false;
  for (int turn = 0; turn < kFarewellTurns && !closed; ++turn) {
    thread_->Run([&] { closed = link_->closed(); });
  }
  thread_->Run([&] {
    link_.reset();
    ongoing_.reset();
  });
}

Result<RegionId> ValueStore::Register(std::span<std::byte> memory) {
  const std::lock_guard lock(mutex_);
  return regions_.Add(memory);
}

Result<void> ValueStore::Unregister(RegionId region) {
  const std::lock_guard lock(mutex_);
  return regions_.Remove(region);
}

Result<BlockNamer> ValueStore::NamerOf(std::string_view salt) const {
  return BlockNamer::Of(options_.key, fingerprint_, salt);
}

Result<std::vector<BlockHash>> ValueStore::Chain(std::span<const std::span<const std::byte>> hashes,
                                                 const std::optional<BlockHash>& before,
                                                 uint64_t blocks_before,
                                                 std::string_view salt) const {
  KVCAST_TRY(BlockNamer namer, NamerOf(salt));
  BlockHash last = before.value_or(namer.root());
  std::vector<BlockHash> names;
  names.reserve(hashes.size());
  for (const std::span<const std::byte> hash : hashes) {
    if (!IsKey(hash)) {
      return Error(ErrorCode::kInvalid, "An engine's hash has 1 to 1,024 bytes; one has " +
                                            std::to_string(hash.size()) + ".");
    }
    last = namer.OfEngineHash(last, blocks_before + names.size() + 1, AsText(hash));
    names.push_back(last);
  }
  return names;
}

Result<BatchId> ValueStore::Submit(const ValueBatch& batch) {
  if (batch.items.size() > kItemsMax) {
    return Error(ErrorCode::kTooLarge, "A batch has at most 65,536 items; this one has " +
                                           std::to_string(batch.items.size()) + ".");
  }
  // A key that stands for itself is a chain of one: engines' own hashes cover what is before them.
  KVCAST_TRY(BlockNamer namer, NamerOf(batch.salt));
  std::vector<BlockHash> names(batch.items.size());
  std::vector<bool> named(batch.items.size());
  for (size_t i = 0; i < batch.items.size(); ++i) {
    const std::span<const std::byte> key = batch.items[i].key;
    named[i] = batch.keys_are_names ? key.size() == Digest::kBytes : IsKey(key);
    if (named[i] && batch.keys_are_names) {
      std::ranges::copy(key, names[i].bytes.begin());
    } else if (named[i]) {
      names[i] = namer.OfEngineHash(namer.root(), 1, AsText(key));
    }
  }
  Entry entry;
  const std::lock_guard lock(mutex_);
  if (batches_.size() >= kBatchesMax) {
    return Error(ErrorCode::kTooLarge,
                 "4,096 batches are under way, or over and not taken. Take what came of them.");
  }
  OngoingBatches::Order order = Plan(batch, std::move(names), named, entry);
  order.batch = next_batch_++;
  const BatchId id = order.batch;
  batches_.emplace(id, std::move(entry));
  thread_->loop().Post([this, order = std::move(order)] { ongoing_->Begin(order); });
  return id;
}

OngoingBatches::Order ValueStore::Plan(const ValueBatch& batch, std::vector<BlockHash> names,
                                       const std::vector<bool>& named, Entry& entry) {
  OngoingBatches::Order order{.kind = batch.kind,
                              .names = {},
                              .places = {},
                              .durability = batch.durability,
                              .deadline = std::min(batch.deadline, Now() + kLongestWait)};
  const bool moves = batch.kind != ValueBatch::Kind::kLookup;
  entry.results.resize(batch.items.size());
  for (size_t i = 0; i < batch.items.size(); ++i) {
    const ValueItem& item = batch.items[i];
    const Result<std::span<std::byte>> place =
        moves ? regions_.Place(item.region, item.offset, item.length) : std::span<std::byte>();
    if (!named[i] || !place.ok() || (moves && !IsLength(item.length))) {
      entry.results[i].outcome = ValueOutcome::kInvalid;
      continue;
    }
    entry.asked.push_back(i);
    order.names.push_back(names[i]);
    if (moves) {
      order.places.push_back(*place);
      regions_.Use(item.region);
      entry.regions.push_back(item.region);
    }
  }
  return order;
}

void ValueStore::OnEvent(const ClientEvent& event) {
  ongoing_->OnEvent(event);
  const std::lock_guard lock(mutex_);
  if (std::holds_alternative<NodeReady>(event)) {
    connected_ = true;
    lost_reason_.clear();
  } else if (const auto* lost = std::get_if<NodeLost>(&event)) {
    connected_ = false;
    lost_reason_ = lost->reason.empty() ? "The connection was lost."
                                        : Printable(lost->reason, kReasonBytesMax);
  }
  changed_.notify_all();
}

void ValueStore::End(BatchId batch, std::span<const ValueResult> results) {
  const std::lock_guard lock(mutex_);
  const auto found = batches_.find(batch);
  if (found == batches_.end() || found->second.over) {
    return;
  }
  Entry& entry = found->second;
  KVCAST_CHECK(results.size() == entry.asked.size());
  for (size_t i = 0; i < results.size(); ++i) {
    entry.results[entry.asked[i]] = results[i];
  }
  for (const RegionId region : std::exchange(entry.regions, {})) {
    regions_.Release(region);
  }
  entry.over = true;
  ended_.push_back(batch);
  signal_.Set();
  changed_.notify_all();
}

std::optional<BatchId> ValueStore::Ended() {
  const std::lock_guard lock(mutex_);
  return ended_.empty() ? std::nullopt : std::optional(ended_.front());
}

std::optional<std::vector<ValueResult>> ValueStore::TakeLocked(
    std::map<BatchId, Entry>::iterator batch) {
  if (!batch->second.over) {
    return std::nullopt;
  }
  std::vector<ValueResult> results = std::move(batch->second.results);
  ended_.erase(std::ranges::find(ended_, batch->first));
  batches_.erase(batch);
  if (ended_.empty()) {
    signal_.Clear();
  }
  return results;
}

Result<std::optional<std::vector<ValueResult>>> ValueStore::Take(BatchId batch) {
  return Wait(batch, Instant{});
}

Result<std::optional<std::vector<ValueResult>>> ValueStore::Wait(BatchId batch, Instant until) {
  std::unique_lock lock(mutex_);
  // Another thread might take it while this one waits.
  const auto is_over = [&] {
    const auto found = batches_.find(batch);
    return found == batches_.end() || found->second.over;
  };
  const Duration left = until == Instant{} ? Duration(0) : until - Now();
  changed_.wait_for(lock, std::clamp(left, Duration(0), kLongestWait), is_over);
  const auto found = batches_.find(batch);
  if (found == batches_.end()) {
    return Error(ErrorCode::kNotFound,
                 "There is no batch " + std::to_string(batch) + ", or it was taken already.");
  }
  return TakeLocked(found);
}

// What has not begun there is over: that was posted before this.
void ValueStore::Cancel(BatchId batch) {
  thread_->Run([&] { ongoing_->Cancel(batch); });
}

bool ValueStore::connected() const {
  const std::lock_guard lock(mutex_);
  return connected_;
}

std::string ValueStore::lost_reason() const {
  const std::lock_guard lock(mutex_);
  return lost_reason_;
}

}  // namespace kvcast
