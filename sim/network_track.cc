#include "sim/network_track.h"

#include "kvcast/base/digest.h"
#include "kvcast/catalog/block_key.h"

namespace kvcast::sim {

NetworkTrack NetworkTrack::Draw(Random& random, size_t number, size_t home, Durability level) {
  const std::string prefix = "prefix" + std::to_string(number);
  NetworkTrack track(
      *TrackName::Of(*TrackNamespace::Of({"service", "tenant/model@0", prefix, "generation"}),
                     "BF16"),
      number, home, level, 1 + random.Below(1500));
  uint64_t group = random.Below(2);
  for (uint64_t left = 1 + random.Below(4); left > 0; --left) {
    track.groups_[group] = 1 + random.Below(4);
    group += 1 + random.Below(2);
  }
  return track;
}

Object NetworkTrack::At(Location at, uint64_t version) const {
  Random random(Scatter(number_ * 4 + version) + Scatter(at.group * 1000 + at.object));
  std::string payload(bytes_ + random.Below(64), '\0');
  random.Fill(std::as_writable_bytes(std::span(payload)));
  Object object;
  object.location = at;
  object.payload = Bytes::Of(payload);
  if (at.object == 0) {
    Digest key;
    Random keys(Scatter(number_) + at.group);
    keys.Fill(key.bytes);
    object.properties = BlockKeyProperties(key);
  }
  return object;
}

std::optional<uint64_t> NetworkTrack::VersionOf(const Object& object) const {
  if (!Has(object.location)) {
    return std::nullopt;
  }
  for (uint64_t version = 0; version < (contested ? 2 : 1); ++version) {
    const Object right = At(object.location, version);
    if (object.payload == right.payload && object.properties == right.properties &&
        object.subgroup == right.subgroup && object.priority == right.priority) {
      return version;
    }
  }
  return std::nullopt;
}

}  // namespace kvcast::sim
