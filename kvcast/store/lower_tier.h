#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "kvcast/base/digest.h"
#include "kvcast/base/result.h"
#include "kvcast/base/time.h"
#include "kvcast/object/location.h"
#include "kvcast/object/object.h"
#include "kvcast/object/track_name.h"
#include "kvcast/store/track_facts.h"

namespace kvcast {

// An object with what a tier below RAM keeps of it besides.
struct StoredObject {
  Object object;
  uint64_t received_us = 0;  // Since 1970, by the clock of the node that received it.
};

struct GroupEnd {
  uint64_t group = 0;
  uint64_t end = 0;
  friend bool operator==(const GroupEnd&, const GroupEnd&) = default;
};

// A group as it is listed, for whoever tells others what is here.
struct ListedGroup {
  TrackName track;
  uint64_t group = 0;
  std::optional<Digest> key;  // If its first object carries one.
  GroupFacts facts;
};

// A group that was evicted, with what it held, for a tier below.
struct EvictedContents {
  EvictedGroup group;
  std::optional<uint64_t> end;
  std::optional<Digest> key;
  uint64_t bytes = 0;  // That it took, with its index.
  std::vector<StoredObject> objects;
};

using TierTicket = uint64_t;

// What was asked for under a ticket is durable, or failed. An object that failed is not here; what
// was told of a track is known all the same, and owed: written once more with the next write of
// that track, or by PayAllOwed(). What was removed has gone until the next start.
struct TierWritten {
  TierTicket ticket = 0;
  std::optional<Error> error;
};
// Absent: a miss, because it is damaged, or whatever keeps it failed. It is not evidence of
// anything.
struct TierRead {
  TierTicket ticket = 0;
  std::optional<StoredObject> found;
};
// A group that is no longer here as a whole: evicted, or damaged.
struct TierEvicted {
  EvictedGroup group;
  std::optional<EvictedContents> contents{};  // Of a whole group, where they are handed over.
};
// A whole group that somebody else has put: of a tier that several nodes share.
struct TierArrived {
  ListedGroup group;
};
// All that was told of a track, or of the end of a group, is durable now.
struct TierTold {
  TrackName track;
  std::optional<uint64_t> group{};
};
using TierEvent = std::variant<TierWritten, TierRead, TierEvicted, TierArrived, TierTold>;

// A tier below RAM: it answers later. What is asked for has a ticket, and what came of it is taken
// out as an event, in any order. A put is acknowledged when it has reached what the tier stands
// for, and not before.
class LowerTier {
 public:
  virtual ~LowerTier() = default;

  // Until it is ready it has nothing and takes nothing.
  virtual bool ready() const = 0;
  // What it has cannot be read just now.
  virtual bool away() const { return false; }
  // Something of the range could not be read when that was tried, and may never be: it is here, and
  // nobody may count on it.
  virtual bool Doubts(const TrackName& /*track*/, const LocationRange& /*range*/) const {
    return false;
  }
  // From now on, whole groups that have to go are told with their contents, as far as they can be
  // had: there is someone else to keep them.
  virtual void HandOverEvicted() {}
  // Whether a tier below has a group of this one, too, for good: its room is had before that of any
  // other, and it need not be handed over.
  virtual void SetSpare(const TrackName& /*track*/, uint64_t /*group*/, bool /*spare*/) {}
  // So many bytes more could be taken, and nothing would have to go that no other tier has.
  virtual bool HasSpareRoom(uint64_t /*bytes*/, Instant /*now*/) { return true; }

  virtual void OnTime(Instant now) = 0;
  virtual std::optional<Instant> deadline() const = 0;
  virtual std::optional<TierEvent> Next() = 0;

  // An object that is here already is acknowledged in the next event. Mismatch: another object
  // stands there, or none can. Too large: it can never be kept, or too much waits. Machine: what
  // keeps it is full or fails; reads go on.
  virtual Result<TierTicket> Put(const TrackName& track, const Object& object, uint64_t received_us,
                                 Instant now) = 0;
  // Writes nothing. Mismatch: what stands there, or waits to, is another object.
  virtual Result<void> CheckSame(const TrackName& track, const Object& object) const = 0;
  // What is known of a track. Properties that were told first stay, the rest adds up.
  virtual Result<TierTicket> Describe(const TrackName& track, const TrackFacts& facts,
                                      Instant now) = 0;
  virtual Result<TierTicket> EndGroup(const TrackName& track, const GroupEnd& end, Instant now) = 0;
  // Something that it was told of tracks could not be written: that is written once more, as far as
  // anything is taken now.
  virtual bool HasOwed() const { return false; }
  virtual void PayAllOwed(Instant /*now*/) {}
  // One group, or the track and all that is known of it. It is gone at once, and for good when it
  // is acknowledged.
  virtual Result<TierTicket> Remove(const TrackName& track, std::optional<uint64_t> group,
                                    Instant now) = 0;

  // Absent: not here, or too much is being read. Counts as a use of its group.
  virtual std::optional<TierTicket> Get(const TrackName& track, Location location, Instant now) = 0;

  virtual Presence PresenceOf(const TrackName& track, Location location) const = 0;
  // All that is known, durable or not.
  virtual const TrackFacts* FindTrack(const TrackName& track) const = 0;
  // There is nothing in these that would have to be told: it is durable here, or about to be.
  virtual bool Covers(const TrackName& track, const TrackFacts& facts) const = 0;
  // Nothing that was told of the track, or of the end of a group, has yet to become durable.
  virtual bool HasWritten(const TrackName& track, std::optional<uint64_t> group) const = 0;
  virtual std::optional<GroupFacts> FindGroup(const TrackName& track, uint64_t group) const = 0;
  // An object of the group is on its way here.
  virtual bool Expects(const TrackName& track, uint64_t group) const = 0;
  // If its first object is here, and carries one.
  virtual std::optional<Digest> KeyOf(const TrackName& track, uint64_t group) const = 0;
  // The nearest group that is here: at `group` or above it, or at it or below.
  virtual std::optional<uint64_t> GroupFrom(const TrackName& track, uint64_t group) const = 0;
  virtual std::optional<uint64_t> GroupUpTo(const TrackName& track, uint64_t group) const = 0;
  // The nearest object of the same group that is here, at the location or above it.
  virtual std::optional<uint64_t> ObjectFrom(const TrackName& track, Location location) const = 0;
  // The last of those of its group that do not exist from there on, as an object that is here says.
  virtual std::optional<uint64_t> AbsentUpTo(const TrackName& track, Location location) const = 0;
  // In order, beginning behind a place, at most so many.
  virtual std::vector<ListedGroup> Groups(const std::optional<EvictedGroup>& after,
                                          size_t count_max) const = 0;
  virtual std::vector<TrackName> Tracks(const std::optional<TrackName>& after,
                                        size_t count_max) const = 0;
};

}  // namespace kvcast
