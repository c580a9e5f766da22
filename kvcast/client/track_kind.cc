#include "kvcast/client/track_kind.h"

namespace kvcast {
namespace {

constexpr size_t kTrackFields = 4;

}  // namespace

TrackKind::TrackKind(const ModelScope& scope, std::string_view name)
    : scope_(scope), space_(scope.Namespace()), name_(name) {}

bool TrackKind::Includes(const TrackName& track) const {
  return track.name() == name_ && track.space().field_count() == kTrackFields &&
         space_.IsPrefixOf(track.space());
}

}  // namespace kvcast
