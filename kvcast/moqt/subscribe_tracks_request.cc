#include "kvcast/moqt/subscribe_tracks_request.h"

namespace kvcast::moqt {

Decoded<void> OutgoingSubscribeTracks::OnLater(Message& message) {
  const PublishBlocked* blocked = std::get_if<PublishBlocked>(&message);
  if (blocked == nullptr) {
    return Unexpected(message);
  }
  KVCAST_TRY(TrackNamespace whole, space().Join(blocked->track.space()));
  KVCAST_TRY(TrackName track, TrackName::Of(std::move(whole), blocked->track.name()));
  Tell(PublishBlockedReceived{id(), std::move(track)});
  return {};
}

Result<void> IncomingSubscribeTracks::Block(const TrackName& track) {
  if (!Covers(track)) {
    return Error(ErrorCode::kInvalid, "No such track was subscribed to.");
  }
  if (!blocked_.insert(track).second) {
    return {};
  }
  KVCAST_TRY(TrackName below,
             TrackName::Of(track.space().After(space().field_count()), track.name()));
  SendAnswer(PublishBlocked{std::move(below)});
  return {};
}

}  // namespace kvcast::moqt
