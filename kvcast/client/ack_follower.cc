#include "kvcast/client/ack_follower.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "kvcast/base/check.h"
#include "kvcast/base/hex.h"

namespace kvcast {

AckFollower::~AckFollower() {
  for (auto& [name, track] : tracks_) {
    if (track.request) {
      session_->Cancel(*track.request, moqt::ResetCode::kCancelled);
    }
  }
}

Result<void> AckFollower::Join(const TrackName& ack_track) {
  const auto known = tracks_.find(ack_track);
  if (known != tracks_.end() && (known->second.users > 0 || known->second.request)) {
    ++known->second.users;
    known->second.idle_since.reset();
    return {};
  }
  KVCAST_TRY(const moqt::RequestId request, session_->Subscribe(ack_track, {}));
  tracks_.insert_or_assign(ack_track, Track{request, 1});
  return {};
}

void AckFollower::Leave(const TrackName& ack_track) {
  const auto found = tracks_.find(ack_track);
  if (found != tracks_.end() && --found->second.users == 0 && !found->second.request) {
    tracks_.erase(found);
  }
}

AckFollower::Tracks::const_iterator AckFollower::FindBy(moqt::RequestId request) const {
  return std::ranges::find_if(tracks_,
                              [&](const auto& each) { return each.second.request == request; });
}

void AckFollower::OnEvent(moqt::RequestId request, const moqt::Event& event) {
  Track& track = tracks_.at(FindBy(request)->first);
  Take(track);
  if (const auto* refused = std::get_if<moqt::RequestRefused>(&event)) {
    End(track, "The node does not tell what is durable: " + Printable(refused->error.reason));
  } else if (std::holds_alternative<moqt::RequestCancelled>(event)) {
    End(track, "The node stopped telling what is durable.");
  }
}

void AckFollower::Take(Track& track) {
  while (track.request) {
    const std::optional<moqt::Received> item = session_->Take(*track.request);
    if (!item) {
      return;
    }
    if (std::holds_alternative<moqt::TrackEnd>(*item)) {
      End(track, "The node stopped telling what is durable.");
    } else if (const auto* object = std::get_if<moqt::ReceivedObject>(&*item)) {
      const Result<std::vector<AckRecord>> records = ParseAcks(object->object.payload);
      if (records.ok()) {
        track.told.insert(track.told.end(), records->begin(), records->end());
      }
      if (track.told.size() > kRecordsMax) {
        session_->Cancel(*track.request, moqt::ResetCode::kCancelled);
        End(track, "The node tells too much of what is durable.");
      }
    }
  }
}

void AckFollower::End(Track& track, std::string why) {
  track.request.reset();
  track.over = std::move(why);
}

void AckFollower::OnNodeLost() {
  for (auto& [name, track] : tracks_) {
    End(track, "The session to the node ended.");
  }
}

void AckFollower::Settle(Instant now) {
  for (auto at = tracks_.begin(); at != tracks_.end();) {
    Track& track = at->second;
    if (track.users == 0 && !track.idle_since) {
      track.idle_since = now;
    }
    const bool left = track.users == 0 && (!track.request || now >= *track.idle_since + kLinger);
    if (left && track.request) {
      session_->Cancel(*track.request, moqt::ResetCode::kCancelled);
    }
    at = left ? tracks_.erase(at) : std::next(at);
  }
}

std::optional<Instant> AckFollower::deadline() const {
  std::optional<Instant> first;
  for (const auto& [name, track] : tracks_) {
    if (track.idle_since && (!first || *track.idle_since + kLinger < *first)) {
      first = *track.idle_since + kLinger;
    }
  }
  return first;
}

std::span<const AckRecord> AckFollower::Told(const TrackName& ack_track) const {
  return tracks_.at(ack_track).told;
}

const std::string& AckFollower::Over(const TrackName& ack_track) const {
  return tracks_.at(ack_track).over;
}

}  // namespace kvcast
