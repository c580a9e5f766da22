#include "kvcast/relay/publication.h"

#include "kvcast/moqt/codec.h"
#include "kvcast/moqt/timers.h"

namespace kvcast::relay {

// Properties are the same in every draft that we speak.
std::optional<uint64_t> Publication::MaxCacheOf(const Properties& properties) {
  return moqt::DefaultCodec().TraitsOf(properties).max_cache_ms;
}

std::optional<Instant> Publication::ExpiryFrom(Instant since) const {
  return max_cache_ms_ ? std::optional(moqt::After(since, *max_cache_ms_)) : std::nullopt;
}

std::optional<uint64_t> Publication::OnObject(const moqt::ReceivedObject& received) {
  if (received.stream == moqt::ReceivedObject::kNoStream) {
    lost_some_ = true;  // Where one came alone, others may have got lost.
    return std::nullopt;
  }
  const Object& object = received.object;
  const Place place{object.location.group, object.subgroup};
  const auto [found, is_new] =
      streams_.try_emplace(received.stream, Stream{place, object.location.object, false});
  Stream& stream = found->second;
  stream.ended = object.status != ObjectStatus::kNormal;
  const uint64_t before = std::exchange(stream.last, object.location.object);
  return is_new ? std::nullopt : std::optional(before);
}

std::optional<uint64_t> Publication::OnSubgroupEnd(const moqt::SubgroupEnd& end) {
  lost_some_ = lost_some_ || !end.complete;
  const auto stream = streams_.find(end.stream);
  if (stream == streams_.end()) {
    return std::nullopt;
  }
  const Stream ended = stream->second;
  streams_.erase(stream);
  const bool tells = end.complete && end.end_of_group && !ended.ended &&
                     ended.last < LocationRange::kWholeGroup;  // There is no number beyond that.
  return tells ? std::optional(ended.last + 1) : std::nullopt;
}

std::vector<Publication::Place> Publication::Open() const {
  std::vector<Place> open;
  for (const auto& [id, stream] : streams_) {
    open.push_back(stream.place);
  }
  return open;
}

}  // namespace kvcast::relay
