#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "kvcast/store/disk_index.h"
#include "kvcast/store/disk_record.h"
#include "kvcast/store/lower_tier.h"
#include "kvcast/store/owed_facts.h"

namespace kvcast {

// What a disk and a bucket have in common as tiers: an index in memory of what lies where, and
// records on their way there. Where and when these are written is for each of them to say.
class IndexedTier : public LowerTier {
 public:
  std::optional<TierEvent> Next() final;

  Result<TierTicket> Put(const TrackName& track, const Object& object, uint64_t received_us,
                         Instant now) final;
  Result<void> CheckSame(const TrackName& track, const Object& object) const final;
  Result<TierTicket> Describe(const TrackName& track, const TrackFacts& facts, Instant now) final;
  Result<TierTicket> EndGroup(const TrackName& track, const GroupEnd& end, Instant now) final;
  bool HasOwed() const final { return !owed_.empty(); }
  void PayAllOwed(Instant now) final;
  Result<TierTicket> Remove(const TrackName& track, std::optional<uint64_t> group,
                            Instant now) final;

  Presence PresenceOf(const TrackName& track, Location location) const final {
    return index_->PresenceOf(track, location);
  }
  const TrackFacts* FindTrack(const TrackName& track) const final {
    return index_->FindTrack(track);
  }
  bool Covers(const TrackName& track, const TrackFacts& facts) const final;
  bool HasWritten(const TrackName& track, std::optional<uint64_t> group) const final {
    return !owed_.IsPending(track, group);
  }
  std::optional<GroupFacts> FindGroup(const TrackName& track, uint64_t group) const final {
    return index_->FindGroup(track, group);
  }
  bool Expects(const TrackName& track, uint64_t group) const final;
  std::optional<Digest> KeyOf(const TrackName& track, uint64_t group) const final {
    return index_->KeyOf(track, group);
  }
  std::optional<uint64_t> GroupFrom(const TrackName& track, uint64_t group) const final {
    return index_->GroupFrom(track, group);
  }
  std::optional<uint64_t> GroupUpTo(const TrackName& track, uint64_t group) const final {
    return index_->GroupUpTo(track, group);
  }
  std::optional<uint64_t> ObjectFrom(const TrackName& track, Location location) const final {
    return index_->ObjectFrom(track, location);
  }
  std::optional<uint64_t> AbsentUpTo(const TrackName& track, Location location) const final {
    return index_->AbsentUpTo(track, location);
  }
  std::vector<ListedGroup> Groups(const std::optional<EvictedGroup>& after,
                                  size_t count_max) const final {
    return index_->Groups(after, count_max);
  }
  std::vector<TrackName> Tracks(const std::optional<TrackName>& after,
                                size_t count_max) const final {
    return index_->Tracks(after, count_max);
  }
  const DiskIndex& index() const { return *index_; }

 protected:
  // A record that is not durable yet.
  struct Waiting {
    std::vector<TierTicket> tickets;  // None: the tier's own note.
    TrackName track;
    std::optional<uint64_t> group{};     // Of an object, or of an end.
    std::optional<Location> location{};  // Of an object.
    uint32_t identity = 0;
    bool describes = false;  // Says all that is known of the track.
    uint64_t record = 0;     // Its number.
    bool removed = false;    // Before it was durable,
    bool forgotten = false;  // with the whole track.
  };

  explicit IndexedTier(uint64_t key_property) : key_property_(key_property) {}

  // Why nothing is taken now.
  virtual Result<void> CheckTakes(Instant now) const = 0;
  // Too large: it can never be written.
  virtual Result<void> CheckFits(const TrackName& track, const RecordDraft& draft,
                                 const EntryBody& entry) const = 0;
  // What lies there need not be written again to be durable.
  virtual bool IsDurable(DiskPlace place) const = 0;
  // Queues a record; what came of it is told by Take().
  virtual void Append(uint64_t record, const TrackName& track, RecordDraft draft, EntryBody entry,
                      uint64_t received_us, Instant now) = 0;
  // Before a group, or the whole track, leaves the index.
  virtual void OnRemove(const TrackName& track, std::optional<uint64_t> group) = 0;

  // Writes once more what was told of a track and did not become durable. REQUIRES: CheckTakes().
  void PayOwed(const TrackName& track, Instant now);
  // What was written of a track, or the end of a group, has gone: it is owed once more.
  void OnLost(const TrackName& track, std::optional<uint64_t> group) { owed_.OnLost(track, group); }
  // Counts a record among those that wait for what comes of it.
  uint64_t Await(Waiting waiting);
  // A record has settled, and nobody waits for it any more once he has been told.
  Waiting Take(uint64_t record);
  void Tell(const Waiting& waiting, const std::optional<Error>& error);
  // That it was there is known of the track, although it is not here.
  void LearnOf(const TrackName& track, Location location);

  std::unique_ptr<DiskIndex> index_ = std::make_unique<DiskIndex>();
  TierTicket last_ticket_ = 0;
  uint64_t last_record_ = 0;
  std::map<uint64_t, Waiting> waiting_;  // By record.
  std::vector<TierEvent> events_;

 private:
  // A write that somebody waits for.
  TierTicket Write(Waiting waiting, RecordDraft draft, EntryBody entry, uint64_t received_us,
                   Instant now);
  void Queue(Waiting waiting, RecordDraft draft, EntryBody entry, uint64_t received_us,
             Instant now);
  // What a record says that is not of an object; absent: nothing that could be owed.
  static std::optional<OwedFacts::About> AboutOf(const Waiting& waiting);

  uint64_t key_property_;
  // Those that wait, with the group that they are of: many are removed at once when a time comes.
  using WaitingName = std::tuple<TrackName, std::optional<uint64_t>, uint64_t>;

  OwedFacts owed_;
  std::set<WaitingName> waiting_names_;
  std::map<std::pair<TrackName, Location>, uint64_t> unsettled_;  // Objects that wait.
  size_t next_event_ = 0;
};

}  // namespace kvcast
