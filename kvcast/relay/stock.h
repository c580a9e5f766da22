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
#include <vector>

#include "kvcast/base/log.h"
#include "kvcast/base/result.h"
#include "kvcast/relay/ack_book.h"
#include "kvcast/relay/catalogs.h"
#include "kvcast/relay/expiry_book.h"
#include "kvcast/relay/forget_scope.h"
#include "kvcast/relay/limits.h"
#include "kvcast/relay/relay_metrics.h"
#include "kvcast/store/counted_allocator.h"
#include "kvcast/store/store.h"

namespace kvcast::relay {

// What a node has, and what it tells of it: the store, the catalogs and the acknowledgements, kept
// in step. A group is listed while some tier has it whole, if its first object carries a key; it is
// unlisted when none does, or any object of it may be kept no longer.
class Stock {
 public:
  Stock(const StoreOptions& store, const NodeId& node, const BootId& boot, const Limits& limits,
        RelayMetrics& metrics, Log log);

  void AddTier(TierKind kind, std::unique_ptr<LowerTier> tier,
               std::unique_ptr<Admission> admission) {
    store_.AddTier(kind, std::move(tier), std::move(admission));
  }
  Store& store() { return store_; }
  const Catalogs& catalogs() const { return catalogs_; }
  Catalogs& catalogs() { return catalogs_; }
  AckBook& acks() { return acks_; }
  std::optional<TrackFacts> Find(const TrackName& track) const { return store_.Find(track); }
  std::optional<GroupFacts> FindGroup(const TrackName& track, uint64_t group) const {
    return store_.FindGroup(track, group);
  }
  bool IsGone(const TrackName& track, const LocationRange& range) const {
    return store_.IsGone(track, range);
  }
  // Every tier is ready, and what it holds is listed.
  bool opened() const { return store_.opened() && listed(); }
  // What tiers hold that are ready is listed.
  bool listed() const { return listings_.empty() && undated_.empty(); }

  // A track that is published now, and how durable it is to be.
  Result<void> Describe(const TrackName& track, const Properties& properties,
                        std::optional<Location> largest, Durability level, Instant now);
  // An ack track has come to be, or has a new object, which is not kept.
  Result<void> KeepAck(const TrackName& track, std::optional<Location> largest, Instant now);
  // Somebody follows an ack track: what is here of the tracks that it tells of is told, whoever
  // published them, and when.
  void RecallAcks(const TrackName& ack_track, Instant until, Instant now);
  struct Stay {
    std::optional<Instant> since;  // When the object began to come; now if nothing is said.
    std::optional<Instant> until;  // From then on nobody can tell whether it exists.
  };
  // True if the object is new.
  Result<bool> Keep(const TrackName& track, const Object& object, Durability level, Instant now,
                    const Stay& stay = {});
  // No object of the group stands there or beyond, says the track's publisher. Mismatch: one does.
  Result<void> CheckGroupEnd(const TrackName& track, uint64_t group, uint64_t end) const {
    return store_.CheckGroupEnd(track, group, end);
  }
  // The same, and remembers it.
  Result<void> EndGroup(const TrackName& track, uint64_t group, uint64_t end, Durability level,
                        Instant now);
  // The last object that came is the track's last.
  Result<void> EndTrack(const TrackName& track, Instant now);
  Result<void> EndTrack(const TrackName& track, Location end, Instant now) {
    return store_.EndTrack(track, end, now);
  }

  // Nothing stands there, says the track's publisher. Mismatch: something does.
  Result<void> CheckGap(const TrackName& track, const LocationRange& gap) const {
    return store_.CheckGap(track, gap);
  }
  // Remembers it. REQUIRES: CheckGap() passes.
  void AddGap(const TrackName& track, const LocationRange& gap, Durability level, Instant now);

  // So much has come of what is not here yet. It takes the room that blocks would have.
  void CountReceived(size_t bytes, Instant now);

  // A tier had input, or the time has come for something.
  void OnTime(Instant now);
  // Gives up what may be kept no longer, and takes what is there.
  void OnInput(Instant now);
  std::optional<Instant> deadline() const;
  // What has come of what was asked for.
  std::vector<StoreRead> TakeReads() { return std::exchange(reads_, {}); }

  // Brings the catalogs up to date. Their new objects are in RAM; what is left is to tell those who
  // follow them.
  std::vector<CatalogChange> Settle(Instant now);
  // Tracks that have lost their last group since the last call.
  std::vector<TrackName> TakeEmptied() { return std::exchange(emptied_, {}); }
  void Forget(const TrackName& track, Instant now) { (void)store_.Forget(track, now); }
  // Removes what somebody wants gone from every tier and from the catalogs, stock_forget.cc. It is
  // gone when a later call says so: nothing is left of it then, and nothing pending.
  ForgetReport ForgetAll(const ForgetScope& scope, Instant now, bool dry_run = false);
  // Tenants of which something is here that were not named before; true: since before this run.
  std::vector<std::pair<std::string, bool>> TakeTenants() {
    return std::exchange(new_tenants_, {});
  }
  // Removals that are still on their way.
  size_t forgetting() const { return forgetting_.size(); }
  // Removes all that is here of a track.
  void Discard(const TrackName& track, Instant now);

 private:
  using GroupName = std::pair<TrackName, uint64_t>;
  // Of groups that are not whole yet.
  using Keys = std::map<GroupName, Digest, std::less<>,
                        CountedAllocator<std::pair<const GroupName, Digest>>>;
  // A tier whose groups are being listed.
  struct Listing {
    size_t tier;
    std::optional<EvictedGroup> after;
  };

  void TakeEvents(Instant now);
  void OnMoved(const EvictedGroup& moved);
  void OnWritten(const StoreWritten& written);
  // Those of them that have become durable.
  void Acknowledge(const std::vector<EvictedGroup>& groups);
  // Absent: it is nowhere whole.
  std::optional<Durability> LevelOf(const TrackName& track, uint64_t group) const;
  void OnForgotten(const StoreWritten& written);
  void TakeErased(const Store::Erased& erased, ForgetReport& report);
  void CountGroup(const TrackName& track, uint64_t group, ForgetReport& report) const;
  void CountAll(const ForgetScope& scope, const TrackName& track, ForgetReport& report);
  void ForgetGroup(const TrackName& track, uint64_t group);
  void ForgetTrack(const TrackName& track, Instant now, ForgetReport& report);
  // Those groups of it that have this key.
  void ForgetBlock(const TrackName& track, const Digest& key, Instant now, ForgetReport& report);
  void NoteTenant(const TrackName& track, bool from_tier);
  // Lists or unlists a group, as it is whole somewhere or not.
  void Relist(const TrackName& track, uint64_t group);
  bool ListIfWhole(const TrackName& track, uint64_t group);
  std::optional<Digest> KeyOf(const TrackName& track, uint64_t group);
  void Unlist(const TrackName& track, uint64_t group);
  void Expire(Instant now);
  void ExpireGroup(const TrackName& track, uint64_t group, Instant now);
  void ListSome();
  void List(const ListedGroup& group);
  void DateSome(Instant now);
  void OnDated(const StoreRead& read, Instant now);
  std::optional<ListedGroup> NextUndated(Instant now);
  void ListDated(const ListedGroup& group);
  void DateLater(ListedGroup group, Instant now);
  void NoteKey(const TrackName& track, uint64_t group, const Digest& key);
  void DropKey(const TrackName& track, uint64_t group);
  // What the books take is part of the memory for blocks.
  void CountBooks(Instant now);
  void KeepCatalog(const CatalogChange& change, Instant now);

  Store store_;
  Catalogs catalogs_;
  AckBook acks_;
  ExpiryBook expiries_;
  RelayMetrics* metrics_;
  Log log_;
  std::function<std::optional<uint64_t>(const Properties&)> max_cache_ms_;
  size_t key_bytes_ = 0;
  size_t received_bytes_ = 0;
  Keys keys_{CountedAllocator<std::pair<const GroupName, Digest>>(&key_bytes_)};
  std::deque<Listing> listings_;
  // Groups that may be kept only for so long, and nobody knows since when.
  std::deque<ListedGroup> undated_;
  // Those of them that could not be read, and when they are to be read again: nobody waits for
  // them.
  std::deque<std::pair<Instant, ListedGroup>> undated_later_;
  std::map<StoreTicket, ListedGroup> dating_;
  std::vector<StoreRead> reads_;
  std::vector<TrackName> emptied_;
  std::set<StoreTicket> forgetting_;  // Removals on their way to tiers.
  bool forgetting_failed_ = false;    // One of them has not been written.
  bool warned_of_room_ = false;       // That there is none for more catalogs.
  std::set<std::string, std::less<>> tenants_;
  std::vector<std::pair<std::string, bool>> new_tenants_;
};

}  // namespace kvcast::relay
