#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "kvcast/store/counted_allocator.h"

namespace kvcast {

// Values by rising number, in runs of up to 128 that lie side by side.
//
// Numbers mostly come in order and without gaps: then a value is found where its number says, and
// put behind the last. In any other order a value costs the moving of one run: a peer that chooses
// numbers cannot make it cost more. What it grows by is known before, so that room can be made.
//
// The first run is part of the map itself, as each step from one place in memory to another is a
// wait, and most have no second.
//
// Value: movable, with RunNumber(const Value&). Pointers to values last until the next change.
template <typename Value>
class RunMap {
  using Values = std::vector<Value, CountedAllocator<Value>>;
  struct Run {
    uint64_t first = 0;
    Values values;  // Never empty, between calls, but for the first.
  };
  using Runs = std::vector<Run, CountedAllocator<Run>>;

 public:
  static constexpr size_t kRunMax = 128;

  // A place among the values, or the one behind the last.
  struct Place {
    size_t run = 0;
    size_t at = 0;
  };

  explicit RunMap(size_t* bytes)
      : head_{0, Values(CountedAllocator<Value>(bytes))}, more_(CountedAllocator<Run>(bytes)) {}

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  const Value* Find(uint64_t number) const {
    const Run& run = RunAt(RunFor(number));
    const size_t at = WithinRun(run, number);
    return at < run.values.size() && RunNumber(run.values[at]) == number ? &run.values[at]
                                                                         : nullptr;
  }
  Value* Find(uint64_t number) {
    return const_cast<Value*>(std::as_const(*this).Find(number));  // It is ours.
  }
  // The first of this number or a higher one.
  Place From(uint64_t number) const {
    const size_t run = RunFor(number);
    const size_t at = WithinRun(RunAt(run), number);
    return at == RunAt(run).values.size() ? Place{run + 1, 0} : Place{run, at};
  }
  // Null behind the last.
  const Value* At(Place place) const {
    return place.run <= more_.size() && !empty() ? &RunAt(place.run).values[place.at] : nullptr;
  }
  // The one before; null if there is none.
  const Value* Before(Place place) const {
    if (place.at > 0) {
      return &RunAt(place.run).values[place.at - 1];
    }
    return place.run > 0 && !empty() ? &RunAt(place.run - 1).values.back() : nullptr;
  }
  Place Next(Place place) const {
    return place.at + 1 < RunAt(place.run).values.size() ? Place{place.run, place.at + 1}
                                                         : Place{place.run + 1, 0};
  }
  const Value* First() const { return At({}); }
  const Value* Last() const { return Before({more_.size() + 1, 0}); }

  // What Insert() will take of memory; the first one, into an empty map.
  static constexpr size_t GrowthForFirst() { return sizeof(Value); }
  size_t GrowthFor(uint64_t number) const {
    const Values& values = RunAt(RunFor(number)).values;
    if (values.size() < kRunMax) {
      return (CapacityFor(values) - values.capacity()) * sizeof(Value);
    }
    const size_t runs = MoreCapacity() - more_.capacity();
    return runs * sizeof(Run) + (BehindAll(number) ? 1 : kRunMax / 2 + 1) * sizeof(Value);
  }

  // REQUIRES: there is none of its number.
  void Insert(Value value) {
    const uint64_t number = RunNumber(value);
    size_t run = RunFor(number);
    if (RunAt(run).values.size() == kRunMax) {
      const bool behind_all = BehindAll(number);
      AddRunBehind(run);
      run += behind_all || SplitInto(run + 1, number) ? 1u : 0u;
    }
    Values& values = RunAt(run).values;
    values.reserve(CapacityFor(values));
    const size_t at = WithinRun(RunAt(run), number);
    values.insert(values.begin() + static_cast<std::ptrdiff_t>(at), std::move(value));
    RunAt(run).first = RunNumber(values.front());
    ++size_;
  }

  // REQUIRES: there is one.
  void Erase(uint64_t number) {
    const Place place = From(number);
    Values& values = RunAt(place.run).values;
    // By swapping: what is assigned to may keep memory of its own that nobody counts.
    for (size_t at = place.at; at + 1 < values.size(); ++at) {
      std::swap(values[at], values[at + 1]);
    }
    values.pop_back();
    --size_;
    if (!values.empty()) {
      RunAt(place.run).first = RunNumber(values.front());
      return;
    }
    if (more_.empty()) {
      Values(values.get_allocator()).swap(values);
      return;
    }
    if (place.run == 0) {
      std::swap(head_, more_.front());
    }
    more_.erase(more_.begin() + static_cast<std::ptrdiff_t>(std::max<size_t>(place.run, 1) - 1));
    if (more_.empty()) {
      Runs(more_.get_allocator()).swap(more_);
    }
  }

 private:
  const Run& RunAt(size_t run) const { return run == 0 ? head_ : more_[run - 1]; }
  Run& RunAt(size_t run) { return run == 0 ? head_ : more_[run - 1]; }

  // The run that has the number or would take it.
  size_t RunFor(uint64_t number) const {
    const auto above = std::ranges::upper_bound(more_, number, {}, &Run::first);
    return static_cast<size_t>(above - more_.begin());
  }

  // How many of the run stand before the number. Where none is missing, only the one that is looked
  // for is touched.
  static size_t WithinRun(const Run& run, uint64_t number) {
    const Values& values = run.values;
    const uint64_t guess = number - run.first;
    if (guess < values.size() && RunNumber(values[guess]) == number) {
      return guess;
    }
    const auto from = std::ranges::lower_bound(values, number, {},
                                               [](const Value& value) { return RunNumber(value); });
    return static_cast<size_t>(from - values.begin());
  }

  // REQUIRES: there are values.
  bool BehindAll(uint64_t number) const {
    return number > RunNumber(RunAt(more_.size()).values.back());
  }

  // For one more. REQUIRES: the run is not full.
  static size_t CapacityFor(const Values& values) {
    if (values.size() < values.capacity()) {
      return values.capacity();
    }
    return std::clamp<size_t>(2 * values.capacity(), 1, kRunMax);
  }
  size_t MoreCapacity() const {
    return more_.size() < more_.capacity() ? more_.capacity()
                                           : std::max<size_t>(1, 2 * more_.capacity());
  }

  void AddRunBehind(size_t run) {
    more_.reserve(MoreCapacity());
    more_.insert(more_.begin() + static_cast<std::ptrdiff_t>(run),
                 Run{0, Values(head_.values.get_allocator())});
  }

  // Moves the upper half of a full run to the empty one behind it; whether the number goes there.
  bool SplitInto(size_t run, uint64_t number) {
    Values& full = RunAt(run - 1).values;
    Values& upper = RunAt(run).values;
    upper.reserve(kRunMax / 2 + 1);
    std::move(full.begin() + kRunMax / 2, full.end(), std::back_inserter(upper));
    full.erase(full.begin() + kRunMax / 2, full.end());
    RunAt(run).first = RunNumber(upper.front());
    return number >= RunAt(run).first;
  }

  Run head_;
  Runs more_;
  size_t size_ = 0;
};

}  // namespace kvcast
