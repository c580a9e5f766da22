#pragma once

#include <cstdint>
#include <list>

#include "kvcast/store/eviction.h"
#include "kvcast/store/ghost_list.h"

namespace kvcast {

// S3-FIFO (Yang et al., SOSP 2023): newcomers pass through a small queue, a tenth of the tier,
// which only those leave for the main queue that were used there; the others go, and are
// remembered, and enter the main queue if they come again. In the main queue, each use up to three
// gives one more round. Ghosts stand for as many bytes as the tier has.
//
// What is unpinned goes to the end of its queue.
class S3Fifo final : public Eviction {
 public:
  explicit S3Fifo(const EvictionLimits& limits);

  void Insert(const StoredGroup& group) override;
  void Hit(uint64_t handle) override;
  void Resize(uint64_t handle, uint64_t bytes) override;
  void Pin(uint64_t handle) override;
  void Unpin(uint64_t handle) override;
  void Evict(uint64_t handle) override;
  void Forget(uint64_t handle) override;
  std::optional<uint64_t> Victim() override;
  size_t bytes() const override { return sizeof(*this) + bytes_ + ghosts_.bytes(); }
  size_t ghost_count() const override { return ghosts_.size(); }

 private:
  struct Entry;
  using Order = std::list<Entry*, CountedAllocator<Entry*>>;
  enum class Queue : uint8_t { kSmall, kMain };
  struct Entry {
    uint64_t handle = 0;
    uint64_t bytes = 0;
    Queue queue = Queue::kSmall;
    uint8_t uses = 0;
    bool pinned = false;
    Order::iterator place;
  };

  // For a call that may change who goes next.
  Entry& At(uint64_t handle);
  std::optional<uint64_t> Turn();
  Order& OrderOf(const Entry& entry);
  void Promote(Entry& entry);

  uint64_t small_bytes_max_;
  uint64_t small_bytes_ = 0;  // With what is pinned there.
  size_t bytes_ = 0;
  Order small_;  // Fronts leave first.
  Order main_;
  Order pinned_;
  GhostList ghosts_;
  HandleMap<Entry> entries_;
  std::optional<uint64_t> next_;  // Looking for a victim moves the queues, so it is done once.
};

}  // namespace kvcast
