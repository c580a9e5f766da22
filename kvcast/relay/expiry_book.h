#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "kvcast/base/time.h"
#include "kvcast/object/location.h"
#include "kvcast/object/track_name.h"
#include "kvcast/store/counted_allocator.h"

namespace kvcast::relay {

// Until when objects may be served, of tracks that say so (MAX_CACHE_DURATION). It has as many
// entries as there are such objects: whoever gives a group up says so here.
class ExpiryBook {
 public:
  ExpiryBook() = default;
  ExpiryBook(const ExpiryBook&) = delete;
  ExpiryBook& operator=(const ExpiryBook&) = delete;

  struct Expired {
    TrackName track;
    uint64_t group = 0;
    std::optional<uint64_t> object;  // Absent: the group as a whole.
  };

  void Add(const TrackName& track, Location location, Instant at);
  // None of the group may be served from then on, or from earlier on if that was said before.
  void AddGroup(const TrackName& track, uint64_t group, Instant at);
  // The group goes as a whole from now on, with the first of its objects that is due.
  void Join(const TrackName& track, uint64_t group);
  void Forget(const TrackName& track, uint64_t group);

  bool Has(const TrackName& track, uint64_t group) const;
  std::optional<Instant> next() const;
  size_t bytes() const { return bytes_; }  // All that it takes from the heap.
  // One that is due, which is forgotten.
  std::optional<Expired> TakeDue(Instant now);

 private:
  struct Entry {
    Instant at;
    uint64_t object;
  };
  // By rising time, from `first` on; usually that is how they come.
  struct Group {
    explicit Group(size_t* bytes) : entries(CountedAllocator<Entry>(bytes)) {}

    std::vector<Entry, CountedAllocator<Entry>> entries;
    size_t first = 0;
    bool joined = false;  // It goes as a whole, and has one entry.
  };
  using Groups =
      std::map<uint64_t, Group, std::less<>, CountedAllocator<std::pair<const uint64_t, Group>>>;
  using Tracks = std::map<TrackName, Groups, std::less<>,
                          CountedAllocator<std::pair<const TrackName, Groups>>>;
  using First = std::tuple<Instant, const TrackName*, uint64_t>;

  void Unlist(Tracks::iterator track, uint64_t group);
  void List(Tracks::iterator track, uint64_t group);
  void Erase(Tracks::iterator track, uint64_t group);

  size_t bytes_ = 0;
  Tracks tracks_{CountedAllocator<std::pair<const TrackName, Groups>>(&bytes_)};
  std::set<First, std::less<>, CountedAllocator<First>> firsts_{// Of each group.
                                                                CountedAllocator<First>(&bytes_)};
};

}  // namespace kvcast::relay
