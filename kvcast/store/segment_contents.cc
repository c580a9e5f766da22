#include "kvcast/store/segment_contents.h"

#include <algorithm>
#include <utility>

namespace kvcast {

std::optional<Digest> KeyIn(const Properties& properties, uint64_t key_property) {
  const std::optional<Properties> immutable = properties.Immutable();
  if (!immutable) {
    return std::nullopt;
  }
  for (const Property& property : immutable->List()) {
    if (property.type == key_property && property.bytes.size() == Digest::kBytes) {
      Digest key;
      std::ranges::copy(AsBytes(property.bytes), key.bytes.begin());
      return key;
    }
  }
  return std::nullopt;
}

EntryBody EntryOf(const RecordBody& body, uint32_t payload_sum, uint64_t key_property) {
  if (const auto* stored = std::get_if<StoredObject>(&body)) {
    const Object& object = stored->object;
    return ObjectEntry{object.location, static_cast<uint32_t>(object.payload.size()),
                       IdentitySum(object, payload_sum), KeyIn(object.properties, key_property),
                       object.AbsentBefore()};
  }
  if (const auto* facts = std::get_if<TrackFacts>(&body)) {
    return *facts;
  }
  if (const auto* end = std::get_if<GroupEnd>(&body)) {
    return *end;
  }
  return std::get<Removal>(body);
}

void ContentsBuilder::Add(const TrackName& track, uint64_t offset, uint64_t length,
                          EntryBody body) {
  const auto [found, is_new] =
      numbers_.try_emplace(track, static_cast<uint32_t>(contents_.tracks.size()));
  if (is_new) {
    contents_.tracks.push_back(track);
  }
  contents_.entries.push_back(
      {found->second, offset, static_cast<uint32_t>(length), std::move(body)});
}

SegmentContents ContentsBuilder::Take() {
  numbers_.clear();
  return std::exchange(contents_, {});
}

}  // namespace kvcast
