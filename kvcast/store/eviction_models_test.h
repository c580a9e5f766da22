#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "kvcast/store/eviction.h"
#include "kvcast/store/reuse_table.h"

namespace kvcast {

// What each policy must answer, worked out by looking at everything there is, each time.
class EvictionModel {
 public:
  virtual ~EvictionModel() = default;
  virtual void Insert(const StoredGroup& group) = 0;
  virtual void Hit(uint64_t handle) = 0;
  virtual void Resize(uint64_t handle, uint64_t bytes) = 0;
  virtual void Pin(uint64_t handle) = 0;
  virtual void Unpin(uint64_t handle) = 0;
  virtual void Leave(uint64_t handle, bool remembered) = 0;
  virtual std::optional<uint64_t> Victim() = 0;
};

struct ModelEntry {
  StoredGroup group;
  uint64_t uses = 1;
  uint64_t used_at = 0;
  bool pinned = false;
  bool held = true;
  bool last = false;
  size_t age = 0;
  bool main = false;
};

// LRU, or LFU with LRU among equals.
class CountingModel final : public EvictionModel {
 public:
  explicit CountingModel(bool by_uses) : by_uses_(by_uses) {}

  void Insert(const StoredGroup& group) override {
    entries_.push_back({group});
    entries_.back().used_at = ++now_;
  }
  void Hit(uint64_t handle) override {
    ++At(handle).uses;
    At(handle).used_at = ++now_;
  }
  void Resize(uint64_t, uint64_t) override {}
  void Pin(uint64_t handle) override { At(handle).pinned = true; }
  void Unpin(uint64_t handle) override {
    At(handle).pinned = false;
    if (!by_uses_) {
      At(handle).used_at = ++now_;
    }
  }
  void Leave(uint64_t handle, bool) override {
    std::erase_if(entries_, [&](const ModelEntry& entry) { return entry.group.handle == handle; });
  }
  std::optional<uint64_t> Victim() override {
    const ModelEntry* least = nullptr;
    for (const ModelEntry& entry : entries_) {
      if (!entry.pinned && (least == nullptr || Key(entry) < Key(*least))) {
        least = &entry;
      }
    }
    return least == nullptr ? std::nullopt : std::optional(least->group.handle);
  }

 private:
  ModelEntry& At(uint64_t handle) {
    return *std::find_if(entries_.begin(), entries_.end(),
                         [&](const ModelEntry& entry) { return entry.group.handle == handle; });
  }
  std::pair<uint64_t, uint64_t> Key(const ModelEntry& entry) const {
    return {by_uses_ ? entry.uses : 0, entry.used_at};
  }

  bool by_uses_;
  uint64_t now_ = 0;
  std::vector<ModelEntry> entries_;
};

// S3-FIFO on one list of all groups, in the order in which they joined their queue.
class S3FifoModel final : public EvictionModel {
 public:
  explicit S3FifoModel(const EvictionLimits& limits) : limits_(limits) {}

  void Insert(const StoredGroup& group) override {
    looked_ = false;
    ModelEntry entry{group, 0};
    entry.main = std::erase_if(ghosts_, [&](const StoredGroup& ghost) {
                   return ghost.handle == group.handle;
                 }) > 0;
    entries_.push_back(entry);
  }
  void Hit(uint64_t handle) override {
    Find(handle)->uses = std::min<uint64_t>(3, Find(handle)->uses + 1);
  }
  void Resize(uint64_t handle, uint64_t bytes) override { Find(handle)->group.bytes = bytes; }
  void Pin(uint64_t handle) override { Find(handle)->pinned = true; }
  void Unpin(uint64_t handle) override {
    Find(handle)->pinned = false;
    ToEnd(Find(handle));
  }
  void Leave(uint64_t handle, bool remembered) override {
    const auto entry = Find(handle);
    if (remembered && !entry->main) {
      ghosts_.push_back(entry->group);
    }
    entries_.erase(entry);
    uint64_t bytes = 0;
    for (const StoredGroup& ghost : ghosts_) {
      bytes += ghost.bytes;
    }
    while (!ghosts_.empty() && (bytes > limits_.bytes_max || ghosts_.size() > limits_.ghosts_max)) {
      bytes -= ghosts_.front().bytes;
      ghosts_.erase(ghosts_.begin());
    }
  }
  // Looking for a victim moves the queues, so it is done once.
  std::optional<uint64_t> Victim() override {
    if (!looked_) {
      looked_ = true;
      next_ = Turn();
    }
    return next_;
  }

 private:
  using Place = std::vector<ModelEntry>::iterator;

  std::optional<uint64_t> Turn() {
    uint64_t small_bytes = 0;
    for (const ModelEntry& entry : entries_) {
      small_bytes += entry.main ? 0 : entry.group.bytes;
    }
    if (small_bytes > limits_.bytes_max / 10 || Front(true) == entries_.end()) {
      for (auto front = Front(false); front != entries_.end(); front = Front(false)) {
        if (front->uses == 0) {
          return front->group.handle;
        }
        front->main = true;
        front->uses = 0;
        ToEnd(front);
      }
    }
    for (auto front = Front(true); front != entries_.end(); front = Front(true)) {
      if (front->uses == 0) {
        return front->group.handle;
      }
      --front->uses;
      ToEnd(front);
    }
    return std::nullopt;
  }

  Place Find(uint64_t handle) {
    looked_ = false;
    return std::find_if(entries_.begin(), entries_.end(),
                        [&](const ModelEntry& entry) { return entry.group.handle == handle; });
  }
  Place Front(bool main) {
    return std::find_if(entries_.begin(), entries_.end(), [&](const ModelEntry& entry) {
      return !entry.pinned && entry.main == main;
    });
  }
  void ToEnd(Place entry) { std::rotate(entry, entry + 1, entries_.end()); }

  EvictionLimits limits_;
  std::vector<ModelEntry> entries_;
  std::vector<StoredGroup> ghosts_;
  bool looked_ = false;
  std::optional<uint64_t> next_;
};

// Ours. What cells are worth is the table's business, which has tests of its own.
class PrefixModel final : public EvictionModel {
 public:
  explicit PrefixModel(const EvictionLimits& limits) : limits_(limits), table_(limits.bytes_max) {}

  void Insert(const StoredGroup& group) override {
    Pass(group.bytes);
    const bool last = newest_track_ != group.track || group.group >= newest_end_;
    if (last) {
      newest_track_ = group.track;
      newest_end_ = group.group;
    }
    ModelEntry entry{group};
    const auto known = Find(group.handle);
    if (known != entries_.end()) {
      table_.LeaveUsed(CellOf(*known));
      entry.uses = known->uses + 1;
      entries_.erase(known);
    }
    entry.last = last;
    ModelEntry* before = nullptr;
    for (ModelEntry& other : entries_) {
      if (Evictable(other) && other.group.track == group.track && Key(other) < Key(entry) &&
          (before == nullptr || Key(*before) < Key(other))) {
        before = &other;
      }
    }
    if (before != nullptr && before->last) {
      table_.LeaveUnseen(CellOf(*before));
      before->last = false;
      Use(*before);
    }
    entries_.push_back(entry);
    Use(entries_.back());
  }
  void Hit(uint64_t handle) override {
    ModelEntry& entry = *Find(handle);
    Pass(entry.group.bytes);
    table_.LeaveUsed(CellOf(entry));
    ++entry.uses;
    Use(entry);
  }
  void Resize(uint64_t handle, uint64_t bytes) override { Find(handle)->group.bytes = bytes; }
  void Pin(uint64_t handle) override { Find(handle)->pinned = true; }
  void Unpin(uint64_t handle) override { Find(handle)->pinned = false; }
  void Leave(uint64_t handle, bool remembered) override {
    ModelEntry entry = *Find(handle);
    entries_.erase(Find(handle));
    if (!remembered) {
      table_.LeaveUnseen(CellOf(entry));
      return;
    }
    entry.held = entry.pinned = false;
    entries_.push_back(entry);  // Ghosts stand in the order of their eviction.
    while (TooManyGhosts()) {
      const auto oldest = std::find_if(entries_.begin(), entries_.end(),
                                       [](const ModelEntry& ghost) { return !ghost.held; });
      table_.LeaveUnseen(CellOf(*oldest));
      entries_.erase(oldest);
    }
  }
  std::optional<uint64_t> Victim() override {
    for (const uint16_t cell : table_.order()) {
      const ModelEntry* deepest = nullptr;
      for (const ModelEntry& entry : entries_) {
        if (CellOf(entry) == cell && EndsItsTrack(entry) &&
            (deepest == nullptr || Depth(*deepest) < Depth(entry))) {
          deepest = &entry;
        }
      }
      if (deepest != nullptr) {
        return deepest->group.handle;
      }
    }
    return std::nullopt;
  }

 private:
  using Place = std::pair<uint64_t, uint64_t>;

  std::vector<ModelEntry>::iterator Find(uint64_t handle) {
    return std::find_if(entries_.begin(), entries_.end(),
                        [&](const ModelEntry& entry) { return entry.group.handle == handle; });
  }
  static bool Evictable(const ModelEntry& entry) { return entry.held && !entry.pinned; }
  static Place Key(const ModelEntry& entry) { return {entry.group.group, entry.group.handle}; }
  // Deeper, then used longer ago, then of the smaller handle.
  static std::tuple<uint64_t, uint64_t, uint64_t> Depth(const ModelEntry& entry) {
    return {entry.group.group, ~entry.used_at, ~entry.group.handle};
  }
  bool EndsItsTrack(const ModelEntry& entry) const {
    return Evictable(entry) &&
           std::none_of(entries_.begin(), entries_.end(), [&](const ModelEntry& other) {
             return Evictable(other) && other.group.track == entry.group.track &&
                    Key(entry) < Key(other);
           });
  }
  bool TooManyGhosts() const {
    uint64_t bytes = 0;
    size_t count = 0;
    for (const ModelEntry& entry : entries_) {
      bytes += entry.held ? 0 : entry.group.bytes;
      count += entry.held ? 0 : 1;
    }
    return count > 0 && (count > limits_.ghosts_max || bytes / 16 > limits_.bytes_max);
  }
  static size_t CellOf(const ModelEntry& entry) {
    return ReuseTable::CellOf(ReuseTable::KindOf(entry.uses, entry.last), entry.age);
  }
  void Use(ModelEntry& entry) {
    entry.used_at = now_;
    entry.age = 0;
    table_.Enter(CellOf(entry));
  }
  void Pass(uint64_t bytes) {
    now_ += bytes;
    if (now_ < turn_at_) {
      return;
    }
    turn_at_ = now_ + std::max<uint64_t>(1, limits_.bytes_max / 128);
    for (ModelEntry& entry : entries_) {
      while (entry.age + 1 < ReuseTable::kAges &&
             now_ - entry.used_at >= table_.AgeBegin(entry.age + 1)) {
        table_.LeaveOlder(CellOf(entry));
        ++entry.age;
        table_.Enter(CellOf(entry));
      }
    }
    if (now_ >= learn_at_) {
      learn_at_ = now_ + std::max<uint64_t>(1, limits_.bytes_max / 4);
      table_.Learn();
    }
  }

  EvictionLimits limits_;
  ReuseTable table_;
  uint64_t now_ = 0;
  uint64_t turn_at_ = 0;
  uint64_t learn_at_ = 0;
  uint64_t newest_track_ = ~uint64_t{0};
  uint64_t newest_end_ = 0;
  std::vector<ModelEntry> entries_;
};

inline std::unique_ptr<EvictionModel> MakeModel(std::string_view name,
                                                const EvictionLimits& limits) {
  if (name == "s3fifo") {
    return std::make_unique<S3FifoModel>(limits);
  }
  if (name == "default") {
    return std::make_unique<PrefixModel>(limits);
  }
  return std::make_unique<CountingModel>(name == "lfu");
}

}  // namespace kvcast
