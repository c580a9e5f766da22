#include "kvcast/host/held_values.h"

#include "kvcast/base/hex.h"
#include "kvcast/kv/value_format.h"

namespace kvcast {
namespace {

constexpr size_t kGenerationField = 3;  // Of four; see TrackNameOf().

}  // namespace

std::optional<ModelScope> ValueScopeOf(const TrackName& track) {
  const TrackNamespace& space = track.space();
  if (track.name() != kValueTrackName || space.field_count() != kGenerationField + 1 ||
      space.field(kGenerationField).size() != sizeof(Generation)) {
    return std::nullopt;
  }
  Result<ModelScope> scope = ModelScope::Parse(space);
  return scope.ok() ? std::optional(*std::move(scope)) : std::nullopt;
}

std::vector<HeldValue> HeldValuesOf(const HeldTrack& track) {
  std::vector<HeldValue> values;
  if (const std::optional<ModelScope> scope = ValueScopeOf(*track.name)) {
    const std::string generation = ToHex(AsBytes(track.name->space().field(kGenerationField)));
    for (const auto& [group, block] : *track.groups) {
      values.push_back(
          {scope->Field(), block.key.ToHex(), generation, ToHex(track.node), block.bytes});
    }
  }
  return values;
}

}  // namespace kvcast
