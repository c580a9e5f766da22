#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "kvcast/store/counted_allocator.h"
#include "kvcast/store/disk_index.h"

namespace kvcast {

// What stands in more than one pack: objects that were put again by who could not know of the
// first, ends of groups, and which packs say anything of a track. An index has one place of each,
// or none; where that one goes, by a removal, with its pack or by damage, another takes over. So
// what is known does not hang on the order in which packs are found.
class PackCopies {
 public:
  using Goes = std::function<bool(DiskPlace)>;

  PackCopies() = default;
  PackCopies(const PackCopies&) = delete;
  PackCopies& operator=(const PackCopies&) = delete;

  // Something of the track stands there.
  void Mention(const TrackName& track, DiskPlace place);
  // An object that the index has, and not there.
  void Add(const TrackName& track, Location location, DiskPlace place, uint32_t length);
  bool Has(const TrackName& track, Location location) const;
  void AddEnd(const TrackName& track, const GroupEnd& end, DiskPlace place);

  // Before the index erases what lies where `goes` says, of a group or of a track: what stands
  // elsewhere as well is moved there.
  void Shelter(const TrackName& track, std::optional<uint64_t> group, const Goes& goes,
               DiskIndex& index);
  // After it did so: ends that were told elsewhere as well are told again.
  void TellEnds(const TrackName& track, std::optional<uint64_t> group, DiskIndex& index) const;
  // Tracks that a pack says anything of, each with the groups whose ends stand nowhere else.
  using Said = std::map<TrackName, std::set<uint64_t>>;
  Said SaidIn(uint32_t segment) const;
  // The same as Shelter() before it erases a pack. Gives the groups of which an object that lay
  // there is left only where `counts` does not say that it is sure to stay.
  using Counts = std::function<bool(DiskPlace)>;
  std::set<std::pair<TrackName, uint64_t>> ShelterFrom(uint32_t segment, const Counts& counts,
                                                       DiskIndex& index);
  // Of a group, or of the track.
  void Forget(const TrackName& track, std::optional<uint64_t> group);

  // All that this takes from the heap.
  size_t bytes() const { return bytes_; }

 private:
  struct Copy {
    DiskPlace place;
    uint32_t length = 0;
  };
  struct End {
    DiskPlace place;
    uint64_t end = 0;
  };
  template <typename Key, typename Value>
  using Nodes = CountedAllocator<std::pair<const Key, Value>>;
  struct Track {
    explicit Track(size_t* counter)
        : mentions(Nodes<uint32_t, uint64_t>(counter)),
          copies(Nodes<Location, Copy>(counter)),
          ends(Nodes<uint64_t, End>(counter)) {}
    bool empty() const { return mentions.empty() && copies.empty() && ends.empty(); }
    // By segment: the last offset there.
    std::map<uint32_t, uint64_t, std::less<>, Nodes<uint32_t, uint64_t>> mentions;
    std::multimap<Location, Copy, std::less<>, Nodes<Location, Copy>> copies;
    std::multimap<uint64_t, End, std::less<>, Nodes<uint64_t, End>> ends;
  };
  using Tracks = std::map<TrackName, Track, std::less<>, Nodes<TrackName, Track>>;

  Track& TrackFor(const TrackName& name);
  static void ShelterObjects(const TrackName& name, Track& track, std::optional<uint64_t> group,
                             const Goes& goes, DiskIndex& index);
  static std::set<uint64_t> UnsureGroups(const TrackName& name, const Track& track,
                                         const Goes& goes, const Counts& counts,
                                         const DiskIndex& index);
  Tracks::iterator EraseIfEmpty(Tracks::iterator track);

  size_t bytes_ = 0;
  Tracks tracks_{Nodes<TrackName, Track>(&bytes_)};
};

}  // namespace kvcast
