#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kvcast/base/digest.h"
#include "kvcast/moqt/data_stream.h"
#include "kvcast/moqt/messages.h"
#include "sim/network_plan.h"
#include "sim/network_track.h"

namespace kvcast::sim {

// Holds what readers and publishers of a simulated network are told against what is true.
class NetworkJudge {
 public:
  // Who serves something: a node in one of its lives, of which all is remembered as long as it
  // forgets nothing.
  struct Server {
    size_t node = 0;
    uint64_t life = 0;
    bool forgets = false;
  };
  struct FetchedRange {
    size_t track = 0;
    LocationRange range;
    moqt::GroupOrder order = moqt::GroupOrder::kAscending;
  };

  NetworkJudge(std::vector<NetworkTrack>& tracks, NetworkCounts& counts)
      : tracks_(&tracks), counts_(&counts) {}

  void Violate(const std::string& what) { wrong_ = wrong_.empty() ? what : wrong_; }
  // Adds to what was violated.
  void Explain(const std::string& more) { wrong_ += " (" + more + ")"; }
  const std::string& wrong() const { return wrong_; }
  void Note(const std::string& event);
  const Digest& history() const { return history_; }

  // A session of ours was closed by either side: timers may do that, and nothing else.
  void OnClosed(uint64_t code, const std::string& reason);
  // An object came, from this node.
  void OnObject(const Server& server, size_t track, const Object& object);
  // A group was said to end behind this object.
  void OnGroupEnd(size_t track, Location last);
  // A fetch came to its end, and this is what it brought; returns how many objects it lacks.
  size_t OnFetched(const FetchedRange& fetched, const moqt::FetchOk& ok,
                   const std::vector<moqt::FetchItem>& items);
  // What is known of a track was told.
  void OnLargest(size_t track, Location largest);

  // A node has said that a group of a track is durable, of which it has not lost anything since.
  void OnAcknowledged(size_t track, uint64_t group, Durability level);
  // What was promised of tracks of this node is void, up to this level.
  void Release(size_t node, Durability level);
  const std::map<std::pair<size_t, uint64_t>, Durability>& promises() const { return promises_; }

 private:
  const NetworkTrack& At(size_t track) const { return tracks_->at(track); }

  std::vector<NetworkTrack>* tracks_;
  NetworkCounts* counts_;
  std::string wrong_;
  Digest history_;
  // Which version of a contested object a node has shown, in which life.
  std::map<std::tuple<size_t, uint64_t, size_t, Location>, uint64_t> shown_;
  std::map<std::pair<size_t, uint64_t>, Durability> promises_;  // By track and group.
};

}  // namespace kvcast::sim
