#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <vector>

#include "kvcast/object/track_name.h"
#include "kvcast/relay/audience.h"

namespace kvcast::relay {

// Who has asked for all that is below which prefix. Whoever tells of a name finds those who wait
// for it by the name's own prefixes, which are few, however many have asked.
class PrefixBook {
 public:
  void Add(const TrackNamespace& prefix, SubscriberId id) { by_prefix_[prefix].insert(id); }
  void Remove(const TrackNamespace& prefix, SubscriberId id);
  // Those whose prefix the namespace is, or begins with.
  std::vector<SubscriberId> Above(const TrackNamespace& space) const;
  bool empty() const { return by_prefix_.empty(); }

 private:
  std::map<TrackNamespace, std::set<SubscriberId>> by_prefix_;
};

}  // namespace kvcast::relay
