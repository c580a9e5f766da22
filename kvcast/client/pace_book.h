#pragma once

#include <cstddef>
#include <map>
#include <memory>

#include "kvcast/catalog/catalog_track.h"
#include "kvcast/client/node_pace.h"

namespace kvcast {

// How fast nodes have been, each by itself, over all sessions with it: who comes back to a node
// need not learn it anew, and who goes to another does not take it for the one before. Belongs to
// one thread.
class PaceBook {
 public:
  // Of more nodes, those are forgotten that nobody uses.
  static constexpr size_t kNodesMax = 64;

  std::shared_ptr<NodePace> Of(const NodeId& node);
  size_t size() const { return paces_.size(); }

 private:
  std::map<NodeId, std::shared_ptr<NodePace>> paces_;
};

}  // namespace kvcast
