#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "kvcast/base/time.h"
#include "kvcast/catalog/acknowledgement.h"
#include "kvcast/object/object.h"
#include "kvcast/object/track_name.h"
#include "kvcast/store/store.h"

namespace kvcast::relay {

// A new object of an ack track.
struct AckObject {
  TrackName track;
  Object object;
};

// What publishers wait for: which groups of the tracks that ask for durability have reached it, and
// the objects that say so. One ack track serves all tracks of a namespace.
//
// A group is acknowledged once it is whole where it is durable, and nothing that was written for it
// is still under way. Objects of an ack track are not kept: whoever subscribes is told again.
class AckBook {
 public:
  // `group` is what all ack tracks of this run write: one that no earlier run has used.
  explicit AckBook(uint64_t group) : group_(group) {}

  bool IsAck(const TrackName& track) const { return ack_tracks_.contains(track); }
  // The level that a track asks for, if it does.
  std::optional<Durability> LevelOf(const TrackName& track) const;

  // A track is published, and asks for a level; the ticket is of what was told of the track.
  void Begin(const TrackName& track, Durability level, std::optional<StoreTicket> ticket);
  // Nobody publishes it any more: it is remembered until then, for acknowledgements to come.
  void End(const TrackName& track, std::optional<Instant> until);
  void OnAsked(const TrackName& track, uint64_t group, StoreTicket ticket);
  // Gives the groups to Settle().
  std::vector<EvictedGroup> OnWritten(const StoreWritten& written);
  // Groups for which nothing is under way, and which are not acknowledged: to Settle() when what
  // was told of the track, or of the end of one of them, has become durable.
  std::vector<EvictedGroup> Unsettled(const TrackName& track, std::optional<uint64_t> group) const;
  // `whole`: the group is whole where it is durable, and so is what makes it whole.
  void Settle(const TrackName& track, uint64_t group, bool whole);

  // How durable a group is that is whole.
  struct Standing {
    uint64_t group = 0;
    Durability level = Durability::kMemory;
  };
  // How what is here of a track stands now. Of one whose publisher has left, or never asked, who
  // follows the ack track until then is told all of it; of others what is durable already.
  void Recall(const TrackName& track, const std::vector<Standing>& groups, Instant until);

  // Says everything again, for someone who has just come.
  void Repeat(const TrackName& ack_track);
  std::vector<AckObject> TakeObjects();

  // Ack tracks without anything left to say. `has_audience`: tells whether anyone follows one.
  template <typename HasAudience>
  std::vector<TrackName> Expire(Instant now, HasAudience has_audience);
  std::optional<Instant> next() const {
    return ending_.empty() ? std::nullopt : std::optional(ending_.begin()->first);
  }

 private:
  // Groups from first to last. Publishers write them one after another: of more runs than this, the
  // lowest is not told again.
  using Runs = std::map<uint64_t, uint64_t>;
  static constexpr size_t kRunsMax = 4096;
  // While somebody follows, a track that has ended is remembered for so much longer.
  static constexpr Duration kAgain = std::chrono::seconds(10);
  struct Group {
    size_t waiting = 0;
    bool failed = false;
    Durability level = Durability::kBucket;  // The least that anything of it has reached.
  };
  struct Track {
    TrackName ack_track;
    uint64_t life = 0;      // A track that was forgotten and comes back is another.
    bool recalled = false;  // Nobody has asked for anything.
    Durability level = Durability::kMemory;
    size_t waiting = 0;                 // For what was told of the track itself,
    std::optional<StoreTicket> told{};  // and last so.
    bool failed = false;
    std::optional<Instant> until{};
    std::map<uint64_t, Group> groups{};
    std::map<Durability, Runs> reached{};
  };
  // What a ticket was given for; without a group, for what was told of the track.
  struct Write {
    TrackName track;
    uint64_t life = 0;
    std::optional<uint64_t> group{};
  };
  struct AckTrack {
    size_t tracks = 0;
    uint64_t next_object = 0;
    std::vector<AckRecord> records;  // To be told.
  };

  // The entry of a track, made if there is none. Null: its namespace has no room for an ack track.
  Track* Open(const TrackName& track);
  static void Add(Runs& runs, uint64_t group);
  void Tell(const Track& track, const TrackName& name, std::optional<Durability> level,
            uint64_t first, uint64_t last);
  // True if the ack track went with it.
  bool Erase(const TrackName& track);

  uint64_t group_;
  std::map<TrackName, Track> tracks_;
  std::map<TrackName, AckTrack> ack_tracks_;
  std::set<TrackName> changed_;  // Of them.
  std::set<std::pair<Instant, TrackName>> ending_;
  uint64_t last_life_ = 0;
  std::map<StoreTicket, Write> tickets_;
};

template <typename HasAudience>
std::vector<TrackName> AckBook::Expire(Instant now, HasAudience has_audience) {
  std::vector<TrackName> gone;
  while (!ending_.empty() && ending_.begin()->first <= now) {
    const TrackName name = ending_.begin()->second;
    const TrackName ack_track = tracks_.at(name).ack_track;
    if (has_audience(ack_track)) {
      End(name, now + kAgain);
    } else if (Erase(name)) {
      gone.push_back(ack_track);
    }
  }
  return gone;
}

}  // namespace kvcast::relay
