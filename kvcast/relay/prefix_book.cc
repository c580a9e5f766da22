#include "kvcast/relay/prefix_book.h"

namespace kvcast::relay {

void PrefixBook::Remove(const TrackNamespace& prefix, SubscriberId id) {
  const auto found = by_prefix_.find(prefix);
  if (found != by_prefix_.end() && found->second.erase(id) > 0 && found->second.empty()) {
    by_prefix_.erase(found);
  }
}

std::vector<SubscriberId> PrefixBook::Above(const TrackNamespace& space) const {
  std::vector<SubscriberId> above;
  for (size_t fields = 0; fields <= space.field_count() && !by_prefix_.empty(); ++fields) {
    const auto found = by_prefix_.find(space.First(fields));
    if (found != by_prefix_.end()) {
      above.insert(above.end(), found->second.begin(), found->second.end());
    }
  }
  return above;
}

}  // namespace kvcast::relay
