#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "kvcast/engine/c_call.h"
#include "kvcast/engine/value_store.h"
#include "kvcast/io/clock.h"

// The store's part of the C interface.
struct kvcast_store {
  std::unique_ptr<kvcast::ValueStore> values;
};

namespace kvcast {
namespace {

int32_t ItemStatusOf(ValueOutcome outcome) {
  switch (outcome) {
    case ValueOutcome::kPending:
      return KVCAST_ITEM_PENDING;
    case ValueOutcome::kLoaded:
      return KVCAST_ITEM_LOADED;
    case ValueOutcome::kStored:
      return KVCAST_ITEM_STORED;
    case ValueOutcome::kHeld:
      return KVCAST_ITEM_HELD;
    case ValueOutcome::kAbsent:
      return KVCAST_ITEM_ABSENT;
    case ValueOutcome::kDamaged:
      return KVCAST_ITEM_DAMAGED;
    case ValueOutcome::kOtherSize:
      return KVCAST_ITEM_OTHER_SIZE;
    case ValueOutcome::kTooLate:
      return KVCAST_ITEM_LATE;
    case ValueOutcome::kRefused:
      return KVCAST_ITEM_REFUSED;
    case ValueOutcome::kCancelled:
      return KVCAST_ITEM_CANCELLED;
    case ValueOutcome::kNodeLost:
      return KVCAST_ITEM_LOST;
    case ValueOutcome::kInvalid:
      return KVCAST_ITEM_INVALID;
  }
  return KVCAST_ITEM_INVALID;
}

Error NoStore() {
  return Error(ErrorCode::kInvalid, "There is no store, or no place for a result.");
}

// A batch as it was given, in our own words.
struct GivenBatch {
  ValueBatch batch;
  std::vector<ValueItem> items;

  static Result<GivenBatch> Of(const kvcast_batch* batch);
};

Result<ValueItem> ItemOf(const std::byte* at, size_t bytes) {
  kvcast_item item{};
  std::memcpy(&item, at, std::min(bytes, sizeof(item)));
  KVCAST_TRY(const std::span<const std::byte> key, BytesOf(item.key, item.key_bytes));
  return ValueItem{key, item.region, item.offset, item.bytes};
}

Result<GivenBatch> GivenBatch::Of(const kvcast_batch* batch) {
  constexpr size_t kFirstBytes = offsetof(kvcast_batch, durability) + sizeof(int32_t);
  constexpr size_t kItemBytes = offsetof(kvcast_item, bytes) + sizeof(uint64_t);
  KVCAST_TRY(const kvcast_batch given, Given(batch, kFirstBytes));
  if (given.kind < KVCAST_LOOKUP || given.kind > KVCAST_GET ||
      (given.flags & ~uint32_t{KVCAST_KEYS_ARE_NAMES}) != 0 ||
      given.durability < KVCAST_IN_MEMORY || given.durability > KVCAST_IN_BUCKET) {
    return Error(ErrorCode::kUnsupported, "A batch of this kind is none that this version knows.");
  }
  if (given.count > ValueStore::kItemsMax) {
    return Error(ErrorCode::kTooLarge, "A batch has at most 65,536 items.");
  }
  if (given.count > 0 && (given.items == nullptr || given.item_size < kItemBytes)) {
    return Error(ErrorCode::kInvalid, "A batch has items, and item_size is sizeof(kvcast_item).");
  }
  KVCAST_TRY(const std::span<const std::byte> salt, BytesOf(given.salt, given.salt_bytes));
  GivenBatch taken;
  taken.items.reserve(given.count);
  for (size_t i = 0; i < given.count; ++i) {
    const auto* first = reinterpret_cast<const std::byte*>(given.items);
    KVCAST_TRY(const ValueItem item, ItemOf(first + i * given.item_size, given.item_size));
    taken.items.push_back(item);
  }
  ValueBatch& terms = taken.batch;
  terms.kind = static_cast<ValueBatch::Kind>(given.kind);
  terms.deadline = DeadlineOf(given.timeout_us);
  terms.keys_are_names = (given.flags & KVCAST_KEYS_ARE_NAMES) != 0;
  terms.salt = AsText(salt);
  terms.durability = static_cast<Durability>(given.durability);
  return taken;
}

Result<BatchId> SubmitTo(ValueStore& store, const kvcast_batch* batch) {
  KVCAST_TRY(GivenBatch given, GivenBatch::Of(batch));
  given.batch.items = given.items;
  return store.Submit(given.batch);
}

// Absent results are still to come.
kvcast_code TellItems(const std::optional<std::vector<ValueResult>>& results, int32_t* statuses,
                      uint64_t* sizes, size_t count) {
  if (!results) {
    return KVCAST_PENDING;
  }
  for (size_t i = 0; i < std::min(count, results->size()); ++i) {
    if (statuses != nullptr) {
      statuses[i] = ItemStatusOf((*results)[i].outcome);
    }
    if (sizes != nullptr) {
      sizes[i] = (*results)[i].length;
    }
  }
  return KVCAST_OK;
}

Result<kvcast_code> Open(const kvcast_node* node, const kvcast_format* format,
                         kvcast_store** store) {
  constexpr size_t kFirstBytes = offsetof(kvcast_format, block_tokens) + sizeof(uint32_t);
  if (store == nullptr) {
    return NoStore();
  }
  *store = nullptr;
  KVCAST_TRY(NodeTerms terms, NodeTerms::Of(node));
  KVCAST_TRY(const kvcast_format given, Given(format, kFirstBytes));
  KVCAST_TRY(const std::span<const std::byte> layout, BytesOf(given.layout, given.layout_bytes));
  ValueStore::Options options{
      std::move(terms.addresses),
      terms.tenant,
      terms.key,
      {TextOf(given.model), std::string(AsText(layout)), given.block_tokens},
      terms.patience,
      terms.index_bytes_max};
  auto opened = std::make_unique<kvcast_store>();
  KVCAST_TRY(opened->values, ValueStore::Open(options));
  *store = opened.release();
  return KVCAST_OK;
}

}  // namespace
}  // namespace kvcast

using kvcast::Guarded;
using kvcast::NoStore;
using kvcast::Result;

extern "C" {

kvcast_code kvcast_store_open(const kvcast_node* node, const kvcast_format* format,
                              kvcast_store** store) {
  return Guarded([&] { return kvcast::Open(node, format, store); });
}

void kvcast_store_close(kvcast_store* store) {
  (void)Guarded([&]() -> Result<kvcast_code> {
    delete store;
    return KVCAST_OK;
  });
}

kvcast_code kvcast_store_register(kvcast_store* store, void* base, size_t bytes, uint32_t* region) {
  return Guarded([&]() -> Result<kvcast_code> {
    if (store == nullptr || region == nullptr) {
      return NoStore();
    }
    KVCAST_TRY(*region, store->values->Register({static_cast<std::byte*>(base), bytes}));
    return KVCAST_OK;
  });
}

kvcast_code kvcast_store_unregister(kvcast_store* store, uint32_t region) {
  return Guarded([&]() -> Result<kvcast_code> {
    if (store == nullptr) {
      return NoStore();
    }
    KVCAST_TRY_VOID(store->values->Unregister(region));
    return KVCAST_OK;
  });
}

const char* kvcast_item_text(int32_t status) {
  if (status == KVCAST_ITEM_LOSSY) {  // Values are never.
    return "lossy";
  }
  for (int i = 0; i <= static_cast<int>(kvcast::ValueOutcome::kInvalid); ++i) {
    const auto outcome = static_cast<kvcast::ValueOutcome>(i);
    if (kvcast::ItemStatusOf(outcome) == status) {
      return kvcast::ToString(outcome).data();  // A literal, and so ended by a zero.
    }
  }
  return status == KVCAST_ITEM_NOT_DURABLE ? "not durable" : "unknown";
}

kvcast_code kvcast_store_submit(kvcast_store* store, const kvcast_batch* batch, uint64_t* id) {
  return Guarded([&]() -> Result<kvcast_code> {
    if (store == nullptr || id == nullptr) {
      return NoStore();
    }
    KVCAST_TRY(*id, kvcast::SubmitTo(*store->values, batch));
    return KVCAST_OK;
  });
}

kvcast_code kvcast_store_wait(kvcast_store* store, uint64_t id, int64_t timeout_us,
                              int32_t* statuses, uint64_t* sizes, size_t count) {
  return Guarded([&]() -> Result<kvcast_code> {
    if (store == nullptr) {
      return NoStore();
    }
    KVCAST_TRY(const auto results, timeout_us <= 0
                                       ? store->values->Take(id)
                                       : store->values->Wait(id, kvcast::After(timeout_us)));
    return kvcast::TellItems(results, statuses, sizes, count);
  });
}

kvcast_code kvcast_store_ended(kvcast_store* store, uint64_t* id) {
  return Guarded([&]() -> Result<kvcast_code> {
    if (store == nullptr || id == nullptr) {
      return NoStore();
    }
    const std::optional<kvcast::BatchId> ended = store->values->Ended();
    *id = ended.value_or(0);
    return ended ? KVCAST_OK : KVCAST_PENDING;
  });
}

int kvcast_store_fd(const kvcast_store* store) {
  return store == nullptr ? -1 : store->values->descriptor();
}

kvcast_code kvcast_store_cancel(kvcast_store* store, uint64_t id) {
  return Guarded([&]() -> Result<kvcast_code> {
    if (store == nullptr) {
      return NoStore();
    }
    store->values->Cancel(id);
    return KVCAST_OK;
  });
}

kvcast_code kvcast_store_run(kvcast_store* store, const kvcast_batch* batch, int32_t* statuses,
                             uint64_t* sizes) {
  return Guarded([&]() -> Result<kvcast_code> {
    if (store == nullptr) {
      return NoStore();
    }
    KVCAST_TRY(const kvcast::BatchId id, kvcast::SubmitTo(*store->values, batch));
    while (true) {  // It ends itself, at its deadline.
      KVCAST_TRY(const auto results,
                 store->values->Wait(id, kvcast::Now() + std::chrono::minutes(1)));
      if (results) {
        return kvcast::TellItems(results, statuses, sizes, results->size());
      }
    }
  });
}

size_t kvcast_leading(const int32_t* statuses, size_t count) {
  size_t leading = 0;
  while (leading < count && statuses[leading] > 0) {
    ++leading;
  }
  return leading;
}

int kvcast_store_connected(const kvcast_store* store) {
  return store != nullptr && store->values->connected() ? 1 : 0;
}

kvcast_code kvcast_store_chain(const kvcast_store* store, const kvcast_bytes* hashes, size_t count,
                               const void* before, uint64_t blocks_before, const void* salt,
                               size_t salt_bytes, void* names) {
  return Guarded([&]() -> Result<kvcast_code> {
    if (store == nullptr || (count > 0 && (hashes == nullptr || names == nullptr))) {
      return NoStore();
    }
    std::vector<std::span<const std::byte>> given;
    for (size_t i = 0; i < count; ++i) {
      KVCAST_TRY(const std::span<const std::byte> hash,
                 kvcast::BytesOf(hashes[i].data, hashes[i].bytes));
      given.push_back(hash);
    }
    KVCAST_TRY(const std::span<const std::byte> salted, kvcast::BytesOf(salt, salt_bytes));
    std::optional<kvcast::BlockHash> last;
    if (before != nullptr) {
      last.emplace();
      std::memcpy(last->bytes.data(), before, kvcast::Digest::kBytes);
    }
    KVCAST_TRY(const std::vector<kvcast::BlockHash> chain,
               store->values->Chain(given, last, blocks_before, kvcast::AsText(salted)));
    for (size_t i = 0; i < chain.size(); ++i) {
      std::memcpy(static_cast<std::byte*>(names) + i * kvcast::Digest::kBytes,
                  chain[i].bytes.data(), kvcast::Digest::kBytes);
    }
    return KVCAST_OK;
  });
}

}  // extern "C"
