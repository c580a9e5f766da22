#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/base/time.h"
#include "kvcast/object/durability.h"
#include "kvcast/store/demotion_desk.h"
#include "kvcast/store/pledge_book.h"
#include "kvcast/store/ram_tier.h"
#include "kvcast/store/read_desk.h"
#include "kvcast/store/spare_survey.h"
#include "kvcast/store/store_events.h"
#include "kvcast/store/tier_set.h"
#include "kvcast/store/warm_queue.h"

namespace kvcast {

struct StoreOptions {
  size_t ram_bytes = 0;
  std::string eviction = "default";  // From RAM, one of EvictionNames().
  uint64_t epoch_us = 0;      // What the time of day is at Instant(), in microseconds since 1970.
  uint64_t key_property = 0;  // The immutable property that holds a group's key.
  uint64_t secret = 0;        // Random, and nobody else's business: peers choose names and keys.
  std::map<std::string, uint64_t> reservations{};  // Bytes of RAM by tenant.
  unsigned pinned_percent = 50;                    // Of RAM, for pins that have an owner.
  ChunkPool* payload_chunks = nullptr;             // Where payloads come from; outlives the store.
  ReadDesk::Limits reads{};
  WarmQueue::Limits warming{};
  uint64_t demoting_bytes_max = uint64_t{64} << 20;
  // So long whoever wants something durable waits for a tier that is away.
  Duration write_patience = std::chrono::seconds(30);
  // How long a track with these properties lets its objects be kept, in milliseconds.
  std::function<std::optional<uint64_t>(const Properties&)> max_cache_ms{};
};

struct StoreCounts {
  uint64_t ram_hits = 0;
  uint64_t lower_hits = 0;   // Of objects read from a tier below.
  uint64_t misses = 0;       // Of objects asked for and not to be had.
  uint64_t timeouts = 0;     // Those of them that took too long.
  uint64_t promoted = 0;     // Objects.
  uint64_t demoted = 0;      // Groups, as the next two.
  uint64_t not_demoted = 0;  // No tier took them.
  uint64_t demotions_failed = 0;
  uint64_t expired = 0;         // Objects read that may be kept no longer.
  uint64_t write_failures = 0;  // Of what was to be durable.
};

// Objects in RAM and in the tiers below, and the policy that moves them.
//
// What is put goes to RAM, and where durability asks for it to a tier as well, at once; what RAM
// evicts goes down then, if a tier admits it, and what a disk evicts goes to a bucket. What is read
// from below comes up again. docs/design/tiers.md tells why.
//
// Nothing is called back: what comes later has a ticket and is taken out as an event, after every
// input. Whoever drives a tier calls OnTime() when that has had input.
class Store {
 public:
  explicit Store(const StoreOptions& options);
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // The fastest first, before anything else is asked. Without `admission` everything comes in.
  void AddTier(TierKind kind, std::unique_ptr<LowerTier> tier,
               std::unique_ptr<Admission> admission = nullptr);
  // For what lives in memory alone, such as catalogs; SettleRam() afterwards.
  RamTier& ram() { return ram_; }
  void SettleRam(Instant now);
  const TierSet& tiers() const { return tiers_; }
  bool opened() const;  // Every tier is ready.

  // A tier had input, or its time has come.
  void OnTime(Instant now);
  // Something was asked, and may have an answer already.
  void Pump(Instant now);
  std::optional<Instant> deadline() const;
  std::optional<StoreEvent> Next();
  // For whoever is about to stop: tells tiers once more what they refused to hear.
  void TellAll(Instant now);

  // What is to reach more than memory has a ticket. Unsupported: there is no tier for this level.
  // Machine and too large: there is, and it is full, failing or too busy.
  using Asked = std::optional<StoreTicket>;
  Result<Asked> Describe(const TrackName& track, const Properties& properties,
                         std::optional<Location> largest, Durability level, Instant now);
  struct Kept {
    bool is_new = false;  // It was in no tier.
    Asked ticket;
  };
  // `since` is when the object began to come, which its age counts from; now if nothing is said.
  // Mismatch: another object stands there, or none can.
  Result<Kept> Put(const TrackName& track, const Object& object, Durability level, Instant now,
                   std::optional<Instant> since = std::nullopt);
  // The group's publisher says that nothing of it stands there or beyond. Mismatch: something does,
  // or another end was told.
  Result<void> CheckGroupEnd(const TrackName& track, uint64_t group, uint64_t end) const;
  // The same, and remembers it.
  Result<Asked> EndGroup(const TrackName& track, uint64_t group, uint64_t end, Durability level,
                         Instant now);
  Result<void> EndTrack(const TrackName& track, Location end, Instant now);
  // The track's publisher says that nothing stands there. Mismatch: something does.
  Result<void> CheckGap(const TrackName& track, const LocationRange& gap) const;
  // Remembers it, and has it written where what is put at this level is, under these tickets: a
  // group with gaps is whole only for whoever knows of them. REQUIRES: CheckGap() passes.
  std::vector<StoreTicket> AddGap(const TrackName& track, const LocationRange& gap,
                                  Durability level, Instant now);

  // The object, if it is in memory; a ticket, if a tier below may have it; else neither.
  using Got = std::variant<std::monostate, Object, StoreTicket>;
  // `patience`: how long a tier may take, if that is less than any read may.
  Got Get(const TrackName& track, Location location, Instant now,
          std::optional<Duration> patience = std::nullopt);
  void Cancel(StoreTicket ticket) { desk_.Cancel(ticket); }
  void CountGiven() { ++counts_.ram_hits; }  // Of an object that was in memory.
  // Has a range in RAM before anybody asks. False: too much is to be warmed already.
  bool Warm(const TrackName& track, const LocationRange& range, Instant now);

  // The next objects of one group that are anywhere, in order, at most so many: those in memory as
  // they are, and where others stand.
  struct Located {
    Location location;
    std::optional<Object> object;
  };
  std::vector<Located> Locate(const TrackName& track, Location first, uint64_t last_object,
                              size_t count_max);

  std::optional<TrackFacts> Find(const TrackName& track) const;
  // Of a tier that has the whole group, or else of the one that has most of it.
  std::optional<GroupFacts> FindGroup(const TrackName& track, uint64_t group) const;
  Presence PresenceOf(const TrackName& track, Location location);
  // Nothing of the range exists, as publishers have said.
  bool IsGone(const TrackName& track, const LocationRange& range) const;
  std::optional<uint64_t> GroupFrom(const TrackName& track, uint64_t group) const;
  std::optional<uint64_t> GroupUpTo(const TrackName& track, uint64_t group) const;
  // A tier below has something of the group, or is about to.
  bool IsBelow(const TrackName& track, uint64_t group) const {
    return tiers_.FindGroup(track, group) || tiers_.Expects(track, group) ||
           demotions_.FindGroup(track, group);
  }

  // From every tier and all ways there. IsBelow() then: a tier takes nothing now, nor a removal.
  void Remove(const TrackName& track, uint64_t group, Instant now);
  // Forgets what outlived a track's objects; false if there are any.
  bool Forget(const TrackName& track, Instant now);

  // Tracks of which anything is known anywhere, in order, beginning behind one, at most so many.
  std::vector<TrackName> Tracks(const std::optional<TrackName>& after, size_t count_max) const;
  // Removes a track, or a group of it, from every tier, with all that is under way for it. It is
  // gone at once, and for good once all tickets have come back without an error.
  struct Erased {
    std::vector<StoreTicket> tickets;
    bool refused = false;  // By a tier that takes nothing now, or is not ready: ask again.
  };
  Erased Erase(const TrackName& track, std::optional<uint64_t> group, Instant now);
  // Objects of such tracks that came before now do not come back, from wherever they are on their
  // way.
  void Bar(std::function<bool(const TrackName&)> covers, Instant now);

  uint64_t WallAt(Instant now) const;
  StoreCounts counts() const;
  uint64_t demoting_bytes() const { return demotions_.bytes(); }
  // Payloads that are not durable yet and are to be, where those of this level go: whoever brings
  // more should wait.
  uint64_t pledged_bytes(Durability level) const;
  const ReadDesk& desk() const { return desk_; }

 private:
  using AskTier = std::function<Result<TierTicket>(LowerTier&)>;

  // Somebody waits for what a tier was asked for. `removed`: of a removal, the group, or all.
  StoreTicket Promise(size_t tier, TierTicket asked, size_t bytes, const TrackName& track,
                      Instant now, std::optional<std::optional<uint64_t>> removed = std::nullopt);
  void Settle(size_t tier, const PledgeBook::Pledge& pledge, const std::optional<Error>& error);
  // When a disk that is away has kept somebody waiting for too long, and what is done then.
  std::optional<Instant> FirstLate() const;
  void GiveUpLate(Instant now);
  // The level of the tiers that Write() chooses.
  Durability ReachedBy(Durability level) const;
  // Writes to the first tier for this level that takes it: what is of a group, where that is.
  Result<Asked> Write(const TrackName& track, std::optional<uint64_t> group, Durability level,
                      size_t payload_bytes, Instant now, const AskTier& ask);
  // Mismatch: a tier below has another one there, or is about to.
  Result<void> CheckBelow(const TrackName& track, const Object& object) const;
  std::optional<Location> FirstBelow(const TrackName& track, const LocationRange& range) const;
  std::optional<uint64_t> AbsentUpTo(const TrackName& track, Location location) const;
  // Whether a tier then knows all that is known of the track.
  bool TellTiers(const TrackName& track, Instant now);
  // Tells the tiers that have something of a group, or are about to, and do not know its end.
  void TellEnd(const TrackName& track, const GroupEnd& end, Instant now);
  // Returns where the ends of its groups are noted that are to be told, too.
  std::map<uint64_t, uint64_t>& NoteUntold(const TrackName& track, Instant now);
  // Tells them what they refused to be told before, now that one takes something of the track,
  void TellAgain(const TrackName& track, Instant now);
  // or when it is time: of a track that has ended nothing else may ever be written. Some of them.
  void TellSome(Instant now);
  void TellInTime(Instant now);
  // Forgets in RAM what a tier below knows of a track that has nothing in RAM.
  void LeaveToTiers(const TrackName& track, Instant now);
  void On(size_t tier, TierEvent event, Instant now);
  void OnFinished(ReadDesk::Finished finished, Instant now);
  // How long it may still be kept, in milliseconds; absent: for ever.
  std::optional<uint64_t> LeftOf(const TrackName& track, const StoredObject& stored,
                                 Instant now) const;
  void Promote(const TrackName& track, const StoredObject& stored, Instant now);
  void WarmSome(Instant now);
  bool IsBarred(const TrackName& track, uint64_t received_us) const;
  bool IsWhole(const EvictedContents& evicted) const;
  // To a tier of this kind, or of one further down.
  bool Demote(EvictedContents evicted, TierKind kind, Instant now);

  StoreOptions options_;
  RamTier ram_;
  TierSet tiers_;
  std::vector<bool> was_ready_;
  ReadDesk desk_;
  DemotionDesk demotions_;
  SpareSurvey spares_{tiers_};
  WarmQueue warming_;
  std::optional<Instant> warm_again_;  // There was too much to look through at once.
  PledgeBook pledges_;
  // Tracks of which a tier that has some of it, or is not ready, does not know all, each with ends
  // of groups;
  std::map<TrackName, std::map<uint64_t, uint64_t>> untold_;
  std::optional<TrackName> told_up_to_;  // those up to here were told, of all that wait,
  std::optional<Instant> tell_again_;    // and the next are told then.
  // Which tracks came to be barred, and what of them came until when; the last so many.
  std::deque<std::pair<std::function<bool(const TrackName&)>, uint64_t>> barred_;
  // Removals that a tier could not write: a start would bring back what they were for.
  std::map<TrackName, std::set<std::pair<size_t, std::optional<uint64_t>>>> unremoved_;
  StoreTicket last_ticket_ = 0;
  std::deque<StoreEvent> events_;
  // Of all tiers, which may have to look for it: asked for only when something was done to one.
  mutable std::optional<Instant> tiers_deadline_;
  mutable bool tiers_touched_ = true;
  StoreCounts counts_;
};

}  // namespace kvcast
