#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "kvcast/store/counted_allocator.h"
#include "kvcast/store/segment_contents.h"

namespace kvcast {

// What a name takes from the heap.
size_t HeapBytesOf(const TrackName& name);

// How much of a group lies in a segment, in whole records.
struct SegmentShare {
  uint32_t segment = 0;
  uint64_t bytes = 0;
};

// Which objects lie where on disk, in memory: 32 bytes for an object, and what its group, its track
// and their names cost. Every byte is counted.
//
// What a segment says is applied in the order in which segments were written; then the last word on
// each object stands.
class DiskIndex {
 public:
  struct Found {
    DiskPlace place;
    uint32_t length = 0;
    uint32_t identity = 0;
  };
  // What went, and where the last of it lies, if that is not in the segment that goes.
  struct Erased {
    uint64_t objects = 0;
    std::optional<DiskPlace> elsewhere;
  };

  DiskIndex() = default;
  DiskIndex(const DiskIndex&) = delete;
  DiskIndex& operator=(const DiskIndex&) = delete;

  // What a segment says.
  void Apply(const SegmentContents& contents, uint32_t segment);
  void Apply(const TrackName& track, const EntryBody& body, DiskPlace place, uint32_t length);

  std::optional<Found> Find(const TrackName& track, Location location) const;
  // Counts as a use of its group.
  std::optional<Found> Use(const TrackName& track, Location location);
  // Mismatch: another object stands there, or waits to: `waiting` is its identity.
  Result<void> CheckSame(const TrackName& track, const Object& object,
                         std::optional<uint32_t> waiting) const;
  Presence PresenceOf(const TrackName& track, Location location) const;
  const TrackFacts* FindTrack(const TrackName& track) const;
  std::optional<GroupFacts> FindGroup(const TrackName& track, uint64_t group) const;
  std::optional<uint64_t> GroupFrom(const TrackName& track, uint64_t group) const;
  std::optional<uint64_t> GroupUpTo(const TrackName& track, uint64_t group) const;
  std::optional<uint64_t> ObjectFrom(const TrackName& track, Location location) const;
  // The last of those of its group that do not exist from there on, as an object that is here says.
  std::optional<uint64_t> AbsentUpTo(const TrackName& track, Location location) const;
  // The largest that is here.
  std::optional<uint64_t> LastObject(const TrackName& track, uint64_t group) const;
  bool GroupUsed(const TrackName& track, uint64_t group) const;
  // Forgets that it was used.
  void ClearUse(const TrackName& track, uint64_t group);
  // What its records take on the disk.
  uint64_t RecordBytes(const TrackName& track, uint64_t group) const;
  std::vector<SegmentShare> SharesOf(const TrackName& track, uint64_t group) const;
  // Where the last of its objects lies; zeros if there is none.
  DiskPlace LastPlace(const TrackName& track, uint64_t group) const;
  // Whether its facts would be lost, or be too old, without a segment.
  bool FactsNeed(const TrackName& track, uint32_t segment) const;

  // Of its first object.
  std::optional<Digest> KeyOf(const TrackName& track, uint64_t group) const;
  std::optional<ListedGroup> Listed(const TrackName& track, uint64_t group) const;
  // In order, beginning behind a place, at most so many.
  std::vector<ListedGroup> Groups(const std::optional<EvictedGroup>& after, size_t count_max) const;
  std::vector<TrackName> Tracks(const std::optional<TrackName>& after, size_t count_max) const;

  // Told by the publisher, to be written down. False: nothing new.
  bool Learn(const TrackName& track, const TrackFacts& facts);
  bool LearnGroupEnd(const TrackName& track, const GroupEnd& end);

  // It stands there as well, and is read from there from now on.
  void Move(const TrackName& track, Location location, DiskPlace place, uint32_t length);
  // Something of the track stands there, and its facts no longer where `goes` says.
  void MoveFacts(const TrackName& track, DiskPlace place,
                 const std::function<bool(DiskPlace)>& goes);
  // Only if it still lies there.
  void Erase(const TrackName& track, Location location, DiskPlace place);
  Erased EraseGroup(const TrackName& track, uint64_t group, uint32_t segment);
  // What of it lies in a segment, and not its end: the rest may still come. Returns how many.
  size_t EraseShare(const TrackName& track, uint64_t group, uint32_t segment);
  // With its facts.
  void EraseTrack(const TrackName& track);
  // Everything of a group, or of the track, that lies where `goes` says. With nothing left of it,
  // the whole track goes with its facts.
  void EraseWhere(const TrackName& track, std::optional<uint64_t> group,
                  const std::function<bool(DiskPlace)>& goes);
  // Groups of which nothing is known but an end: their objects have gone.
  void EraseHollowGroups();
  // Everything that still lies in a segment; which groups lost something.
  std::vector<EvictedGroup> EraseSegment(uint32_t segment);

  // Records of objects in a segment that are still the last word.
  uint64_t LiveBytes(uint32_t segment) const;
  // The last records there of what is known of tracks.
  uint64_t FactBytes(uint32_t segment) const;
  size_t bytes() const { return bytes_; }
  size_t object_count() const { return object_count_; }
  size_t track_count() const { return tracks_.size(); }

 private:
  struct Indexed {
    uint64_t object = 0;
    uint32_t segment = 0;
    uint32_t unit = 0;  // Of 8 bytes, from the segment's start.
    uint32_t length = 0;
    uint32_t payload_bytes = 0;
    uint32_t identity = 0;
    uint32_t absent = 0;  // Right before it, that do not exist.

    DiskPlace place() const { return {segment, uint64_t{unit} * kRecordAlignment}; }
  };
  struct Group {
    explicit Group(size_t* counter) : objects(CountedAllocator<Indexed>(counter)) {}
    std::vector<Indexed, CountedAllocator<Indexed>> objects;  // By rising number.
    std::optional<uint64_t> end;
    std::optional<Digest> key;
    uint64_t payload_bytes = 0;
    uint64_t record_bytes = 0;
    uint64_t absent = 0;  // That objects say do not exist.
    bool used = false;
  };
  using GroupMap =
      std::map<uint64_t, Group, std::less<>, CountedAllocator<std::pair<const uint64_t, Group>>>;
  struct Track {
    explicit Track(size_t* counter)
        : groups(CountedAllocator<std::pair<const uint64_t, Group>>(counter)) {}
    TrackFacts facts;
    size_t facts_bytes = 0;                   // That they take from the heap.
    DiskPlace last;                           // The last record of anything of the track.
    DiskPlace written;                        // The last record of its facts,
    uint32_t written_bytes = 0;               // what it takes,
    std::optional<Location> written_largest;  // what it says,
    bool written_all = true;                  // and that it says all the rest that is known.
    GroupMap groups;
  };
  using TrackMap =
      std::map<TrackName, Track, std::less<>, CountedAllocator<std::pair<const TrackName, Track>>>;

  static GroupFacts FactsOf(const Track& track, uint64_t number, const Group& group);
  Track& TrackFor(const TrackName& name);
  Group& GroupFor(Track& track, uint64_t number);
  const Group* GroupIn(const TrackName& name, uint64_t number) const;
  Indexed* ObjectIn(const TrackName& name, Location location);
  void Put(Track& track, const ObjectEntry& entry, DiskPlace place, uint32_t length);
  void Merge(Track& track, const TrackFacts& facts);
  // But for the largest object.
  static bool SaysAll(const TrackFacts& facts, const TrackFacts& known);
  // Drops those of a group's objects that `goes` says, and returns how many.
  size_t EraseIf(Group& found, const std::function<bool(const Indexed&)>& goes);
  void EraseTrackAt(TrackMap::iterator track);
  // Of a segment without a byte nothing is remembered: there were many before it.
  void DiscountLive(uint32_t segment, uint64_t bytes);
  void SetWritten(Track& track, DiskPlace place, uint32_t length, std::optional<Location> largest);

  using BytesBySegment = std::map<uint32_t, uint64_t, std::less<>,
                                  CountedAllocator<std::pair<const uint32_t, uint64_t>>>;
  size_t bytes_ = 0;
  size_t object_count_ = 0;
  TrackMap tracks_{CountedAllocator<std::pair<const TrackName, Track>>(&bytes_)};
  BytesBySegment live_bytes_{CountedAllocator<std::pair<const uint32_t, uint64_t>>(&bytes_)};
  BytesBySegment fact_bytes_{CountedAllocator<std::pair<const uint32_t, uint64_t>>(&bytes_)};
};

}  // namespace kvcast
