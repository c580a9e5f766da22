// How a bucket tier learns of packs, its own and others', and gets room for new ones.
#include <algorithm>
#include <set>

#include "kvcast/base/check.h"
#include "kvcast/store/bucket_tier.h"

namespace kvcast {
namespace {

// A bucket that could not be read, or not as a whole, is read again after this.
constexpr Duration kSurveyAgain = std::chrono::seconds(5);
constexpr Duration kOpenBucketAgain = std::chrono::seconds(1);
constexpr Duration kLeaveAgain = std::chrono::seconds(5);
constexpr uint32_t kLeaveTries = 4;
constexpr size_t kPassedOverMax = 1000;
constexpr Duration kDeleteAttempt = std::chrono::seconds(10);
constexpr Duration kDeletePatience = std::chrono::seconds(60);
constexpr Duration kDeleteDelay = std::chrono::milliseconds(200);

}  // namespace

void BucketTier::StartSurvey(Instant now) {
  next_survey_.reset();
  survey_unread_ = false;
  survey_passed_over_.clear();
  const auto known = [this](const std::string& key) {
    return table_.Has(key) || queue_.Holds(key) || IsTakenBack(key);
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
  counts_.left_out = survey_->left_out();
  if (counts_.left_out > 0) {
    PassOver(PackKeyStart(options_.prefix),
             "the index has no room for " + std::to_string(counts_.left_out) + " of its packs");
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
  const SegmentContents& contents = outcome.body.contents;
  const bool removes = std::ranges::any_of(contents.entries, [](const SegmentEntry& entry) {
    return std::holds_alternative<Removal>(entry.body);
  });
  const uint32_t segment =
      table_.Add({.id = found.id,
                  .key = found.key,
                  .bytes = found.bytes,
                  .written_us = outcome.body.written_us,
                  .has_removals = removes,
                  .seen = std::make_shared<const PackHorizon>(std::move(outcome.body.seen)),
                  .forgotten = no_room});
  // At a start all there is will be listed.
  const auto before = state_ == State::kReady ? WholeGroups(contents) : std::map<GroupName, bool>();
  for (const SegmentEntry& entry : contents.entries) {
    if (!no_room || std::holds_alternative<Removal>(entry.body)) {
      ApplyEntry(contents.track_of(entry), entry.body, segment, entry.offset, entry.length);
    }
  }
  TellChanged(before);
}

std::map<BucketTier::GroupName, bool> BucketTier::WholeGroups(
    const SegmentContents& contents) const {
  std::map<GroupName, bool> groups;
  const auto add = [&](const TrackName& track, uint64_t group) {
    const auto facts = index_->FindGroup(track, group);
    groups.try_emplace({track, group}, facts && facts->whole());
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

void BucketTier::TellChanged(const std::map<GroupName, bool>& before) {
  for (const auto& [name, was_whole] : before) {
    auto listed = index_->Listed(name.first, name.second);
    const bool whole = listed && listed->facts.whole();
    if (whole && !was_whole) {
      events_.push_back(TierArrived{*std::move(listed)});
    } else if (!whole && was_whole) {
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
  copies_.ShelterFrom(segment, *index_);
  for (EvictedGroup& lost : index_->EraseSegment(segment)) {
    tracks.insert(lost.track);
    events_.push_back(TierEvicted{std::move(lost)});
  }
  return tracks;
}

void BucketTier::DropPack(uint32_t segment) {
  const Pack pack = table_.packs.at(segment);
  (void)EraseContents(segment);
  removals_.Drop(pack.id);
  table_.Drop(segment);
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
  if (leaving_ && error && leaving_->last_note && record.id <= *leaving_->last_note &&
      waiting.tickets.empty()) {
    leaving_->notes_failed = true;
  }
  Tell(waiting, error);
}

std::optional<uint32_t> BucketTier::Victim() const {
  std::optional<uint32_t> victim;
  std::pair<uint64_t, uint32_t> oldest(UINT64_MAX, 0);
  for (const auto& one : table_.packs) {
    const Pack& pack = one.second;
    const std::pair age(pack.written_us, pack.id.number);
    if (!table_.Own(pack) || age >= oldest) {
      continue;
    }
    // With its removals, what they reach would be back.
    const auto reached = [&pack](const auto& other) {
      return other.second.id != pack.id && Reaches(pack.id, *pack.seen, other.second.id);
    };
    if (!pack.has_removals || (std::ranges::none_of(table_.packs, reached) &&
                               std::ranges::none_of(taken_back_, reached))) {
      victim = one.first;
      oldest = age;
    }
  }
  return victim;
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
      const PackLoad::Outcome outcome = leaving_->load->Take();
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
  }
  leaving_.reset();
  return true;
}

void BucketTier::Note(const TrackName& track, const RecordBody& body, Instant now) {
  const auto draft = RecordDraft::Of({track, body});
  EntryBody entry = EntryOf(body, 0, 0);
  if (!draft.ok() || !queue_.CheckFits(track, *draft, entry).ok()) {
    return;
  }
  Waiting waiting{{}, track};
  const auto* const end = std::get_if<GroupEnd>(&entry);
  waiting.group = end == nullptr ? std::nullopt : std::optional(end->group);
  waiting.describes = std::holds_alternative<TrackFacts>(entry);
  leaving_->last_note = Await(std::move(waiting));
  queue_.Append(*leaving_->last_note, track, *draft, std::move(entry), 0, now);
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
  copies_.ShelterFrom(segment, *index_);
  index_->EraseSegment(segment);
  TellLost(contents);
  // Of a track without objects nothing is known: that is never wrong.
  ForgetEmptyTracks({contents.tracks.begin(), contents.tracks.end()});
  queue_.Close(now);
  std::set<uint32_t> noted;
  for (const SegmentEntry& entry : contents.entries) {
    const TrackName& track = contents.track_of(entry);
    if (const auto* end = std::get_if<GroupEnd>(&entry.body)) {
      const auto group = index_->FindGroup(track, end->group);
      if (group && group->end == end->end) {
        Note(track, *end, now);
      }
    } else if (!std::holds_alternative<Removal>(entry.body) && index_->FactsNeed(track, segment) &&
               noted.insert(entry.track).second) {
      // What was the largest object of a track is known from its objects, too.
      Note(track, *index_->FindTrack(track), now);
    }
  }
  if (queue_.IsOpen() && !queue_.CloseWithLastRoom(now)) {
    SettlePacks(now);
    leaving_->notes_failed = false;  // It goes without them, or nothing ever would.
  }
}

void BucketTier::DeleteIfNoted(Instant now) {
  if (!leaving_ || leaving_->load || leaving_->deleting != 0) {
    return;
  }
  if (leaving_->last_note && waiting_.contains(*leaving_->last_note)) {
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
