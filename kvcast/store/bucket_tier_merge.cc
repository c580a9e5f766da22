// How small packs of a bucket tier become large ones.
#include <algorithm>
#include <utility>

#include "kvcast/store/bucket_tier.h"

namespace kvcast {
namespace {

// After one merge the next comes sooner than a look that found nothing.
constexpr int kMergeNextPart = 8;
// Of what may wait for the bucket, and of what may be read from it.
constexpr uint64_t kMergeQueuePart = 2;
constexpr uint64_t kMergeReadPart = 4;
// A budget has to have room for the new pack beside the old ones, and for one that is put
// meanwhile.
constexpr uint64_t kMergeRoomPacks = 2;
// Other nodes have so many listings to hear of the new pack before the old ones go.
constexpr int kMergeListings = 2;

}  // namespace

bool BucketTier::MayMerge(uint32_t segment, const Pack& pack) const {
  return !pack.leaving && !pack.forgotten && !pack.unmergeable && !pack.partly_ours &&
         pack.missed == 0 && !doubts_.Has(PackDoubts::PlaceOf(segment)) && !IsStillReached(pack);
}

void BucketTier::StartMerge(Instant now) {
  merge_at_ = now + options_.merge_every;
  const uint64_t bytes_max =
      std::min({options_.pack_bytes, options_.queue_bytes_max / kMergeQueuePart,
                options_.read_bytes_max / kMergeReadPart});
  const bool has_room =
      options_.bytes_max == 0 ||
      table_.own_bytes + kMergeRoomPacks * options_.pack_bytes <= options_.bytes_max;
  const bool idle_enough = queue_.queued_bytes() + bytes_max <= options_.queue_bytes_max &&
                           reads_.bytes() + bytes_max < options_.read_bytes_max;
  if (away() || !has_room || !idle_enough || IndexIsFull()) {
    return;
  }
  const std::vector<uint32_t> chosen = PackMerge::Choose(
      table_, {options_.merge_packs_min, bytes_max},
      [this](uint32_t segment, const Pack& pack) { return MayMerge(segment, pack); });
  if (!chosen.empty()) {
    merge_.emplace(chosen, table_, calls_, now);
  }
}

bool BucketTier::OnMerging(const BucketCalls::Ended& ended) {
  return merge_ && merge_->OnEnded(ended, table_);
}

void BucketTier::KeepMerging(Instant now) {
  if (!merge_) {
    if (merge_at_ && now >= *merge_at_) {
      StartMerge(now);
    }
    return;
  }
  if (merge_->reading() || (merge_->leave_at && now < *merge_->leave_at)) {
    return;
  }
  if (!merge_->written) {
    merge_->written = true;
    // What is put meanwhile must not wait beyond its bound for what need not be written at all.
    if (queue_.queued_bytes() + merge_->bytes() <= options_.queue_bytes_max) {
      queue_.Close(now);
      std::erase_if(merge_->sources, [&](const auto& source) { return !CarryOver(source, now); });
      queue_.Close(now);
      queue_.Pump(calls_, now);
    } else {
      merge_->sources.clear();
    }
    merge_->DropBytes();
  }
  if (!merge_->records.empty()) {
    return;
  }
  if (merge_->failed()) {
    merge_->sources.clear();
  }
  if (!merge_->leave_at && !merge_->sources.empty()) {
    merge_->leave_at = now + kMergeListings * options_.survey_every;
    return;
  }
  LeaveMerged();
  if (merge_->sources.empty() && !leaving_) {
    merge_at_ = now + options_.merge_every / (merge_->failed() ? 1 : kMergeNextPart);
    merge_.reset();
  }
}

// What has another place already is not written again, if that is sure to stay.
bool BucketTier::CarryObject(const TrackName& track, const SegmentEntry& entry,
                             const PackMerge::Source& source, Instant now) {
  const Location location = std::get<ObjectEntry>(entry.body).location;
  const auto found = index_->Find(track, location);
  const bool stands_elsewhere =
      found && found->place.segment != source.segment && IsDurable(found->place);
  if (!found || stands_elsewhere || merge_->objects.contains({track, location})) {
    return true;
  }
  if (entry.offset + entry.length > source.bytes.size() || doubts_.Has(found->place)) {
    return false;
  }
  const PackId& id = table_.packs.at(source.segment).id;
  auto parsed =
      ParseRecord(source.bytes.Slice(entry.offset, entry.length), id.SeatAt(entry.offset));
  const auto* const stored =
      parsed.ok() ? std::get_if<StoredObject>(&parsed->record.body) : nullptr;
  if (stored == nullptr || parsed->record.track != track || stored->object.location != location) {
    return false;
  }
  const auto draft = RecordDraft::Of(parsed->record);
  if (!draft.ok()) {
    return false;
  }
  EntryBody body = EntryOf(parsed->record.body, draft->payload_sum(), options_.key_property);
  const uint32_t identity = std::get<ObjectEntry>(body).identity;
  if (identity != found->identity || !queue_.CheckFits(track, *draft, body).ok()) {
    return false;
  }
  const uint64_t record = Await({{}, track, location.group, location, identity});
  merge_->objects.emplace(track, location);
  merge_->records.insert(record);
  queue_.Append(record, track, *draft, std::move(body), stored->received_us, now);
  return true;
}

void BucketTier::CarryNote(const TrackName& track, const RecordBody& body, Instant now) {
  if (const auto record = Note(track, body, now)) {
    merge_->records.insert(*record);
  }
}

// Ends and facts as they are known now, which is all that any pack says of them.
bool BucketTier::CarryOver(const PackMerge::Source& source, Instant now) {
  const Pack* const pack = table_.Find(source.segment);
  if (pack == nullptr || !MayMerge(source.segment, *pack)) {
    return false;
  }
  for (const SegmentEntry& entry : source.body.contents.entries) {
    const TrackName& track = source.body.contents.track_of(entry);
    if (std::holds_alternative<ObjectEntry>(entry.body)) {
      if (!CarryObject(track, entry, source, now)) {
        table_.packs.at(source.segment).unmergeable = true;
        return false;
      }
    } else if (const auto* end = std::get_if<GroupEnd>(&entry.body)) {
      const auto known = index_->FindGroup(track, end->group);
      if (known && known->end && !IsHollow(track, end->group) &&
          merge_->notes.insert({track, end->group}).second) {
        CarryNote(track, GroupEnd{end->group, *known->end}, now);
      }
    }
  }
  for (const TrackName& track : source.body.contents.tracks) {
    const TrackFacts* const facts = index_->FindTrack(track);
    if (facts != nullptr && index_->FactsNeed(track, source.segment) &&
        merge_->notes.insert({track, std::nullopt}).second) {
      CarryNote(track, *facts, now);
    }
  }
  return true;
}

// One at a time, each looked at once more: what it holds may have lost its other place since.
void BucketTier::LeaveMerged() {
  while (!leaving_ && !merge_->sources.empty()) {
    const PackMerge::Source source = std::move(merge_->sources.back());
    merge_->sources.pop_back();
    const Pack* const pack = table_.Find(source.segment);
    const SegmentContents& contents = source.body.contents;
    const bool stands_there = std::ranges::any_of(contents.entries, [&](const SegmentEntry& entry) {
      const auto* const object = std::get_if<ObjectEntry>(&entry.body);
      const auto found = object == nullptr
                             ? std::nullopt
                             : index_->Find(contents.track_of(entry), object->location);
      return found && found->place.segment == source.segment;
    });
    const Needed needed = StillNeeded(copies_.SaidIn(source.segment), source.segment);
    const bool ends_there =
        std::ranges::any_of(needed, [](const auto& one) { return one.second.has_value(); });
    if (pack == nullptr || !MayMerge(source.segment, *pack) || stands_there || ends_there) {
      continue;
    }
    ++counts_.packs_merged;
    table_.packs.at(source.segment).leaving = true;
    leaving_.emplace(source.segment);
    std::set<TrackName> tracks = EraseContents(source.segment);
    tracks.insert(contents.tracks.begin(), contents.tracks.end());
    ForgetEmptyTracks(tracks);
  }
}

}  // namespace kvcast
