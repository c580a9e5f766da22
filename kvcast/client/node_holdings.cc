#include "kvcast/client/node_holdings.h"

#include <algorithm>
#include <span>

#include "kvcast/catalog/node_greeting.h"

namespace kvcast {

void NodeHoldings::OnSetup(const moqt::Setup& peer) {
  node_ = NodeIn(peer.implementation.value_or(""));
}

bool NodeHoldings::IsOwn(const BlockSource& source) const {
  const auto writer = writers_.find(source.node);
  return !node_ || (writer != writers_.end() && IsOfNode(writer->second, *node_));
}

std::vector<BlockSource> NodeHoldings::Of(const TrackKind& kind, const BlockHash& block) const {
  const PrefixMatch match = index_->LongestMatch(std::span(&block, 1));
  std::vector<BlockSource> sources;
  if (match.Has(0)) {
    sources = index_->Sources(match, 0);
  }
  std::erase_if(sources, [&](const BlockSource& source) {
    return !kind.Includes(source.track) || !IsOwn(source);
  });
  return sources;
}

bool NodeHoldings::Has(const TrackKind& kind, const BlockHash& block) const {
  return !Of(kind, block).empty();
}

}  // namespace kvcast
