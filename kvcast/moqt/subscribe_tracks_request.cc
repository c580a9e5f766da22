#include "kvcast/moqt/subscribe_tracks_request.h"

namespace kvcast::moqt {
namespace {

constexpr size_t kBlockedEntryBytes = 128;  // Beside the name, about.

}  // namespace

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
  if (IsBlocked(track)) {
    return {};
  }
  const size_t bytes = KeptOf(track) + kBlockedEntryBytes;
  if (state().request_bytes + bytes > state().limits.request_bytes) {
    Fail(static_cast<uint64_t>(ResetCode::kExcessiveLoad), "Too many tracks are not published.");
    return Error(ErrorCode::kTooLarge, "Too many tracks are not published.");
  }
  blocked_.insert(track);
  blocked_bytes_ += bytes;
  kept_blocked_.Set(blocked_bytes_);
  KVCAST_TRY(TrackName below,
             TrackName::Of(track.space().After(space().field_count()), track.name()));
  SendAnswer(PublishBlocked{std::move(below)});
  return {};
}

}  // namespace kvcast::moqt
