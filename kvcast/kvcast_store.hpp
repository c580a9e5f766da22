// An engine that brings its own keys, layout and memory. Included by kvcast.hpp.
#ifndef KVCAST_KVCAST_STORE_HPP_
#define KVCAST_KVCAST_STORE_HPP_

#include "kvcast/kvcast.hpp"

namespace kvcast {
inline namespace v0 {

// Of a batch.
struct StoreTerms {
  Microseconds timeout{30'000'000};
  std::string_view salt{};  // Keeps its names apart from all others.
  Durability durability = Durability::kMemory;
  bool keys_are_names = false;  // As Store::Chain() gives them.
};

// For engines that bring their own keys, layout and host memory. See kvcast_store.
class Store {
 public:
  struct Format {
    std::string model;
    std::string layout;
    uint32_t block_tokens = 16;
  };
  // Of a batch: a key, and where its bytes are or are to go. A lookup has no use for a place.
  struct Item {
    std::string_view key;
    uint32_t region = 0;
    uint64_t offset = 0;
    uint64_t bytes = 0;
  };
  enum class Kind : int32_t { kLookup = KVCAST_LOOKUP, kPut = KVCAST_PUT, kGet = KVCAST_GET };
  using Terms = StoreTerms;
  using Batch = uint64_t;

  static Expected<Store> Open(const Node& node, const Format& format) {
    const detail::GivenNode where = detail::NodeOf(node);
    kvcast_format given{};
    given.struct_size = sizeof(given);
    given.model = format.model.c_str();
    given.layout = format.layout.data();
    given.layout_bytes = format.layout.size();
    given.block_tokens = format.block_tokens;
    kvcast_store* store = nullptr;
    const kvcast_code code = kvcast_store_open(&where.node, &given, &store);
    return code == KVCAST_OK ? Expected<Store>(Store(store)) : detail::FailureOf(code);
  }

  Expected<uint32_t> Register(void* base, size_t bytes) {
    uint32_t region = 0;
    const kvcast_code code = kvcast_store_register(store_.get(), base, bytes, &region);
    return Given(code, region);
  }
  // Fails while a batch is under way that uses it.
  bool Unregister(uint32_t region) {
    return kvcast_store_unregister(store_.get(), region) == KVCAST_OK;
  }

  // Each waits until the batch is over, which is its deadline at most, and gives a status for each.
  Expected<std::vector<Status>> Put(const std::vector<Item>& items, const Terms& terms = Terms()) {
    return Run(Kind::kPut, items, terms);
  }
  Expected<std::vector<Status>> Get(const std::vector<Item>& items, const Terms& terms = Terms()) {
    return Run(Kind::kGet, items, terms);
  }
  // Asks nobody.
  Expected<std::vector<Status>> Lookup(const std::vector<Item>& items,
                                       const Terms& terms = Terms()) {
    return Run(Kind::kLookup, items, terms);
  }

  // The same without waiting: Submit(), then wait for descriptor(), or ask Wait() without a
  // timeout.
  Expected<Batch> Submit(Kind kind, const std::vector<Item>& items, const Terms& terms = Terms()) {
    const std::vector<kvcast_item> given = ItemsOf(items);
    const kvcast_batch batch = BatchOf(kind, given, terms);
    Batch id = 0;
    const kvcast_code code = kvcast_store_submit(store_.get(), &batch, &id);
    return Given(code, id);
  }
  // Empty while it is under way; a batch is given once. REQUIRES: `count` items were submitted.
  Expected<std::vector<Status>> Wait(Batch batch, size_t count, Microseconds timeout = {}) {
    std::vector<int32_t> statuses(count);
    const kvcast_code code =
        kvcast_store_wait(store_.get(), batch, timeout.count(), statuses.data(), nullptr, count);
    return code == KVCAST_PENDING ? Given(KVCAST_OK, std::vector<Status>())
                                  : Given(code, StatusesOf(statuses));
  }
  // A batch that is over and has not been waited for.
  std::optional<Batch> Ended() {
    Batch id = 0;
    return kvcast_store_ended(store_.get(), &id) == KVCAST_OK ? std::optional<Batch>(id)
                                                              : std::nullopt;
  }
  // Can be read while there is one.
  int descriptor() const { return kvcast_store_fd(store_.get()); }
  // When this returns the batch is over.
  void Cancel(Batch batch) { (void)kvcast_store_cancel(store_.get(), batch); }

  // Names for blocks whose hashes say nothing of what stands before them. See kvcast_store_chain().
  Expected<std::vector<Name>> Chain(const std::vector<std::string_view>& hashes,
                                    const Name& before = {}, uint64_t blocks_before = 0,
                                    std::string_view salt = {}) const {
    std::vector<kvcast_bytes> given;
    for (const std::string_view hash : hashes) {
      given.push_back({hash.data(), hash.size()});
    }
    std::string all(hashes.size() * 32, '\0');
    const kvcast_code code = kvcast_store_chain(
        store_.get(), given.data(), given.size(), before.size() == 32 ? before.data() : nullptr,
        blocks_before, salt.data(), salt.size(), all.data());
    std::vector<Name> names;
    for (size_t i = 0; i < hashes.size(); ++i) {
      names.push_back(all.substr(32 * i, 32));
    }
    return Given(code, std::move(names));
  }

  bool connected() const { return kvcast_store_connected(store_.get()) != 0; }
  // For what this header does not have.
  kvcast_store* handle() { return store_.get(); }

 private:
  struct Close {
    void operator()(kvcast_store* store) const { kvcast_store_close(store); }
  };
  explicit Store(kvcast_store* store) : store_(store) {}

  template <typename T>
  static Expected<T> Given(kvcast_code code, T value) {
    return code == KVCAST_OK ? Expected<T>(std::move(value)) : detail::FailureOf(code);
  }
  static std::vector<kvcast_item> ItemsOf(const std::vector<Item>& items) {
    std::vector<kvcast_item> given;
    given.reserve(items.size());
    for (const Item& item : items) {
      given.push_back({item.key.data(), item.key.size(), item.region, 0, item.offset, item.bytes});
    }
    return given;
  }
  static kvcast_batch BatchOf(Kind kind, const std::vector<kvcast_item>& items,
                              const Terms& terms) {
    kvcast_batch batch{};
    batch.struct_size = sizeof(batch);
    batch.kind = static_cast<int32_t>(kind);
    batch.flags = terms.keys_are_names ? uint32_t{KVCAST_KEYS_ARE_NAMES} : 0u;
    batch.items = items.data();
    batch.item_size = sizeof(kvcast_item);
    batch.count = items.size();
    batch.timeout_us = terms.timeout.count() > 0 ? terms.timeout.count() : -1;
    batch.salt = terms.salt.data();
    batch.salt_bytes = terms.salt.size();
    batch.durability = static_cast<int32_t>(terms.durability);
    return batch;
  }
  static std::vector<Status> StatusesOf(const std::vector<int32_t>& given) {
    std::vector<Status> statuses;
    for (const int32_t status : given) {
      statuses.push_back(static_cast<Status>(status));
    }
    return statuses;
  }
  Expected<std::vector<Status>> Run(Kind kind, const std::vector<Item>& items, const Terms& terms) {
    const std::vector<kvcast_item> given = ItemsOf(items);
    const kvcast_batch batch = BatchOf(kind, given, terms);
    std::vector<int32_t> statuses(items.size());
    const kvcast_code code = kvcast_store_run(store_.get(), &batch, statuses.data(), nullptr);
    return Given(code, StatusesOf(statuses));
  }

  std::unique_ptr<kvcast_store, Close> store_;
};

}  // namespace v0
}  // namespace kvcast

#endif  // KVCAST_KVCAST_STORE_HPP_
