#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>

#include "kvcast/object/object.h"

namespace kvcast::moqt {

// How the objects of one group came, as runs of those that came the same way: one that comes again
// must come so again. Bounded: beyond so many runs, the lowest is forgotten.
class ObjectWays {
 public:
  explicit ObjectWays(size_t runs_max) : runs_max_(runs_max) {}

  size_t run_count() const { return runs_.size(); }

  // False if it has come another way.
  bool Add(const Object& object) {
    const uint64_t id = object.location.object;
    const Way way{
        object.forwarding == Forwarding::kSubgroup ? std::optional(object.subgroup) : std::nullopt,
        object.priority};
    const auto after = runs_.upper_bound(id);
    const auto before = after == runs_.begin() ? runs_.end() : std::prev(after);
    if (before != runs_.end() && id <= before->second.last) {
      return before->second.way == way;
    }
    if (before != runs_.end() && before->second.last + 1 == id && before->second.way == way) {
      before->second.last = id;
    } else {
      runs_.emplace_hint(after, id, Run{id, way});
    }
    if (runs_.size() > runs_max_) {
      runs_.erase(runs_.begin());
    }
    return true;
  }

 private:
  struct Way {
    std::optional<uint64_t> subgroup;  // Absent: alone, in a datagram.
    uint8_t priority;

    friend bool operator==(const Way&, const Way&) = default;
  };
  struct Run {
    uint64_t last;
    Way way;
  };

  size_t runs_max_;
  std::map<uint64_t, Run> runs_;  // By the first.
};

}  // namespace kvcast::moqt
