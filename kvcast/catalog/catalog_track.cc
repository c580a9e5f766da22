#include "kvcast/catalog/catalog_track.h"

#include <algorithm>
#include <span>
#include <string>

#include "kvcast/base/check.h"

namespace kvcast {
namespace {

constexpr std::string_view kField = "catalog";
constexpr std::string_view kName = "v1";

bool HasRoom(const TrackNamespace& scope, std::string_view name) {
  return scope.field_count() == 2 &&
         scope.length() + kField.size() + sizeof(NodeId) + sizeof(BootId) + name.size() <=
             kTrackNameBytesMax;
}

TrackName NameOf(const CatalogTrack& track, std::string_view name) {
  const TrackNamespace prefix = track.Prefix();
  std::string writer(AsText(track.node));
  writer += AsText(track.boot);
  return *TrackName::Of(
      *TrackNamespace::Of({prefix.field(0), prefix.field(1), prefix.field(2), writer}), name);
}

Result<CatalogTrack> ParseAs(const TrackName& name, std::string_view expected) {
  const TrackNamespace& space = name.space();
  if (space.field_count() != 4 || space.field(2) != kField ||
      space.field(3).size() != sizeof(NodeId) + sizeof(BootId)) {
    return Error(ErrorCode::kMalformed, "This is not the track of a catalog.");
  }
  if (name.name() != expected) {
    return Error(ErrorCode::kUnsupported, "This is a catalog of another version than v1.");
  }
  CatalogTrack track;
  track.scope = *TrackNamespace::Of({space.field(0), space.field(1)});
  const std::span<const std::byte> writer = AsBytes(space.field(3));
  std::ranges::copy(writer.first(sizeof(NodeId)), track.node.begin());
  std::ranges::copy(writer.last(sizeof(BootId)), track.boot.begin());
  return track;
}

}  // namespace

bool CatalogTrack::CanHave(const TrackNamespace& scope) { return HasRoom(scope, kName); }

bool CatalogTrack::CanHaveForgotten(const TrackNamespace& scope) {
  return HasRoom(scope, kForgotten);
}

TrackNamespace CatalogTrack::Prefix() const {
  KVCAST_CHECK(CanHave(scope));
  return *TrackNamespace::Of({scope.field(0), scope.field(1), kField});
}

TrackName CatalogTrack::Name() const { return NameOf(*this, kName); }

TrackName CatalogTrack::ForgottenName() const { return NameOf(*this, kForgotten); }

Result<CatalogTrack> CatalogTrack::Parse(const TrackName& name) { return ParseAs(name, kName); }

Result<CatalogTrack> CatalogTrack::ParseForgotten(const TrackName& name) {
  return ParseAs(name, kForgotten);
}

}  // namespace kvcast
