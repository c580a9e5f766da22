#include "kvcast/relay/forget_scope.h"

namespace kvcast::relay {

bool ForgetScope::MayHold(const TrackName& track) const {
  const TrackNamespace& space = track.space();
  if (space.field_count() < 3 || TenantOf(space) != tenant || space.field(2) == "catalog" ||
      (within && !within(space))) {
    return false;
  }
  if (!model) {
    return true;
  }
  const std::string_view field = space.field(1);
  const size_t slash = field.find('/');
  const std::string_view name =
      slash == std::string_view::npos ? std::string_view() : field.substr(slash + 1);
  return name == *model || (name.starts_with(*model) && name[model->size()] == '@');
}

}  // namespace kvcast::relay
