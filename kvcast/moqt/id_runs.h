#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>

namespace kvcast::moqt {

// A set of numbers that mostly follow each other, as runs. Bounded: beyond so many runs, the lowest
// is forgotten.
class IdRuns {
 public:
  explicit IdRuns(size_t runs_max) : runs_max_(runs_max) {}

  bool empty() const { return runs_.empty(); }
  size_t run_count() const { return runs_.size(); }
  // REQUIRES: !empty().
  uint64_t largest() const { return runs_.rbegin()->second; }

  // Whether any of `first` to `last`, both included, is in it.
  bool Overlaps(uint64_t first, uint64_t last) const {
    const auto after = runs_.upper_bound(last);
    return after != runs_.begin() && std::prev(after)->second >= first;
  }
  bool Contains(uint64_t id) const { return Overlaps(id, id); }
  // The last of the run that `id` is in; absent if it is in none.
  std::optional<uint64_t> RunEnd(uint64_t id) const {
    const auto after = runs_.upper_bound(id);
    const bool in_run = after != runs_.begin() && std::prev(after)->second >= id;
    return in_run ? std::optional(std::prev(after)->second) : std::nullopt;
  }
  // How many there are below `end`.
  uint64_t CountBelow(uint64_t end) const {
    uint64_t count = 0;
    for (const auto& [first, last] : runs_) {
      if (first >= end) {
        break;
      }
      count += (last < end ? last + 1 : end) - first;
    }
    return count;
  }

  // REQUIRES: first <= last.
  void Add(uint64_t first, uint64_t last) {
    auto at = runs_.upper_bound(first);
    if (at != runs_.begin() && (first == 0 || std::prev(at)->second >= first - 1)) {
      at = std::prev(at);
      first = at->first;
    }
    while (at != runs_.end() && (at->first <= last || at->first == last + 1)) {
      last = at->second > last ? at->second : last;
      at = runs_.erase(at);
    }
    runs_.emplace(first, last);
    if (runs_.size() > runs_max_) {
      runs_.erase(runs_.begin());
    }
  }
  // All between the lowest run and the next is in it from now on. REQUIRES: run_count() > 1.
  void FillLowestGap() {
    const auto second = std::next(runs_.begin());
    runs_.begin()->second = second->second;
    runs_.erase(second);
  }
  // Forgets the runs that end before `id`.
  void ForgetBelow(uint64_t id) {
    while (!runs_.empty() && runs_.begin()->second < id) {
      runs_.erase(runs_.begin());
    }
  }

 private:
  size_t runs_max_;
  std::map<uint64_t, uint64_t> runs_;  // First to last.
};

}  // namespace kvcast::moqt
