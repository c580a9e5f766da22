#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "kvcast/base/time.h"
#include "kvcast/store/counted_allocator.h"
#include "kvcast/store/ram_index.h"

namespace kvcast {

// Whoever asked for something to stay, as the caller numbers them.
using PinOwner = uint64_t;

// Which groups are to stay, for whom and until when. A group stays until its last owner lets go of
// it.
class PinBook {
 public:
  PinBook() = default;
  PinBook(const PinBook&) = delete;
  PinBook& operator=(const PinBook&) = delete;

  bool Has(const RamGroup& group, PinOwner owner) const {
    return pins_.contains({group.serial, owner});
  }
  // Once more by the same owner: the new time counts. True if nobody had pinned it before.
  bool Add(RamGroup& group, PinOwner owner, Instant until);
  // The groups that nobody holds any more, in the order in which they came.
  std::vector<RamGroup*> RemoveOwner(PinOwner owner);
  // Those whose time has come. In the order of time.
  std::vector<RamGroup*> RemoveDue(Instant now);
  // Whoever holds it. REQUIRES: somebody does.
  void RemoveGroup(RamGroup& group);

  std::optional<Instant> next() const;
  size_t bytes() const { return sizeof(*this) + bytes_; }
  // What pins keep from being evicted, with what they cost themselves.
  uint64_t pinned_bytes() const { return group_bytes_ + bytes_; }

 private:
  struct Pin {
    RamGroup* group = nullptr;
    Instant until;
  };
  using Key = std::pair<uint64_t, PinOwner>;  // The group's serial, then whose.
  using OwnerKey = std::pair<PinOwner, uint64_t>;
  using TimeKey = std::tuple<Instant, PinOwner, uint64_t>;
  using Pins = std::map<Key, Pin, std::less<>, CountedAllocator<std::pair<const Key, Pin>>>;
  using Owners = std::set<OwnerKey, std::less<>, CountedAllocator<OwnerKey>>;
  using Times = std::set<TimeKey, std::less<>, CountedAllocator<TimeKey>>;

  // True if it was the group's last.
  bool Remove(Pins::iterator pin);

  size_t bytes_ = 0;
  uint64_t group_bytes_ = 0;
  Pins pins_{CountedAllocator<std::pair<const Key, Pin>>(&bytes_)};
  Owners owners_{CountedAllocator<OwnerKey>(&bytes_)};
  Times times_{CountedAllocator<TimeKey>(&bytes_)};

 public:
  // What each pin costs, with three nodes of trees as libstdc++ and libc++ make them.
  static constexpr size_t kPinBytes =
      sizeof(Pins::value_type) + sizeof(OwnerKey) + sizeof(TimeKey) + 3 * 4 * sizeof(void*);
};

}  // namespace kvcast
