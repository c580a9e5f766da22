#include "kvcast/store/s3_fifo.h"

#include <algorithm>

#include "kvcast/base/check.h"

namespace kvcast {
namespace {

constexpr uint64_t kSmallPart = 10;  // One in so many bytes is the small queue's.
constexpr uint8_t kUsesMax = 3;

}  // namespace

S3Fifo::S3Fifo(const EvictionLimits& limits)
    : small_bytes_max_(limits.bytes_max / kSmallPart),
      small_(CountedAllocator<Entry*>(&bytes_)),
      main_(small_),
      pinned_(small_),
      ghosts_(limits.bytes_max, limits.ghosts_max),
      entries_(&bytes_) {}

S3Fifo::Entry& S3Fifo::At(uint64_t handle) {
  Entry* const entry = entries_.Find(handle);
  KVCAST_CHECK(entry != nullptr);
  next_.reset();
  return *entry;
}

S3Fifo::Order& S3Fifo::OrderOf(const Entry& entry) {
  return entry.pinned ? pinned_ : entry.queue == Queue::kSmall ? small_ : main_;
}

void S3Fifo::Insert(const StoredGroup& group) {
  KVCAST_CHECK(entries_.Find(group.handle) == nullptr);
  next_.reset();
  Entry& entry = entries_.Add(group.handle, {});
  entry.handle = group.handle;
  entry.bytes = group.bytes;
  entry.queue = ghosts_.Take(group.handle) ? Queue::kMain : Queue::kSmall;
  if (entry.queue == Queue::kSmall) {
    small_bytes_ += group.bytes;
  }
  Order& order = OrderOf(entry);
  entry.place = order.insert(order.end(), &entry);
}

void S3Fifo::Hit(uint64_t handle) {
  Entry& entry = At(handle);
  entry.uses = static_cast<uint8_t>(std::min<int>(kUsesMax, entry.uses + 1));
}

void S3Fifo::Resize(uint64_t handle, uint64_t bytes) {
  Entry& entry = At(handle);
  if (entry.queue == Queue::kSmall) {
    small_bytes_ += bytes - entry.bytes;
  }
  entry.bytes = bytes;
}

void S3Fifo::Pin(uint64_t handle) {
  Entry& entry = At(handle);
  KVCAST_CHECK(!entry.pinned);
  pinned_.splice(pinned_.end(), OrderOf(entry), entry.place);
  entry.pinned = true;
}

void S3Fifo::Unpin(uint64_t handle) {
  Entry& entry = At(handle);
  KVCAST_CHECK(entry.pinned);
  entry.pinned = false;
  Order& order = OrderOf(entry);
  order.splice(order.end(), pinned_, entry.place);
}

void S3Fifo::Evict(uint64_t handle) {
  const Entry& entry = At(handle);
  // What had its chance in the main queue is not remembered: it would come straight back.
  if (entry.queue == Queue::kSmall) {
    ghosts_.Add(handle, entry.bytes);
  }
  Forget(handle);
}

void S3Fifo::Forget(uint64_t handle) {
  Entry& entry = At(handle);
  if (entry.queue == Queue::kSmall) {
    small_bytes_ -= entry.bytes;
  }
  OrderOf(entry).erase(entry.place);
  entries_.Remove(handle);
}

void S3Fifo::Promote(Entry& entry) {
  main_.splice(main_.end(), small_, entry.place);
  small_bytes_ -= entry.bytes;
  entry.queue = Queue::kMain;
  entry.uses = 0;
}

std::optional<uint64_t> S3Fifo::Victim() {
  if (!next_) {
    next_ = Turn();
  }
  return next_;
}

std::optional<uint64_t> S3Fifo::Turn() {
  if (small_bytes_ > small_bytes_max_ || main_.empty()) {
    while (!small_.empty() && small_.front()->uses > 0) {
      Promote(*small_.front());
    }
    if (!small_.empty()) {
      return small_.front()->handle;
    }
  }
  while (!main_.empty() && main_.front()->uses > 0) {
    --main_.front()->uses;
    main_.splice(main_.end(), main_, main_.begin());
  }
  return main_.empty() ? std::nullopt : std::optional(main_.front()->handle);
}

}  // namespace kvcast
