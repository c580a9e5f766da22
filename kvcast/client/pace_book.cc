#include "kvcast/client/pace_book.h"

namespace kvcast {

std::shared_ptr<NodePace> PaceBook::Of(const NodeId& node) {
  const auto known = paces_.find(node);
  if (known != paces_.end()) {
    return known->second;
  }
  if (paces_.size() >= kNodesMax) {
    std::erase_if(paces_, [](const auto& each) { return each.second.use_count() == 1; });
  }
  return paces_.emplace(node, std::make_shared<NodePace>()).first->second;
}

}  // namespace kvcast
