#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "kvcast/base/time.h"
#include "kvcast/moqt/transport.h"

namespace kvcast::moqt {

// Which streams of a session cannot be read yet, what each waits for, and since when.
class WaitingStreams {
 public:
  // The alias of a track; absent, SETUP.
  using Cause = std::optional<uint64_t>;

  void Add(StreamId stream, const Cause& cause, Instant now) {
    if (entries_.try_emplace(stream, Entry{cause, now}).second) {
      by_cause_[cause].insert(stream);
      if (cause) {
        by_time_.insert({now, stream});
      }
    }
  }
  void Remove(StreamId stream) {
    const auto entry = entries_.find(stream);
    if (entry == entries_.end()) {
      return;
    }
    const auto others = by_cause_.find(entry->second.cause);
    others->second.erase(stream);
    if (others->second.empty()) {
      by_cause_.erase(others);
    }
    by_time_.erase({entry->second.since, stream});
    entries_.erase(entry);
  }

  size_t size() const { return entries_.size(); }
  std::vector<StreamId> For(const Cause& cause) const {
    const auto found = by_cause_.find(cause);
    return found == by_cause_.end()
               ? std::vector<StreamId>()
               : std::vector<StreamId>(found->second.begin(), found->second.end());
  }
  // Of those that wait for a track: the one that has waited longest, and since when.
  std::optional<std::pair<Instant, StreamId>> oldest() const {
    return by_time_.empty() ? std::nullopt : std::optional(*by_time_.begin());
  }

 private:
  struct Entry {
    Cause cause;
    Instant since;
  };

  std::map<StreamId, Entry> entries_;
  std::map<Cause, std::set<StreamId>> by_cause_;
  std::set<std::pair<Instant, StreamId>> by_time_;
};

}  // namespace kvcast::moqt
