#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "kvcast/store/counted_allocator.h"

namespace kvcast {

// Values by rising number, in runs of up to 64 that lie side by side.
//
// Numbers mostly come in order and without gaps: then a value is found where its number says, and
// put behind the last. In any other order a value costs the moving of one run: a peer that chooses
// numbers cannot make it cost more. What it grows by is known before, so that room can be made.
//
// Value: movable, with RunNumber(const Value&). Pointers to values last until the next change.
template <typename Value>
class RunMap {
  using Values = std::vector<Value, CountedAllocator<Value>>;
  struct Run {
    uint64_t first;
    Values values;  // Never empty, between calls.
  };
  using Runs = std::vector<Run, CountedAllocator<Run>>;

 public:
  static constexpr size_t kRunMax = 64;

  // A place among the values, or the one behind the last.
  struct Place {
    size_t run = 0;
    size_t at = 0;
  };

  explicit RunMap(size_t* bytes) : runs_(CountedAllocator<Run>(bytes)) {}

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  const Value* Find(uint64_t number) const {
    const Value* const value = At(From(number));
    return value != nullptr && RunNumber(*value) == number ? value : nullptr;
  }
  Value* Find(uint64_t number) {
    return const_cast<Value*>(std::as_const(*this).Find(number));  // It is ours.
  }
  // The first of this number or a higher one.
  Place From(uint64_t number) const {
    if (runs_.empty()) {
      return {};
    }
    const size_t run = RunFor(number);
    const size_t at = WithinRun(runs_[run].values, number);
    return at == runs_[run].values.size() ? Place{run + 1, 0} : Place{run, at};
  }
  // Null behind the last.
  const Value* At(Place place) const {
    return place.run < runs_.size() ? &runs_[place.run].values[place.at] : nullptr;
  }
  // The one before; null if there is none.
  const Value* Before(Place place) const {
    if (place.at > 0) {
      return &runs_[place.run].values[place.at - 1];
    }
    return place.run > 0 ? &runs_[place.run - 1].values.back() : nullptr;
  }
  Place Next(Place place) const {
    return place.at + 1 < runs_[place.run].values.size() ? Place{place.run, place.at + 1}
                                                         : Place{place.run + 1, 0};
  }
  const Value* First() const { return At({}); }
  const Value* Last() const { return Before({runs_.size(), 0}); }

  // What Insert() will take of memory; the first one, into an empty map.
  static constexpr size_t GrowthForFirst() { return sizeof(Run) + sizeof(Value); }
  size_t GrowthFor(uint64_t number) const {
    if (runs_.empty()) {
      return GrowthForFirst();
    }
    const Values& values = runs_[RunFor(number)].values;
    if (values.size() < kRunMax) {
      return (CapacityFor(values) - values.capacity()) * sizeof(Value);
    }
    const size_t runs = runs_.size() < runs_.capacity() ? 0 : runs_.capacity() * sizeof(Run);
    return runs +
           (number > RunNumber(runs_.back().values.back()) ? 1 : kRunMax / 2 + 1) * sizeof(Value);
  }

  // REQUIRES: there is none of its number.
  void Insert(Value value) {
    const uint64_t number = RunNumber(value);
    if (runs_.empty()) {
      AddRun(0);
    }
    size_t run = RunFor(number);
    if (runs_[run].values.size() == kRunMax) {
      const bool behind_all = number > RunNumber(runs_.back().values.back());
      AddRun(++run);
      Values& full = runs_[run - 1].values;
      if (!behind_all) {
        Values& upper = runs_[run].values;
        upper.reserve(kRunMax / 2 + 1);
        std::move(full.begin() + kRunMax / 2, full.end(), std::back_inserter(upper));
        full.erase(full.begin() + kRunMax / 2, full.end());
        runs_[run].first = RunNumber(upper.front());
        run -= number < runs_[run].first ? 1u : 0u;
      }
    }
    Values& values = runs_[run].values;
    values.reserve(CapacityFor(values));
    const size_t at = WithinRun(values, number);
    values.insert(values.begin() + static_cast<std::ptrdiff_t>(at), std::move(value));
    runs_[run].first = RunNumber(values.front());
    ++size_;
  }

  // REQUIRES: there is one.
  void Erase(uint64_t number) {
    const Place place = From(number);
    Values& values = runs_[place.run].values;
    // By swapping: what is assigned to may keep memory of its own that nobody counts.
    for (size_t at = place.at; at + 1 < values.size(); ++at) {
      std::swap(values[at], values[at + 1]);
    }
    values.pop_back();
    --size_;
    if (!values.empty()) {
      runs_[place.run].first = RunNumber(values.front());
      return;
    }
    runs_.erase(runs_.begin() + static_cast<std::ptrdiff_t>(place.run));
    if (runs_.empty()) {
      Runs(runs_.get_allocator()).swap(runs_);
    }
  }

 private:
  // The run that has the number or would take it. REQUIRES: there are runs.
  size_t RunFor(uint64_t number) const {
    if (runs_.size() == 1 || number < runs_[1].first) {
      return 0;
    }
    const auto above = std::ranges::upper_bound(runs_, number, {}, &Run::first);
    return static_cast<size_t>(above - runs_.begin()) - 1;
  }

  // How many of the run stand before the number.
  static size_t WithinRun(const Values& values, uint64_t number) {
    if (!values.empty() && number >= RunNumber(values.front())) {
      const uint64_t guess = number - RunNumber(values.front());
      if (guess < values.size() && RunNumber(values[guess]) == number) {
        return guess;
      }
    }
    const auto from = std::ranges::lower_bound(values, number, {},
                                               [](const Value& value) { return RunNumber(value); });
    return static_cast<size_t>(from - values.begin());
  }

  // For one more. REQUIRES: the run is not full.
  static size_t CapacityFor(const Values& values) {
    if (values.size() < values.capacity()) {
      return values.capacity();
    }
    return std::clamp<size_t>(2 * values.capacity(), 1, kRunMax);
  }

  void AddRun(size_t at) {
    if (runs_.size() == runs_.capacity()) {
      runs_.reserve(std::max<size_t>(1, 2 * runs_.capacity()));
    }
    runs_.insert(runs_.begin() + static_cast<std::ptrdiff_t>(at),
                 Run{0, Values(CountedAllocator<Value>(runs_.get_allocator().bytes()))});
  }

  Runs runs_;
  size_t size_ = 0;
};

}  // namespace kvcast
