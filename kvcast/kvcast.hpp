// kvcast: share KV caches between inference engines. The C++ interface of libkvcast.
//
//   auto store = kvcast::Store::Open({.address = "cache-1:4443#5f0c..."}, {.model = "m", ...});
//   auto region = store->Register(memory);
//   store->Put(items);                            // Each waits, for a deadline at most,
//   for (auto status : *store->Get(items)) ...    // and gives a status for each item.
//
// Over the C interface (kvcast.h) and nothing else: it adds no symbols to the library, and works
// with every compiler that has C++17. What is said there of threads, deadlines and memory holds
// here. No function throws, but for what std::vector and std::string may.
#ifndef KVCAST_KVCAST_HPP_
#define KVCAST_KVCAST_HPP_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kvcast/kvcast.h"

namespace kvcast {
inline namespace v0 {

using Microseconds = std::chrono::microseconds;
using Name = std::string;  // Of a block: 32 bytes.

// Why something cannot be done.
struct Failure {
  kvcast_code code = KVCAST_OK;
  std::string message;  // A sentence for a person.
};

// A value, or why there is none.
template <typename T>
class [[nodiscard]] Expected {
 public:
  Expected(T value) : value_(std::move(value)) {}              // NOLINT: implicit
  Expected(Failure failure) : failure_(std::move(failure)) {}  // NOLINT: implicit

  explicit operator bool() const { return value_.has_value(); }
  // Only where there is one.
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }
  const Failure& failure() const { return failure_; }

 private:
  std::optional<T> value_;
  Failure failure_;
};

// For all handles of this process together. See kvcast_set_codec_threads.
inline void SetCodecThreads(uint32_t threads) { kvcast_set_codec_threads(threads); }

// Where a node is, and who asks. See kvcast_node.
struct Node {
  std::string address;
  std::string authorities{};
  std::string certificate{};
  std::string certificate_key{};
  std::string token{};
  std::string tenant{};                        // Empty: "public".
  std::string naming_key{};                    // 32 bytes, of any other tenant.
  std::chrono::milliseconds patience{10'000};  // None: nobody waits.
  uint64_t index_bytes_max = 0;
  std::vector<std::string> others{};  // Addresses of nodes that will do as well, the best first.
  uint64_t prefetch_bytes_max = 0;
  bool own_connection = false;  // Of a cache: shared with no other.
};

enum class Durability : int32_t {
  kMemory = KVCAST_IN_MEMORY,
  kDisk = KVCAST_ON_DISK,
  kBucket = KVCAST_IN_BUCKET
};

// What became of an item. Those that are above kPending are as they were wanted.
enum class Status : int32_t {
  kPending = KVCAST_ITEM_PENDING,
  kLoaded = KVCAST_ITEM_LOADED,
  kStored = KVCAST_ITEM_STORED,
  kHeld = KVCAST_ITEM_HELD,
  kAbsent = KVCAST_ITEM_ABSENT,
  kDamaged = KVCAST_ITEM_DAMAGED,
  kOtherSize = KVCAST_ITEM_OTHER_SIZE,
  kLate = KVCAST_ITEM_LATE,
  kRefused = KVCAST_ITEM_REFUSED,
  kCancelled = KVCAST_ITEM_CANCELLED,
  kLost = KVCAST_ITEM_LOST,
  kInvalid = KVCAST_ITEM_INVALID,
  kLossy = KVCAST_ITEM_LOSSY,
  kNotDurable = KVCAST_ITEM_NOT_DURABLE
};
inline bool IsGood(Status status) { return status > Status::kPending; }
inline const char* ToString(Status status) {
  return kvcast_item_text(static_cast<int32_t>(status));
}
// How many, from the first on, are good: of a lookup, the longest prefix.
inline size_t Leading(const std::vector<Status>& statuses) {
  size_t leading = 0;
  while (leading < statuses.size() && IsGood(statuses[leading])) {
    ++leading;
  }
  return leading;
}

namespace detail {

inline Failure FailureOf(kvcast_code code) { return {code, kvcast_message()}; }
inline const char* TextOrNull(const std::string& text) {
  return text.empty() ? nullptr : text.c_str();
}
// The same in C, with what it points to. May be moved, and not copied.
struct GivenNode {
  GivenNode() = default;
  GivenNode(GivenNode&&) = default;

  kvcast_node node{};
  std::vector<const char*> others{};
};
inline GivenNode NodeOf(const Node& node) {
  GivenNode whole;
  for (const std::string& other : node.others) {
    whole.others.push_back(other.c_str());
  }
  kvcast_node& given = whole.node;
  given.struct_size = sizeof(given);
  given.address = node.address.c_str();
  given.authorities = TextOrNull(node.authorities);
  given.certificate = TextOrNull(node.certificate);
  given.certificate_key = TextOrNull(node.certificate_key);
  given.token = TextOrNull(node.token);
  given.tenant = TextOrNull(node.tenant);
  given.naming_key = node.naming_key.size() == 32 ? node.naming_key.data() : nullptr;
  given.patience_ms = node.patience.count() > 0 ? node.patience.count() : -1;
  given.index_bytes_max = node.index_bytes_max;
  given.others = whole.others.data();
  given.other_count = whole.others.size();
  given.prefetch_bytes_max = node.prefetch_bytes_max;
  given.own_connection = node.own_connection ? 1 : 0;
  return whole;
}

}  // namespace detail

}  // namespace v0
}  // namespace kvcast

#include "kvcast/kvcast_cache.hpp"  // IWYU pragma: export
#include "kvcast/kvcast_store.hpp"  // IWYU pragma: export

#endif  // KVCAST_KVCAST_HPP_
