#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "kvcast/base/random.h"
#include "kvcast/object/durability.h"
#include "kvcast/object/object.h"
#include "kvcast/object/track_name.h"

namespace kvcast::sim {

// A track of a simulated network: what its publisher publishes if nothing goes wrong. What stands
// at a location follows from the track's number and the location, and from the version, if somebody
// else publishes other bytes under its name.
class NetworkTrack {
 public:
  static NetworkTrack Draw(Random& random, size_t number, size_t home, Durability level);

  const TrackName& name() const { return name_; }
  size_t number() const { return number_; }
  size_t home() const { return home_; }  // The node to which it is published.
  Durability level() const { return level_; }
  const std::map<uint64_t, uint64_t>& groups() const { return groups_; }  // Objects of each.
  Location last() const { return {groups_.rbegin()->first, groups_.rbegin()->second - 1}; }
  bool Has(Location at) const {
    const auto group = groups_.find(at.group);
    return group != groups_.end() && at.object < group->second;
  }

  Object At(Location at, uint64_t version) const;
  // Which version an object is, to the bit; absent: none.
  std::optional<uint64_t> VersionOf(const Object& object) const;

  bool contested = false;  // There are two versions.

 private:
  NetworkTrack(TrackName name, size_t number, size_t home, Durability level, size_t bytes)
      : name_(std::move(name)), number_(number), home_(home), level_(level), bytes_(bytes) {}

  TrackName name_;
  size_t number_;
  size_t home_;
  Durability level_;
  size_t bytes_;  // Of a payload, about.
  std::map<uint64_t, uint64_t> groups_;
};

}  // namespace kvcast::sim
