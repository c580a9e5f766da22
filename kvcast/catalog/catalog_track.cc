#include "kvcast/catalog/catalog_track.h"

#include <algorithm>
#include <span>
#include <string>

#include "kvcast/base/check.h"

namespace kvcast {
namespace {

constexpr std::string_view kField = "catalog";
constexpr std::string_view kName = "v1";

}  // namespace

bool CatalogTrack::CanHave(const TrackNamespace& scope) {
  return scope.field_count() == 2 &&
         scope.length() + kField.size() + sizeof(NodeId) + sizeof(BootId) + kName.size() <=
             kTrackNameBytesMax;
}

TrackNamespace CatalogTrack::Prefix() const {
  KVCAST_CHECK(CanHave(scope));
  return *TrackNamespace::Of({scope.field(0), scope.field(1), kField});
}

TrackName CatalogTrack::Name() const {
  const TrackNamespace prefix = Prefix();
  std::string writer(AsText(node));
  writer += AsText(boot);
  return *TrackName::Of(
      *TrackNamespace::Of({prefix.field(0), prefix.field(1), prefix.field(2), writer}), kName);
}

Result<CatalogTrack> CatalogTrack::Parse(const TrackName& name) {
  const TrackNamespace& space = name.space();
  if (space.field_count() != 4 || space.field(2) != kField ||
      space.field(3).size() != sizeof(NodeId) + sizeof(BootId)) {
    return Error(ErrorCode::kMalformed, "This is not the track of a catalog.");
  }
  if (name.name() != kName) {
    return Error(ErrorCode::kUnsupported, "This is a catalog of another version than v1.");
  }
  CatalogTrack track;
  track.scope = *TrackNamespace::Of({space.field(0), space.field(1)});
  const std::span<const std::byte> writer = AsBytes(space.field(3));
  std::ranges::copy(writer.first(sizeof(NodeId)), track.node.begin());
  std::ranges::copy(writer.last(sizeof(BootId)), track.boot.begin());
  return track;
}

}  // namespace kvcast
