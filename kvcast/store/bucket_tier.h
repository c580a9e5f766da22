#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kvcast/base/log.h"
#include "kvcast/base/result.h"
#include "kvcast/base/time.h"
#include "kvcast/store/bucket.h"
#include "kvcast/store/bucket_calls.h"
#include "kvcast/store/bucket_reads.h"
#include "kvcast/store/bucket_survey.h"
#include "kvcast/store/bucket_tier_counts.h"
#include "kvcast/store/bucket_tier_options.h"
#include "kvcast/store/indexed_tier.h"
#include "kvcast/store/pack_absences.h"
#include "kvcast/store/pack_copies.h"
#include "kvcast/store/pack_doubts.h"
#include "kvcast/store/pack_merge.h"
#include "kvcast/store/pack_pools.h"
#include "kvcast/store/pack_queue.h"
#include "kvcast/store/pack_removals.h"
#include "kvcast/store/pack_table.h"

namespace kvcast {

// Objects in a bucket, in immutable packs that several nodes may share. docs/design/bucket-tier.md
// tells why it is built so.
//
// A put is too large if it does not fit a pack or too much waits, as it does when the bucket is
// away. A removal reaches what this node knows of: another node's put that it has not seen yet
// stays. Nothing is called back: requests for the bucket are taken out after every input, and what
// came of them is handed in.
class BucketTier final : public IndexedTier {
 public:
  enum class State : uint8_t { kOpening, kReady, kRefused };

  // REQUIRES: options.bytes_max is 0 or at least options.LeastBytes().
  explicit BucketTier(const BucketTierOptions& options, Log log = {});
  BucketTier(const BucketTier&) = delete;
  BucketTier& operator=(const BucketTier&) = delete;

  State state() const { return state_; }
  bool ready() const override { return state_ == State::kReady; }
  // Why the bucket is refused. REQUIRES: kRefused.
  const Error& refusal() const { return *refusal_; }
  // What the bucket last said when it failed, for a person; empty: it never did.
  const std::string& trouble() const {
    return calls_.last_error().empty() ? survey_trouble_ : calls_.last_error();
  }

  // For whoever drives it.
  std::vector<BucketRequest> TakeRequests(Instant now);
  void OnCompletion(BucketCompletion completion, Instant now);
  void OnTime(Instant now) override;
  std::optional<Instant> deadline() const override;

  // What waits is put into the bucket now, without waiting for more.
  void Flush(Instant now);

  // Answered within `get_patience`, and at once while the bucket is known to be away.
  std::optional<TierTicket> Get(const TrackName& track, Location location, Instant now) override;

  // Of the index, of what stands in more than one pack or is in doubt, of removals and how far they
  // reach.
  size_t index_bytes() const {
    return index_->bytes() + copies_.bytes() + doubts_.bytes() + removals_.bytes() +
           table_.horizon_bytes();
  }

  const PackTable& packs() const { return table_; }
  // Packs that the last whole survey saw and could not take in, or not with certainty all of them,
  // with why: the first ones.
  struct PassedOver {
    std::string key;
    std::string why;
  };
  const std::vector<PassedOver>& passed_over() const { return passed_over_; }
  const PackCopies& copies() const { return copies_; }
  uint64_t queued_bytes() const { return queue_.queued_bytes(); }
  bool away() const override { return calls_.breaker().open(); }
  // Nothing is under way or waiting but the next survey.
  bool idle() const;
  BucketTierCounts counts() const;

 private:
  using GroupName = std::pair<TrackName, uint64_t>;
  // A pack that is being given up: what it says is read, what must outlive it is written down
  // elsewhere, then it is deleted.
  struct Leaving {
    explicit Leaving(uint32_t pack) : segment(pack) {}
    uint32_t segment;
    std::optional<PackLoad> load;
    std::set<uint64_t> notes;  // When these records have settled it may go.
    bool notes_failed = false;
    bool gains = true;  // More room than its notes take again.
    BucketCalls::Id deleting = 0;
  };

  void Pump(Instant now);
  void StartSurvey(Instant now);
  void OnSurveyed(Instant now);
  void AddPack(BucketSurvey::Found found, Instant now);
  void PassOver(const std::string& key, const std::string& why);
  // Leaves out what another tier of the node answers for; whether there was any.
  bool DropOthers(SegmentContents& contents) const;
  // What a pack says, but for what is about to be removed from it.
  void ApplyContents(const SegmentContents& contents, uint32_t segment, bool only_removals,
                     const PackQueue::Removed& removed);
  void ApplyEntry(const TrackName& track, const EntryBody& body, uint32_t segment, uint64_t offset,
                  uint32_t length);
  // Groups that a pack says something of, and what is here of them now.
  using GroupsBefore = std::map<GroupName, GroupFacts>;
  GroupsBefore GroupsIn(const SegmentContents& contents) const;
  // Tells which of them others have made whole, or removed something of.
  void TellChanged(const GroupsBefore& before);
  // Nothing is known of the group but its end, and nothing is on its way.
  bool IsHollow(const TrackName& track, uint64_t group) const;
  void ForgetIfHollow(const TrackName& track, uint64_t group);
  void ApplyObject(const TrackName& track, const ObjectEntry& object, DiskPlace place,
                   uint32_t length);
  // Gives the tracks that lost something.
  std::set<TrackName> EraseContents(uint32_t segment);
  void DropPack(uint32_t segment);
  // There is no such pack any more, and we did not delete it.
  void OnGone(uint32_t segment);
  // Of what only a pack said: ends of groups, and facts (no group), of tracks that are still here.
  using Needed = std::vector<std::pair<TrackName, std::optional<uint64_t>>>;
  Needed StillNeeded(const PackCopies::Said& said, uint32_t segment) const;
  // When the index has no room: no more packs are read, and what lies in old ones is forgotten, so
  // that puts go on.
  bool IndexIsFull() const;
  void TellFull();
  void ForgetOldest();
  void SettlePacks(Instant now);
  void Settle(PackQueue::Settled settled, Instant now);
  void SettleRecord(const PackQueue::Record& record, std::optional<uint32_t> segment,
                    const std::optional<Error>& error);
  void TakeAnswers(Instant now);
  // Its pack has gone: what also stands in another one is read there.
  bool AskElsewhere(const BucketReads::Reading& reading, Instant now);

  // What came damaged is looked at again.
  struct PackLook {
    uint32_t segment = 0;
    PackLoad load;
  };
  bool MayLook() const;
  void StartLooks(Instant now);
  void LookAtPack(uint32_t segment, Instant now);
  bool OnLooked(const BucketCalls::Ended& ended, Instant now);
  void SettleLook(uint32_t segment, PackLoad::Outcome outcome, Instant now);
  void LookAtRecord(DiskPlace place, const PackDoubts::Record& record, Instant now);
  void OnDamagedRecord(const BucketReads::Reading& reading, bool is_look, Instant now);
  void EraseDamaged(const BucketReads::Reading& reading);
  // It was given up, and has come right.
  void TakeIn(const BucketReads::Reading& reading, const StoredObject& stored);

  // Packs that were given up and may be there all the same are deleted: nobody was told that they
  // are, and a removal that reaches them must not go before them.
  void TakeBack(Pack pack, Instant now);
  bool OnTakenBack(const BucketCalls::Ended& ended, Instant now);
  bool IsTakenBack(const std::string& key) const;
  BucketCalls::Id StartDelete(const std::string& key, Instant now);

  // Small packs are put together.
  void KeepMerging(Instant now);
  void StartMerge(Instant now);
  bool MayMerge(uint32_t segment, const Pack& pack) const;
  bool OnMerging(const BucketCalls::Ended& ended);
  // Writes once more what is alive in a pack that is to go; false: it has to stay.
  bool CarryOver(const PackMerge::Source& source, Instant now);
  bool CarryObject(const TrackName& track, const SegmentEntry& entry,
                   const PackMerge::Source& source, Instant now);
  void CarryNote(const TrackName& track, const RecordBody& body, Instant now);
  void LeaveMerged();

  // Room.
  void StartLeaving(Instant now);
  std::optional<uint32_t> Victim() const;
  // What each pool has in packs of this node; with `forgotten`, in those of which nothing is known
  // any more, too.
  std::vector<uint64_t> PoolBytes(bool forgotten) const;
  // Without it, its pool would have less than is reserved.
  bool IsReserved(const Pack& pack, const std::vector<uint64_t>& pool_bytes) const;
  // It removes what would be back without it.
  bool IsStillReached(const Pack& pack) const;
  bool OnLeaving(const BucketCalls::Ended& ended, Instant now);
  void TellLost(const SegmentContents& contents);
  void ForgetEmptyTracks(const std::set<TrackName>& tracks);
  void WriteNotes(const SegmentContents& contents, Instant now);
  // Absent: it cannot be written.
  std::optional<uint64_t> Note(const TrackName& track, const RecordBody& body, Instant now);
  void DeleteIfNoted(Instant now);

  Result<void> CheckTakes(Instant now) const override;
  Result<void> CheckFits(const TrackName& track, const RecordDraft& draft,
                         const EntryBody& entry) const override;
  bool IsDurable(DiskPlace place) const override;
  void Append(uint64_t record, const TrackName& track, RecordDraft draft, EntryBody entry,
              uint64_t received_us, Instant now) override;
  void OnRemove(const TrackName& track, std::optional<uint64_t> group) override;

  BucketTierOptions options_;
  Log logger_;
  State state_ = State::kOpening;
  std::optional<Error> refusal_;
  BucketCalls calls_;
  PackPools pools_;
  PackTable table_;
  PackRemovals removals_;
  PackCopies copies_;
  PackQueue queue_;
  BucketReads reads_;
  PackDoubts doubts_;
  PackAbsences absences_;
  std::list<PackLook> pack_looks_;
  std::set<TierTicket> record_looks_;
  std::optional<BucketSurvey> survey_;
  std::optional<Instant> next_survey_;
  bool survey_unread_ = false;
  std::vector<PassedOver> passed_over_;
  std::vector<PassedOver> survey_passed_over_;
  std::string survey_trouble_;                  // Why the last one failed.
  std::map<BucketCalls::Id, Pack> taken_back_;  // By their deletions.
  std::optional<PackMerge> merge_;
  std::optional<Instant> merge_at_;  // When to look for one.
  std::optional<Leaving> leaving_;
  Instant leave_again_{};
  bool was_away_ = false;
  bool told_full_ = false;
  BucketTierCounts counts_;
};

}  // namespace kvcast
