#include "kvcast/store/handle_key.h"

#include <cstring>
#include <span>
#include <string_view>

namespace kvcast {
namespace {

// The fields of a namespace say where they end, so that no two names have one text.
std::string WholeName(std::string_view kind, const TrackName& track) {
  return std::string(kind) + std::string(track.space().packed()) + "/" + track.name();
}

}  // namespace

HandleKey::HandleKey(uint64_t secret) : digest_(std::as_bytes(std::span(&secret, 1))) {}

uint64_t HandleKey::Cut(const std::string& text) {
  const Digest digest = digest_.Of(AsBytes(text));
  uint64_t handle = 0;
  std::memcpy(&handle, digest.bytes.data(), sizeof(handle));
  return handle;
}

uint64_t HandleKey::OfBlock(const TrackName& track, const Digest& key) {
  std::string text = "block";
  text += AsText(key.bytes);
  if (track.space().field_count() > 1) {
    text += track.space().First(2).After(1).packed();
  }
  return Cut(text + "/" + track.name());
}

uint64_t HandleKey::OfPlace(const TrackName& track, uint64_t group, uint64_t copy) {
  return Cut(WholeName("place" + std::to_string(group) + "/" + std::to_string(copy) + "/", track));
}

uint64_t HandleKey::OfTrack(const TrackName& track) { return Cut(WholeName("track", track)); }

}  // namespace kvcast
