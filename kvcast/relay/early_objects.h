#pragma once

#include <cstddef>
#include <map>
#include <set>

#include "kvcast/object/location.h"
#include "kvcast/object/track_name.h"

namespace kvcast::relay {

// Objects of tracks that are followed which a fetch has brought before their publisher did: they
// are here by then, and yet new to those who follow. Bounded: of more than so many the next are not
// remembered, and whoever follows has to fetch them.
class EarlyObjects {
 public:
  void Add(const TrackName& track, Location at) {
    if (count_ < kCountMax && tracks_[track].insert(at).second) {
      ++count_;
    }
  }
  // The publisher brings it: whether it had come before, and nobody who follows has it.
  bool Take(const TrackName& track, Location at) {
    const auto found = tracks_.find(track);
    if (found == tracks_.end() || found->second.erase(at) == 0) {
      return false;
    }
    --count_;
    return true;
  }
  // Nobody publishes the track any more.
  void Forget(const TrackName& track) {
    if (const auto found = tracks_.extract(track)) {
      count_ -= found.mapped().size();
    }
  }

 private:
  static constexpr size_t kCountMax = 16'384;
  std::map<TrackName, std::set<Location>> tracks_;
  size_t count_ = 0;
};

}  // namespace kvcast::relay
