// How a bucket tier looks again at what came damaged, and finds out whether it is.
#include <algorithm>

#include "kvcast/store/bucket_tier.h"

namespace kvcast {
namespace {

// At the same time.
constexpr size_t kLooksMax = 16;

// What stands elsewhere, too, is read from there.
void ShelterFrom(const BucketReads::Reading& damaged, PackCopies& copies, DiskIndex& index) {
  const auto goes = [&](DiskPlace place) { return place == damaged.found.place; };
  copies.Shelter(damaged.track, damaged.location.group, goes, index);
}

}  // namespace

bool BucketTier::MayLook() const {
  return state_ == State::kReady && pack_looks_.size() + record_looks_.size() < kLooksMax;
}

void BucketTier::StartLooks(Instant now) {
  while (MayLook()) {
    const auto doubt = doubts_.TakeDue(now);
    if (!doubt) {
      return;
    }
    if (doubt->record) {
      LookAtRecord(doubt->place, *doubt->record, now);
    } else {
      LookAtPack(doubt->place.segment, now);
    }
  }
}

// Its end is all that is read, for to read all records costs as much as the pack: only the last
// time, when nothing better is to be hoped for.
void BucketTier::LookAtPack(uint32_t segment, Instant now) {
  const Pack& pack = table_.packs.at(segment);
  const bool is_looked_at = std::ranges::any_of(
      pack_looks_, [&](const PackLook& look) { return look.segment == segment; });
  if (pack.leaving || is_looked_at || IndexIsFull()) {
    return;
  }
  const auto depth = doubts_.OnlyOnceMore(PackDoubts::PlaceOf(segment)) ? PackLoad::Depth::kRecords
                                                                        : PackLoad::Depth::kEnd;
  pack_looks_.push_back({segment, PackLoad(pack.id, pack.key, pack.bytes, options_.key_property,
                                           calls_, now, depth)});
}

bool BucketTier::OnLooked(const BucketCalls::Ended& ended, Instant now) {
  const auto look = std::ranges::find_if(
      pack_looks_, [&](PackLook& one) { return one.load.OnEnded(ended, now); });
  if (look == pack_looks_.end()) {
    return false;
  }
  if (look->load.done()) {
    const uint32_t segment = look->segment;
    PackLoad::Outcome outcome = look->load.Take();
    pack_looks_.erase(look);
    SettleLook(segment, std::move(outcome), now);
  }
  return true;
}

void BucketTier::SettleLook(uint32_t segment, PackLoad::Outcome outcome, Instant now) {
  const Pack* const pack = table_.Find(segment);
  if (pack == nullptr || pack->leaving || pack->forgotten || outcome.unread) {
    return;
  }
  if (outcome.gone) {
    OnGone(segment);
    return;
  }
  const std::string key = pack->key;
  const bool whole = outcome.damaged == 0 && !outcome.refused;
  if (whole) {
    logger_.Info("pack came whole", {{"pack", key}});
    doubts_.Lift(PackDoubts::PlaceOf(segment));
    std::erase_if(passed_over_, [&](const PassedOver& one) { return one.key == key; });
  } else if (!doubts_.OnDamaged(PackDoubts::PlaceOf(segment), now)) {
    logger_.Error("pack damaged", {{"pack", key}, {"do", "see what 'kvcast store verify' says"}});
  }
  PackBody& body = outcome.body;
  table_.Reread(segment, body.written_us, pack->has_removals || body.has_removals(),
                std::make_shared<const PackHorizon>(std::move(body.seen)),
                pools_.OwnerOf(body.contents));
  Pack& read = table_.packs.at(segment);
  read.partly_ours = DropOthers(body.contents) || read.partly_ours;
  ApplyContents(body.contents, segment, false, queue_.RemovedFrom(pack->id));
}

void BucketTier::LookAtRecord(DiskPlace place, const PackDoubts::Record& record, Instant now) {
  const Pack& pack = table_.packs.at(place.segment);
  const auto found = index_->Find(record.track, record.location);
  const bool given_up = doubts_.IsGivenUp(place);
  if (pack.leaving || found.has_value() == given_up) {
    doubts_.Lift(place);  // It goes, or has gone; or it was put once more since it was given up.
    return;
  }
  if (calls_.breaker().Refuses(now)) {
    return;
  }
  record_looks_.insert(++last_ticket_);
  BucketReads::Reading reading{last_ticket_,
                               record.track,
                               record.location,
                               {place, record.length, 0},
                               now + options_.get_patience};
  reading.again = true;
  reads_.Ask(std::move(reading));
}

// It stays known, so that it is found when it comes right, and so that nothing else can be put in
// its stead. If it stands elsewhere as well, it is read from there.
void BucketTier::OnDamagedRecord(const BucketReads::Reading& reading, bool is_look, Instant now) {
  const DiskPlace damaged = reading.found.place;
  const Pack* const pack = table_.Find(damaged.segment);
  if (is_look) {
    if (!doubts_.OnDamaged(damaged, now)) {
      logger_.Warning("record damaged",
                      {{"pack", pack != nullptr ? pack->key : "gone"}, {"offset", damaged.offset}});
      EraseDamaged(reading);
    }
    return;
  }
  ++counts_.damaged;
  if (pack == nullptr || doubts_.Has(damaged)) {
    return;
  }
  doubts_.Add({damaged, PackDoubts::Record{reading.track, reading.location, reading.found.length}},
              now);
  if (doubts_.Has(damaged)) {
    logger_.Warning("record came damaged", {{"pack", pack->key}, {"offset", damaged.offset}});
  }
  ShelterFrom(reading, copies_, *index_);
  const auto found = index_->Find(reading.track, reading.location);
  if (found && found->place != damaged) {
    copies_.Add(reading.track, reading.location, damaged, reading.found.length);
  }
}

void BucketTier::EraseDamaged(const BucketReads::Reading& reading) {
  ShelterFrom(reading, copies_, *index_);
  index_->Erase(reading.track, reading.location, reading.found.place);
  const auto left = index_->Find(reading.track, reading.location);
  if (!left || !IsDurable(left->place)) {
    events_.push_back(TierEvicted{{reading.track, reading.location.group}});
  }
}

void BucketTier::TakeIn(const BucketReads::Reading& reading, const StoredObject& stored) {
  const DiskPlace place = reading.found.place;
  const Pack* const pack = table_.Find(place.segment);
  const uint64_t group = reading.location.group;
  if (pack == nullptr || pack->leaving || pack->forgotten ||
      index_->FindTrack(reading.track) == nullptr ||
      index_->Find(reading.track, reading.location) ||
      removals_.Covers(reading.track, group, pack->id, place.offset)) {
    return;
  }
  const RecordBody body = stored;
  const auto draft = RecordDraft::Of({reading.track, body});
  if (!draft.ok()) {
    return;
  }
  const GroupFacts was = index_->FindGroup(reading.track, group).value_or(GroupFacts());
  const EntryBody entry = EntryOf(body, draft->payload_sum(), options_.key_property);
  ApplyObject(reading.track, std::get<ObjectEntry>(entry), place, reading.found.length);
  TellChanged({{{reading.track, group}, was}});
}

}  // namespace kvcast
