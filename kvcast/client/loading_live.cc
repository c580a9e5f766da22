// What a load does where it follows a publication that is under way.
#include <algorithm>
#include <utility>
#include <variant>

#include "kvcast/base/hex.h"
#include "kvcast/client/loading.h"
#include "kvcast/kv/cache_track.h"

namespace kvcast {
namespace {

// Longer than anybody waits; and an instant can still hold it.
constexpr Duration kPatienceMax = std::chrono::hours(24);
// What a node lists it has sent, to whom it still sends: a subscription that does not bring it so
// soon has gone silent.
constexpr Duration kOverdue = std::chrono::seconds(1);

}  // namespace

void Loading::Look(Instant now) {
  if (over_) {
    return;
  }
  now_ = now;
  if (Collect()) {
    Settle();
  }
  if (over_ || !follows() || index_version_ == index_->version()) {
    return;
  }
  index_version_ = index_->version();
  const bool was_coming = IsComingLive(NextToLoad());
  if (match_.Extend(*index_, blocks_, *kind_, end_block_) && NextBlock()) {
    last_news_ = now;
    begun_ = true;
    unsure_ = true;  // More may follow, whoever it was.
  }
  if (!was_coming && IsComingLive(NextToLoad())) {
    listed_at_ = now;
    begun_ = true;
  }
  Settle();
}

// Of tracks that hold the last block that is to be had, the one that will have the next. What a
// track is named after says how far it goes, if that is on this prompt's way; one that goes another
// way may still share some blocks more.
std::optional<BlockOffer> Loading::BestToFollow(const CacheMatch& last, size_t end) {
  std::optional<BlockOffer> perhaps;
  for (const BlockOffer& offer : last.empty() ? std::span<const BlockOffer>() : last.offers(0)) {
    const Result<CacheTrack> track = CacheTrack::Parse(last.track(offer.track));
    if (!track.ok() || offer.group + 1 != end || followed_.contains(last.track(offer.track))) {
      continue;
    }
    const auto reached = std::ranges::find(blocks_, track->prefix);
    if (reached == blocks_.end()) {
      perhaps = perhaps.value_or(offer);
    } else if (static_cast<size_t>(reached - blocks_.begin()) >= end) {
      return offer;
    } else {
      unsure_ = false;  // It has all that it was to have.
    }
  }
  return perhaps;
}

void Loading::Follow() {
  const size_t end = std::max(next_block_, match_.end_block());
  if (over_ || !follows() || live_ || joint_ || end == 0 || end >= std::min(end_block_, room_)) {
    return;
  }
  const CacheMatch last = CacheMatch::Of(*index_, std::span(blocks_).subspan(end - 1, 1), *kind_,
                                         match_.rungs(), 0, match_.generation());
  const std::optional<BlockOffer> offer = BestToFollow(last, end);
  if (!offer) {
    return;
  }
  const TrackName& track = last.track(offer->track);
  followed_.insert(track);
  moqt::Parameters parameters;
  parameters.filter.emplace().type = moqt::SubscriptionFilter::Type::kLargestObject;
  const Result<moqt::RequestId> request = session_->Subscribe(track, parameters);
  if (request.ok()) {
    live_ = Live{*request, track, offer->rung};
    unsure_ = false;
    last_news_ = now_;
  }
}

void Loading::OnLiveEvent(const moqt::Event& event) {
  const auto is_live = [&](moqt::RequestId request) { return live_ && live_->request == request; };
  if (const auto* accepted = std::get_if<moqt::RequestAccepted>(&event)) {
    if (is_live(accepted->request)) {
      BeginLive(*accepted);
    }
  } else if (const auto* ready = std::get_if<moqt::ObjectsReady>(&event)) {
    if (is_live(ready->request)) {
      TakeLive(Extent::kRoom);
    }
  } else if (const auto* done = std::get_if<moqt::PublishDoneReceived>(&event)) {
    if (is_live(done->request)) {
      TakeLive(Extent::kRoom);
    }
  } else if (const auto* refused = std::get_if<moqt::RequestRefused>(&event)) {
    if (is_live(refused->request)) {
      // Who will not be followed may still list what is published.
      unsure_ = refused->error.code != moqt::RequestCode::kDoesNotExist;
      EndLive(/*cancel=*/false);
    }
  } else if (const auto* cancelled = std::get_if<moqt::RequestCancelled>(&event)) {
    if (is_live(cancelled->request)) {
      TakeLive(Extent::kAll);
    }
    if (is_live(cancelled->request)) {
      unsure_ = true;
      EndLive(/*cancel=*/false);
    }
  }
}

// From here on the track's objects come; what it had before is fetched, as far as nobody else was
// asked for it.
void Loading::BeginLive(const moqt::RequestAccepted& accepted) {
  Result<std::shared_ptr<const Codec>> codec =
      ladder_->Decoder(live_->rung, accepted.properties, pages_);
  if (!codec.ok()) {
    faults_.insert_or_assign(match_.end_block(),
                             LoadFault{BlockOutcome::kWrong, codec.error().message()});
    EndLive(/*cancel=*/true);
    return;
  }
  live_->codec = *std::move(codec);
  const std::optional<Location> largest = accepted.parameters.largest_object;
  live_->next_group = largest ? largest->group + 1 : 0;
  last_news_ = now_;
  const size_t first = std::max(next_block_, match_.end_block());
  const size_t end = std::min(end_block_, room_);
  if (largest && first < end && largest->group >= first) {
    const Location last = std::min(*largest, LocationRange::Groups(end - 1, end - 1).last);
    const LoadRun run{live_->track, live_->rung, first, first, last.group - first + 1, 0};
    if (const std::optional<moqt::RequestId> fetch = Start(run, {{first, 0}, last})) {
      runs_.at(first).live = true;
      joint_ = Joint{*fetch, last};
      begun_ = true;
    }
  }
  TakeLive(Extent::kRoom);
}

bool Loading::IsJointFull() const {
  return joint_ && joint_->waiting_bytes >= work_->decoding_bytes_max;
}

void Loading::TakeLive(Extent extent) {
  while (live_ && live_->codec != nullptr) {
    if (extent == Extent::kRoom && (IsFull() || IsJointFull())) {
      held_up_ = held_up_ || IsFull();  // Else until there is no joint any more.
      return;
    }
    const std::optional<moqt::Received> item = session_->Take(live_->request);
    if (!item) {
      return;
    }
    last_news_ = now_;
    if (const auto* object = std::get_if<moqt::ReceivedObject>(&*item)) {
      OnLiveObject(object->object);
    } else if (const auto* group = std::get_if<moqt::SubgroupEnd>(&*item)) {
      OnLiveGroupEnd(group->group);
    } else if (const auto* track = std::get_if<moqt::TrackEnd>(&*item)) {
      OnTrackEnd(*track);
    }
  }
}

// Groups may come side by side, and each goes to its own pages.
void Loading::OnLiveObject(const Object& object) {
  const auto [group, id] = object.location;
  if (object.status != ObjectStatus::kNormal || group >= end_block_) {
    return;
  }
  begun_ = true;
  if (joint_ && joint_->last.group == group) {
    if (joint_->waiting.size() < pages_.shape().tokens()) {  // Of a block there are no more.
      joint_->waiting.push_back(object);
      joint_->waiting_bytes += object.payload.size();
    }
    return;
  }
  auto open = live_->open.find(group);
  if (group >= room_) {
    live_->next_group = std::max(live_->next_group, group + 1);  // It is fetched, later.
    if (live_->open.empty() && !joint_) {
      // Nor need what follows come twice: it is followed again once there is room.
      followed_.erase(live_->track);
      EndLive(/*cancel=*/true);
    }
    return;
  }
  if (open == live_->open.end()) {
    if (id != 0 || group < match_.first_block() || !IsFree(group)) {
      return;  // It comes otherwise, or not from its beginning.
    }
    const Result<std::optional<BlockHash>> key = BlockHashIn(object.properties);
    if (key.ok() && *key && **key != blocks_[group]) {
      EndLive(/*cancel=*/true);  // Another prompt, which began like this one.
      return;
    }
    const auto run = Claim({live_->track, live_->rung, group, static_cast<size_t>(group), 1, 0});
    run->second.live = true;
    run->second.decoder.Begin(live_->codec);
    open = live_->open.emplace(group, run).first;
  }
  Runs::iterator run = open->second;
  run->second.decoder.OnObject(object);
  if (!run->second.decoder.broken() && !run->second.decoder.received()) {
    if (live_->open.size() > work_->live_blocks_max) {
      run->second.decoder.SubmitWaiting();  // Of many a little waits, and that is much.
    }
    return;
  }
  live_->open.erase(open);
  live_->next_group = std::max(live_->next_group, group + 1);
  Conclude(run);
}

void Loading::OnLiveGroupEnd(uint64_t group) {
  if (joint_ && joint_->last.group == group) {
    joint_->ended = true;
    return;
  }
  const auto open = live_->open.find(group);
  if (open == live_->open.end()) {
    return;
  }
  const Runs::iterator run = open->second;
  live_->open.erase(open);
  GiveUp(run, {BlockOutcome::kNotHeld, "Only the beginning of the block came."});
}

void Loading::OnTrackEnd(const moqt::TrackEnd& end) {
  const bool in_full = end.done.code == moqt::DoneCode::kTrackEnded;
  EndLive(/*cancel=*/false);
  // A block that is known to exist and did not come is likely to be listed yet.
  unsure_ = end.done.code == moqt::DoneCode::kTooFarBehind ||
            (in_full && (!end.complete || !missing_.empty()));
}

void Loading::EndLive(bool cancel) {
  Live ended = *std::exchange(live_, std::nullopt);
  if (cancel) {
    session_->Cancel(ended.request, moqt::ResetCode::kCancelled);
  }
  for (const auto& [group, run] : ended.open) {
    GiveUp(run, {BlockOutcome::kNotHeld, "Its publication ended within the block."});
  }
}

void Loading::GoOnFrom(std::map<moqt::RequestId, Runs::iterator>::iterator fetch) {
  const Joint joint = *std::exchange(joint_, std::nullopt);
  held_up_ = true;  // What comes live may have waited for this.
  const Runs::iterator run = fetch->second;
  EndFetch(fetch, /*cancel=*/false);
  RunDecoder& decoder = run->second.decoder;
  if (!decoder.received() && decoder.next() <= joint.last) {
    decoder.OnEnd();
  }
  for (const Object& object : joint.waiting) {
    decoder.OnObject(object);
  }
  if (decoder.broken()) {
    Conclude(run);
  } else if (decoder.received()) {
    return;
  } else if (live_ && live_->codec != nullptr && !joint.ended) {
    live_->open.emplace(joint.last.group, run);
  } else {
    GiveUp(run, {BlockOutcome::kNotHeld, "Only the beginning of the block came."});
  }
}

Instant Loading::WaitsUntil() const {
  const size_t next = NextToLoad();
  if (!follows() || !fetches_.empty() || !jobs_.empty() || next >= room_) {
    return Instant::max();
  }
  Duration patience = std::min(terms_.follow->next_within, kPatienceMax);
  if (terms_.compute_per_block) {
    const size_t left = end_block_ - std::min(end_block_, next);
    patience = std::min(patience, *terms_.compute_per_block * static_cast<int64_t>(left));
  }
  if (IsComingLive(next)) {
    return std::max(last_news_, listed_at_) + std::min(patience, kOverdue);
  }
  Instant until = live_ || unsure_ ? last_news_ + patience : since_;
  if (!begun_ && next < terms_.follow->expected) {
    until = std::max(until, since_ + std::min(terms_.follow->begin_within, kPatienceMax));
  }
  return until;
}

bool Loading::IsComingLive(size_t block) const {
  return live_ && live_->codec != nullptr && block >= live_->next_group &&
         !faults_.contains(block) && IsOffered(block) &&
         std::ranges::any_of(match_.offers(block), [&](const BlockOffer& offer) {
           return match_.track(offer.track) == live_->track;
         });
}

void Loading::Weigh() {
  if (over_ || !follows() || now_ < WaitsUntil()) {
    return;
  }
  const size_t block = NextToLoad();
  if (IsComingLive(block)) {
    EndLive(/*cancel=*/true);  // It is there, and does not come: it is fetched instead.
    last_news_ = now_;
    unsure_ = true;
    Settle();
    return;
  }
  const auto known = faults_.find(block);
  Fail(block, known != faults_.end()
                  ? known->second
                  : LoadFault{BlockOutcome::kNotHeld, "Nobody has published it in time."});
  Advance();
}

}  // namespace kvcast
