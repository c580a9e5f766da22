#include "sim/network_reader.h"

#include <utility>

namespace kvcast::sim {
namespace {

constexpr size_t kFetchesMax = 3;
constexpr size_t kSubscriptionsMax = 2;

}  // namespace

void NetworkReader::Detach() {
  session_ = nullptr;
  closed_ = false;
  fetches_.clear();
  subscriptions_.clear();
  lacking_.reset();
}

void NetworkReader::Act(Random& random, const std::vector<NetworkTrack>& tracks) {
  const NetworkTrack& track = tracks[random.Below(tracks.size())];
  if (random.Happens(0.7)) {
    if (fetches_.size() < kFetchesMax) {
      const Location first{random.Below(4), random.Below(3)};
      const uint64_t last = first.group + random.Below(4);
      const LocationRange range{first, random.Happens(0.5) || last == first.group
                                           ? Location{last, LocationRange::kWholeGroup}
                                           : Location{last, random.Below(4)}};
      Ask(track, range,
          random.Happens(0.7) ? moqt::GroupOrder::kAscending : moqt::GroupOrder::kDescending);
    }
  } else if (subscriptions_.size() < kSubscriptionsMax) {
    Follow(track);
  } else {
    session_->Cancel(subscriptions_.begin()->first, moqt::ResetCode::kCancelled);
    subscriptions_.erase(subscriptions_.begin());
  }
}

void NetworkReader::Ask(const NetworkTrack& track, const LocationRange& range,
                        moqt::GroupOrder order) {
  moqt::Parameters parameters;
  parameters.group_order = order;
  const Result<moqt::RequestId> request = session_->Fetch(track.name(), range, parameters);
  if (request.ok()) {
    fetches_.emplace(*request, Fetch{{track.number(), range, order}, {}, {}, {}});
  }
}

void NetworkReader::FetchAll(const NetworkTrack& track) {
  lacking_.reset();
  Ask(track, LocationRange::Groups(0, track.last().group), moqt::GroupOrder::kAscending);
}

void NetworkReader::FetchGroup(const NetworkTrack& track, uint64_t group) {
  lacking_.reset();
  Ask(track, LocationRange::Groups(group, group), moqt::GroupOrder::kAscending);
}

void NetworkReader::Follow(const NetworkTrack& track) {
  const Result<moqt::RequestId> request = session_->Subscribe(track.name(), {});
  if (request.ok()) {
    subscriptions_.emplace(*request, Subscription{track.number(), {}, false});
  }
}

bool NetworkReader::Cancel() {
  if (fetches_.empty()) {
    return false;
  }
  session_->Cancel(fetches_.begin()->first, moqt::ResetCode::kCancelled);
  fetches_.erase(fetches_.begin());
  return true;
}

void NetworkReader::End(moqt::RequestId request) {
  fetches_.erase(request);
  subscriptions_.erase(request);
}

void NetworkReader::OnEvent(const moqt::Event& event) {
  if (const auto* ok = std::get_if<moqt::FetchAccepted>(&event)) {
    if (const auto fetch = fetches_.find(ok->request); fetch != fetches_.end()) {
      fetch->second.ok = ok->answer;
    }
  } else if (const auto* accepted = std::get_if<moqt::RequestAccepted>(&event)) {
    const auto subscription = subscriptions_.find(accepted->request);
    if (subscription != subscriptions_.end() && accepted->parameters.largest_object) {
      judge_->OnLargest(subscription->second.track, *accepted->parameters.largest_object);
    }
  } else if (const auto* refused = std::get_if<moqt::RequestRefused>(&event)) {
    last_word_ = "refused, " + std::to_string(static_cast<uint64_t>(refused->error.code)) + ": " +
                 refused->error.reason;
    judge_->Note(last_word_);
    End(refused->request);
  } else if (const auto* cancelled = std::get_if<moqt::RequestCancelled>(&event)) {
    last_word_ = "cancelled";
    judge_->Note(last_word_);
    End(cancelled->request);
  } else if (const auto* closed = std::get_if<moqt::SessionClosed>(&event)) {
    closed_ = true;
    judge_->OnClosed(closed->code, closed->reason);
  }
}

void NetworkReader::TakeFetch(moqt::RequestId request, Fetch& fetch,
                              const NetworkJudge::Server& server) {
  while (std::optional<moqt::Received> item = session_->Take(request)) {
    if (auto* object = std::get_if<moqt::ReceivedObject>(&*item)) {
      judge_->OnObject(server, fetch.range.track, object->object);
      fetch.items.emplace_back(object->object);
    } else if (auto* range = std::get_if<moqt::RangeEnd>(&*item)) {
      fetch.items.emplace_back(*range);
    } else if (auto* end = std::get_if<moqt::FetchEnd>(&*item)) {
      fetch.end = *end;
    }
  }
}

void NetworkReader::TakeSubscription(moqt::RequestId request, Subscription& subscription,
                                     const NetworkJudge::Server& server) {
  while (std::optional<moqt::Received> item = session_->Take(request)) {
    if (auto* object = std::get_if<moqt::ReceivedObject>(&*item)) {
      judge_->OnObject(server, subscription.track, object->object);
      subscription.last[object->stream] = object->object.location;
    } else if (auto* end = std::get_if<moqt::SubgroupEnd>(&*item)) {
      const auto last = subscription.last.find(end->stream);
      if (end->complete && end->end_of_group && last != subscription.last.end()) {
        judge_->OnGroupEnd(subscription.track, last->second);
      }
    } else if (std::holds_alternative<moqt::TrackEnd>(*item)) {
      subscription.over = true;
    }
  }
}

bool NetworkReader::Take(const NetworkJudge::Server& server) {
  while (std::optional<moqt::Event> event = session_->NextEvent()) {
    OnEvent(*event);
  }
  if (stalled) {
    return !closed_;
  }
  for (auto fetch = fetches_.begin(); fetch != fetches_.end();) {
    TakeFetch(fetch->first, fetch->second, server);
    const bool broken = fetch->second.end && !fetch->second.end->complete;
    const bool whole = fetch->second.end && fetch->second.ok;
    if (whole && !broken) {
      lacking_ = judge_->OnFetched(fetch->second.range, *fetch->second.ok, fetch->second.items);
      last_word_ = std::to_string(*lacking_) + " objects are lacking up to " +
                   fetch->second.ok->last.ToString();
    }
    fetch = broken || whole ? fetches_.erase(fetch) : std::next(fetch);
  }
  for (auto each = subscriptions_.begin(); each != subscriptions_.end();) {
    TakeSubscription(each->first, each->second, server);
    each = each->second.over ? subscriptions_.erase(each) : std::next(each);
  }
  return !closed_;
}

}  // namespace kvcast::sim
