// How a bucket tier learns of packs, its own and others'.
#include <algorithm>
#include <set>

#include "kvcast/store/bucket_tier.h"

namespace kvcast {
namespace {

// A bucket that could not be read, or not as a whole, is read again after this.
constexpr Duration kSurveyAgain = std::chrono::seconds(5);
constexpr Duration kOpenBucketAgain = std::chrono::seconds(1);
constexpr size_t kPassedOverMax = 1000;
constexpr Duration kDeleteAttempt = std::chrono::seconds(10);
constexpr Duration kDeletePatience = std::chrono::seconds(60);
constexpr Duration kDeleteDelay = std::chrono::milliseconds(200);

// Of an object, or of an end.
std::optional<uint64_t> GroupOf(const EntryBody& body) {
  if (const auto* object = std::get_if<ObjectEntry>(&body)) {
    return object->location.group;
  }
  const auto* end = std::get_if<GroupEnd>(&body);
  return end == nullptr ? std::nullopt : std::optional(end->group);
}

}  // namespace

void BucketTier::StartSurvey(Instant now) {
  next_survey_.reset();
  survey_unread_ = false;
  survey_passed_over_.clear();
  absences_.Begin(table_);
  const auto known = [this](const std::string& key) {
    if (const auto found = table_.by_key.find(key); found != table_.by_key.end()) {
      absences_.OnShown(table_.packs.at(found->second));
      return true;
    }
    return queue_.Holds(key) || IsTakenBack(key);
  };
  survey_.emplace(BucketSurvey::Options{options_.prefix, options_.key_property, options_.packs_max,
                                        known, [this] { return IndexIsFull(); }},
                  calls_, now);
}

void BucketTier::OnSurveyed(Instant now) {
  for (BucketSurvey::Found& found : survey_->TakeFound()) {
    if (found.outcome.refused && state_ == State::kOpening) {
      state_ = State::kRefused;
      refusal_ = found.outcome.refused;
      logger_.Error("bucket refused", {{"reason", refusal_->ToString()}});
      survey_.reset();
      return;
    }
    AddPack(std::move(found), now);
  }
  if (!survey_->done()) {
    return;
  }
  counts_.foreign = survey_->foreign();
  const bool failed = survey_->failure().has_value();
  if (failed) {
    ++counts_.surveys_failed;
    survey_trouble_ = survey_->failure()->message;
    logger_.Warning("bucket not read", {{"reason", survey_->failure()->message}});
  }
  if (survey_->cut()) {
    logger_.Warning("bucket holds too many packs", {{"most", options_.packs_max}});
    PassOver(PackKeyStart(options_.prefix), "holds more packs than are read");
  }
  if (!failed && !survey_->cut()) {
    absences_.OnListed(table_);
  }
  counts_.left_out = survey_->left_out();
  if (counts_.left_out > 0) {
    PassOver(PackKeyStart(options_.prefix),
             "the index has no room for " + std::to_string(counts_.left_out) + " of its packs");
  }
  for (const uint32_t segment : doubts_.Packs()) {
    PassOver(table_.packs.at(segment).key, "came damaged: what is known of it may not be all");
  }
  survey_.reset();
  if (!failed) {
    passed_over_ = std::move(survey_passed_over_);
  }
  if (counts_.left_out > 0) {
    TellFull();
  } else {
    told_full_ = told_full_ && IndexIsFull();
  }
  if (state_ == State::kOpening && failed) {
    next_survey_ = now + kOpenBucketAgain;
    return;
  }
  if (failed || survey_unread_) {
    next_survey_ = now + kSurveyAgain;
  } else if (options_.survey_every > Duration(0)) {
    next_survey_ = now + options_.survey_every;
  }
  if (state_ == State::kOpening) {
    state_ = State::kReady;
    merge_at_ = options_.merge_every > Duration(0) ? std::optional(now + options_.merge_every)
                                                   : std::nullopt;
    index_->EraseHollowGroups();
    logger_.Info("bucket read", {{"packs", table_.packs.size()},
                                 {"objects", index_->object_count()},
                                 {"damaged", counts_.damaged}});
  }
}

void BucketTier::PassOver(const std::string& key, const std::string& why) {
  if (survey_passed_over_.size() < kPassedOverMax) {
    survey_passed_over_.push_back({key, why});
  }
}

void BucketTier::AddPack(BucketSurvey::Found found, Instant now) {
  PackLoad::Outcome& outcome = found.outcome;
  counts_.damaged += outcome.damaged;
  if (outcome.refused) {
    logger_.Warning("pack left alone", {{"reason", outcome.refused->ToString()}});
    PassOver(found.key, outcome.refused->message());
    return;
  }
  if (outcome.unread) {
    ++counts_.unread;
    survey_unread_ = true;
    PassOver(found.key, "cannot be read: " + trouble());
    return;
  }
  if (outcome.gone || table_.Has(found.key) || queue_.Holds(found.key) || IsTakenBack(found.key)) {
    return;
  }
  // A removal that waits was said before this was known, and must not reach it.
  if (queue_.open_removes()) {
    queue_.Close(now);
  }
  // Several packs are read at a time: those that come when it is too late only say what is removed.
  const bool no_room = index_bytes() >= options_.index_bytes_max;
  if (no_room) {
    ++counts_.forgotten;
    TellFull();
  }
  const bool removes = outcome.body.has_removals();
  PackOwner owner = pools_.OwnerOf(outcome.body.contents);
  const bool partly_ours = DropOthers(outcome.body.contents);
  const uint32_t segment =
      table_.Add({.id = found.id,
                  .key = found.key,
                  .bytes = found.bytes,
                  .written_us = outcome.body.written_us,
                  .has_removals = removes,
                  .seen = std::make_shared<const PackHorizon>(std::move(outcome.body.seen)),
                  .owner = std::move(owner),
                  .forgotten = no_room,
                  .partly_ours = partly_ours});
  if (outcome.damaged > 0 && !no_room) {
    logger_.Warning("pack came damaged", {{"pack", found.key}});
    doubts_.Add({PackDoubts::PlaceOf(segment)}, now);
  }
  ApplyContents(outcome.body.contents, segment, no_room, {});
}

bool BucketTier::DropOthers(SegmentContents& contents) const {
  return options_.owns && std::erase_if(contents.entries, [&](const SegmentEntry& entry) {
                            return !options_.owns(contents.track_of(entry).space());
                          }) > 0;
}

void BucketTier::ApplyContents(const SegmentContents& contents, uint32_t segment,
                               bool only_removals, const PackQueue::Removed& removed) {
  // At a start all there is will be listed.
  const auto before = state_ == State::kReady ? GroupsIn(contents) : GroupsBefore();
  for (const SegmentEntry& entry : contents.entries) {
    const TrackName& track = contents.track_of(entry);
    const auto group = GroupOf(entry.body);
    const bool goes =
        removed.contains({track, std::nullopt}) || (group && removed.contains({track, group}));
    if (std::holds_alternative<Removal>(entry.body) || (!only_removals && !goes)) {
      ApplyEntry(track, entry.body, segment, entry.offset, entry.length);
    }
  }
  TellChanged(before);
  for (const auto& [name, was] : before) {
    ForgetIfHollow(name.first, name.second);
  }
}

// That its group ends somewhere is not worth remembering when all of it has gone, and would be
// written down again for ever. Should some of it come, the end is known beside the index.
void BucketTier::ForgetIfHollow(const TrackName& track, uint64_t group) {
  if (IsHollow(track, group)) {
    index_->EraseGroup(track, group, 0);
  }
}

bool BucketTier::IsHollow(const TrackName& track, uint64_t group) const {
  const auto found = index_->FindGroup(track, group);
  return found && found->hollow() && !Expects(track, group);
}

BucketTier::GroupsBefore BucketTier::GroupsIn(const SegmentContents& contents) const {
  GroupsBefore groups;
  const auto add = [&](const TrackName& track, uint64_t group) {
    groups.try_emplace({track, group}, index_->FindGroup(track, group).value_or(GroupFacts()));
  };
  for (const SegmentEntry& entry : contents.entries) {
    const TrackName& track = contents.track_of(entry);
    if (const auto* object = std::get_if<ObjectEntry>(&entry.body)) {
      add(track, object->location.group);
    } else if (const auto* end = std::get_if<GroupEnd>(&entry.body)) {
      add(track, end->group);
    } else if (const auto* facts = std::get_if<TrackFacts>(&entry.body)) {
      for (const LocationRange& gap : facts->gaps) {
        if (gap.first.group == gap.last.group && index_->FindGroup(track, gap.first.group)) {
          add(track, gap.first.group);
        }
      }
    } else if (const auto* removal = std::get_if<Removal>(&entry.body)) {
      auto group = removal->group ? removal->group : index_->GroupFrom(track, 0);
      while (group) {
        add(track, *group);
        const bool last = removal->group || *group == UINT64_MAX;
        group = last ? std::nullopt : index_->GroupFrom(track, *group + 1);
      }
    }
  }
  return groups;
}

void BucketTier::TellChanged(const GroupsBefore& before) {
  for (const auto& [name, was] : before) {
    auto listed = index_->Listed(name.first, name.second);
    const GroupFacts is = listed ? listed->facts : GroupFacts();
    if (is.whole() && !was.whole()) {
      events_.push_back(TierArrived{*std::move(listed)});
    } else if ((was.whole() && !is.whole()) || is.object_count < was.object_count) {
      events_.push_back(TierEvicted{{name.first, name.second}});
    }
  }
}

void BucketTier::ApplyEntry(const TrackName& track, const EntryBody& body, uint32_t segment,
                            uint64_t offset, uint32_t length) {
  const Pack& stands_in = table_.packs.at(segment);
  const PackId& id = stands_in.id;
  if (const auto* removal = std::get_if<Removal>(&body)) {
    removals_.Add(track, removal->group, id, offset, stands_in.seen);
    const auto goes = [&](DiskPlace place) {
      const Pack* pack = table_.Find(place.segment);
      return pack == nullptr || removals_.Covers(track, removal->group, pack->id, place.offset);
    };
    copies_.Shelter(track, removal->group, goes, *index_);
    index_->EraseWhere(track, removal->group, goes);
    copies_.TellEnds(track, removal->group, *index_);
    return;
  }
  if (removals_.Covers(track, std::nullopt, id, offset)) {
    return;
  }
  const DiskPlace place{segment, offset};
  copies_.Mention(track, place);
  if (const auto* object = std::get_if<ObjectEntry>(&body)) {
    if (removals_.Covers(track, object->location.group, id, offset)) {
      LearnOf(track, object->location);
    } else {
      ApplyObject(track, *object, place, length);
    }
    return;
  }
  if (const auto* end = std::get_if<GroupEnd>(&body)) {
    if (removals_.Covers(track, end->group, id, offset)) {
      return;
    }
    copies_.AddEnd(track, *end, place);
  }
  index_->Apply(track, body, place, length);
}

void BucketTier::ApplyObject(const TrackName& track, const ObjectEntry& object, DiskPlace place,
                             uint32_t length) {
  const auto known = index_->Find(track, object.location);
  if (known && known->identity != object.identity) {
    ++counts_.contradictions;
    logger_.Warning("object stands in a bucket with two contents",
                    {{"track", track.Render()}, {"location", object.location.ToString()}});
    return;
  }
  if (state_ == State::kReady && !index_->FindGroup(track, object.location.group)) {
    copies_.TellEnds(track, object.location.group, *index_);
  }
  if (known && place < known->place) {
    copies_.Add(track, object.location, place, length);
    return;
  }
  if (known && known->place < place) {
    copies_.Add(track, object.location, known->place, known->length);
  }
  index_->Apply(track, object, place, length);
}

std::set<TrackName> BucketTier::EraseContents(uint32_t segment) {
  std::set<TrackName> tracks;
  const PackCopies::Said said = copies_.SaidIn(segment);
  // What is left of an object may be within reach of a removal that no listing has shown: then
  // whoever counts on it is told now, since nobody may be there to be told when it comes to light.
  const auto counts = [this](DiskPlace place) { return IsDurable(place); };
  for (const GroupName& unsure : copies_.ShelterFrom(segment, counts, *index_)) {
    events_.push_back(TierEvicted{{unsure.first, unsure.second}});
  }
  for (EvictedGroup& lost : index_->EraseSegment(segment)) {
    tracks.insert(lost.track);
    events_.push_back(TierEvicted{std::move(lost)});
  }
  for (const auto& [track, ends] : said) {
    for (const uint64_t end : ends) {
      ForgetIfHollow(track, end);
    }
  }
  return tracks;
}

void BucketTier::DropPack(uint32_t segment) {
  const Pack pack = table_.packs.at(segment);
  const PackCopies::Said said = copies_.SaidIn(segment);
  (void)EraseContents(segment);
  for (const auto& [track, group] : StillNeeded(said, segment)) {
    OnLost(track, group);
  }
  std::set<TrackName> tracks;
  for (const auto& [track, ends] : said) {
    tracks.insert(track);
  }
  ForgetEmptyTracks(tracks);
  doubts_.Drop(segment);
  removals_.Drop(pack.id);
  table_.Drop(segment);
}

void BucketTier::OnGone(uint32_t segment) {
  const Pack* const pack = table_.Find(segment);
  if (pack == nullptr || pack->leaving) {
    return;
  }
  ++counts_.packs_gone;
  logger_.Warning("pack gone", {{"pack", pack->key}});
  DropPack(segment);
}

BucketTier::Needed BucketTier::StillNeeded(const PackCopies::Said& said, uint32_t segment) const {
  Needed needed;
  for (const auto& [track, ends] : said) {
    for (const uint64_t end : ends) {
      const auto group = index_->FindGroup(track, end);
      if (group && group->end && !IsHollow(track, end)) {
        needed.emplace_back(track, end);
      }
    }
    if (index_->FactsNeed(track, segment)) {
      needed.emplace_back(track, std::nullopt);
    }
  }
  return needed;
}

void BucketTier::SettlePacks(Instant now) {
  for (PackQueue::Settled& settled : queue_.TakeSettled()) {
    Settle(std::move(settled), now);
  }
}

BucketCalls::Id BucketTier::StartDelete(const std::string& key, Instant now) {
  BucketRequest request;
  request.kind = BucketRequest::Kind::kDelete;
  request.key = key;
  return calls_.Start(std::move(request), {.urgency = BucketCalls::Urgency::kHousekeeping,
                                           .give_up = now + kDeletePatience,
                                           .attempt = kDeleteAttempt,
                                           .delay = kDeleteDelay});
}

void BucketTier::TakeBack(Pack pack, Instant now) {
  const auto id = StartDelete(pack.key, now);
  taken_back_.emplace(id, std::move(pack));
}

bool BucketTier::OnTakenBack(const BucketCalls::Ended& ended, Instant now) {
  const auto found = taken_back_.find(ended.id);
  if (found == taken_back_.end()) {
    return false;
  }
  Pack pack = std::move(found->second);
  taken_back_.erase(found);
  if (ended.completion.error && ended.completion.error->kind != BucketError::Kind::kNotFound) {
    TakeBack(std::move(pack), now);
  }
  return true;
}

bool BucketTier::IsTakenBack(const std::string& key) const {
  return std::ranges::any_of(taken_back_, [&](const auto& one) { return one.second.key == key; });
}

void BucketTier::Settle(PackQueue::Settled settled, Instant now) {
  std::optional<uint32_t> segment;
  if (settled.error) {
    ++counts_.packs_failed;
    logger_.Warning("pack not put", {{"reason", settled.error->message()}});
    if (settled.perhaps_there) {
      TakeBack(settled.pack, now);
    }
  } else {
    ++counts_.packs_put;
    segment = table_.Add(settled.pack);
  }
  for (const PackQueue::Record& record : settled.records) {
    SettleRecord(record, segment, settled.error);
  }
}

void BucketTier::SettleRecord(const PackQueue::Record& record, std::optional<uint32_t> segment,
                              const std::optional<Error>& error) {
  const Waiting waiting = Take(record.id);
  const auto* const object = std::get_if<ObjectEntry>(&record.entry);
  if (segment && !waiting.removed) {
    ApplyEntry(record.track, record.entry, *segment, record.offset, record.length);
  } else if (segment && object != nullptr && !waiting.forgotten) {
    // Removed before it was in the bucket.
    copies_.Mention(record.track, {*segment, record.offset});
    LearnOf(record.track, object->location);
  }
  if (leaving_ && leaving_->notes.erase(record.id) > 0 && error) {
    leaving_->notes_failed = true;
  }
  if (merge_) {
    merge_->OnSettled(record.id, !error);
  }
  Tell(waiting, error);
}

}  // namespace kvcast
