// How a bucket tier gets room for new packs.
#include <algorithm>
#include <set>

#include "kvcast/store/bucket_tier.h"

namespace kvcast {
namespace {

constexpr Duration kLeaveAgain = std::chrono::seconds(5);
constexpr uint32_t kLeaveTries = 4;

}  // namespace

std::vector<uint64_t> BucketTier::PoolBytes(bool forgotten) const {
  std::vector<uint64_t> bytes(pools_.size());
  for (const auto& [segment, pack] : table_.packs) {
    if (table_.Own(pack) && (forgotten || !pack.forgotten)) {
      bytes[pack.owner.pool] += pack.bytes;
    }
  }
  return bytes;
}

bool BucketTier::IsReserved(const Pack& pack, const std::vector<uint64_t>& pool_bytes) const {
  const uint32_t pool = pack.owner.pool;
  return table_.Own(pack) && pools_.reserved(pool) > 0 &&
         pool_bytes[pool] < pack.bytes + pools_.reserved(pool);
}

bool BucketTier::IsStillReached(const Pack& pack) const {
  const auto reached = [&pack](const auto& other) {
    return other.second.id != pack.id && pack.owner.RemovesFrom(other.second.owner) &&
           Reaches(pack.id, *pack.seen, other.second.id);
  };
  return pack.has_removals &&
         (std::ranges::any_of(table_.packs, reached) || std::ranges::any_of(taken_back_, reached));
}

// The oldest of the pool that has most beyond its reservation; where nobody has so much that a pack
// may go, of the pool that wants the room.
std::optional<uint32_t> BucketTier::Victim() const {
  const std::vector<uint64_t> pool_bytes = PoolBytes(true);
  std::vector<std::optional<uint32_t>> oldest(pools_.size());
  const auto age = [](const Pack& pack) { return std::pair(pack.written_us, pack.id.number); };
  for (const auto& [segment, pack] : table_.packs) {
    std::optional<uint32_t>& first = oldest[pack.owner.pool];
    if (table_.Own(pack) && (!first || age(pack) < age(table_.packs.at(*first))) &&
        !IsStillReached(pack)) {
      first = segment;
    }
  }
  std::optional<uint32_t> victim;
  uint64_t most = 0;
  for (uint32_t pool = 0; pool < pools_.size(); ++pool) {
    const bool may_go = oldest[pool] && !IsReserved(table_.packs.at(*oldest[pool]), pool_bytes);
    if (may_go && (!victim || pool_bytes[pool] - pools_.reserved(pool) > most)) {
      victim = oldest[pool];
      most = pool_bytes[pool] - pools_.reserved(pool);
    }
  }
  return victim ? victim : oldest[queue_.wanting_pool()];
}

void BucketTier::StartLeaving(Instant now) {
  if (leaving_ || !queue_.wants_room() || now < leave_again_) {
    return;
  }
  const auto victim = Victim();
  if (!victim) {
    leave_again_ = now + kLeaveAgain;
    return;
  }
  Pack& pack = table_.packs.at(*victim);
  pack.leaving = true;
  leaving_.emplace(*victim);
  leaving_->load.emplace(pack.id, pack.key, pack.bytes, options_.key_property, calls_, now);
}

bool BucketTier::OnLeaving(const BucketCalls::Ended& ended, Instant now) {
  if (!leaving_) {
    return false;
  }
  if (leaving_->load && leaving_->load->OnEnded(ended, now)) {
    if (leaving_->load->done()) {
      PackLoad::Outcome outcome = leaving_->load->Take();
      (void)DropOthers(outcome.body.contents);
      leaving_->load.reset();
      Pack& pack = table_.packs.at(leaving_->segment);
      // What came damaged may be whole where it lies.
      const bool again = outcome.damaged > 0 && ++pack.damaged_count < kLeaveTries;
      if (outcome.unread || again) {
        pack.leaving = false;
        leaving_.reset();
        leave_again_ = now + kLeaveAgain;
      } else {
        WriteNotes(outcome.body.contents, now);
      }
    }
    return true;
  }
  if (leaving_->deleting == 0 || ended.id != leaving_->deleting) {
    return false;
  }
  if (ended.completion.error && ended.completion.error->kind != BucketError::Kind::kNotFound) {
    // Nothing of it is listed any more; its room is not ours before it has gone.
    logger_.Warning("pack not removed", {{"reason", ended.completion.error->message}});
    leave_again_ = now + kLeaveAgain;
    table_.packs.at(leaving_->segment).leaving = false;
  } else {
    DropPack(leaving_->segment);
    ++counts_.packs_removed;
    if (!leaving_->gains) {
      leave_again_ = now + kLeaveAgain;
    }
  }
  leaving_.reset();
  return true;
}

std::optional<uint64_t> BucketTier::Note(const TrackName& track, const RecordBody& body,
                                         Instant now) {
  const auto draft = RecordDraft::Of({track, body});
  EntryBody entry = EntryOf(body, 0, 0);
  if (!draft.ok() || !queue_.CheckFits(track, *draft, entry).ok()) {
    return std::nullopt;
  }
  Waiting waiting{{}, track};
  const auto* const end = std::get_if<GroupEnd>(&entry);
  waiting.group = end == nullptr ? std::nullopt : std::optional(end->group);
  waiting.describes = std::holds_alternative<TrackFacts>(entry);
  const uint64_t record = Await(std::move(waiting));
  queue_.Append(record, track, *draft, std::move(entry), 0, now);
  return record;
}

// With what came damaged when the pack was first read, and so was never listed here.
void BucketTier::TellLost(const SegmentContents& contents) {
  std::set<std::pair<uint32_t, uint64_t>> lost;
  for (const SegmentEntry& entry : contents.entries) {
    const auto* object = std::get_if<ObjectEntry>(&entry.body);
    const TrackName& track = contents.track_of(entry);
    if (object != nullptr && !index_->Find(track, object->location) &&
        lost.insert({entry.track, object->location.group}).second) {
      events_.push_back(TierEvicted{{track, object->location.group}});
    }
  }
}

void BucketTier::ForgetEmptyTracks(const std::set<TrackName>& tracks) {
  std::set<TrackName> waited;
  for (const auto& [record, waiting] : waiting_) {
    waited.insert(waiting.track);
  }
  for (const TrackName& track : tracks) {
    if (!index_->GroupFrom(track, 0) && !waited.contains(track)) {
      index_->EraseTrack(track);
      copies_.Forget(track, std::nullopt);
    }
  }
}

void BucketTier::WriteNotes(const SegmentContents& contents, Instant now) {
  const uint32_t segment = leaving_->segment;
  TellLost(contents);
  // What the pack says now may be less than what was known of it: it may be damaged, or gone. And
  // it may be more: the index may have forgotten it.
  PackCopies::Said said = copies_.SaidIn(segment);
  std::set<TrackName> tracks = EraseContents(segment);
  for (const SegmentEntry& entry : contents.entries) {
    const TrackName& track = contents.track_of(entry);
    if (const auto* end = std::get_if<GroupEnd>(&entry.body)) {
      said[track].insert(end->group);
    } else if (!std::holds_alternative<Removal>(entry.body)) {
      said[track];
    }
    tracks.insert(track);
  }
  // Of a track without objects nothing is known: that is never wrong.
  ForgetEmptyTracks(tracks);
  queue_.Close(now);
  for (const auto& [track, group] : StillNeeded(said, segment)) {
    // What was the largest object of a track is known from its objects, too.
    const RecordBody body =
        group ? RecordBody(GroupEnd{*group, *index_->FindGroup(track, *group)->end})
              : RecordBody(*index_->FindTrack(track));
    if (const auto record = Note(track, body, now)) {
      leaving_->notes.insert(*record);
    }
  }
  // Where all packs hold notes alone, each that leaves makes another one like it: not at once,
  // then, until somebody gives up what waits for room.
  leaving_->gains = leaving_->notes.empty() ||
                    std::ranges::any_of(contents.entries, [](const SegmentEntry& entry) {
                      return std::holds_alternative<ObjectEntry>(entry.body);
                    });
  if (!leaving_->notes.empty() && !queue_.CloseWithLastRoom(*leaving_->notes.begin(), now)) {
    SettlePacks(now);
    leaving_->notes_failed = false;  // It goes without them, or nothing ever would.
  }
}

void BucketTier::DeleteIfNoted(Instant now) {
  if (!leaving_ || leaving_->load || leaving_->deleting != 0 || !leaving_->notes.empty()) {
    return;
  }
  Pack& pack = table_.packs.at(leaving_->segment);
  if (leaving_->notes_failed) {
    pack.leaving = false;
    leaving_.reset();
    leave_again_ = now + kLeaveAgain;
    return;
  }
  leaving_->deleting = StartDelete(pack.key, now);
}

}  // namespace kvcast
