#pragma once

#include <optional>
#include <vector>

#include "kvcast/catalog/catalog_track.h"
#include "kvcast/client/block_place.h"
#include "kvcast/client/track_kind.h"
#include "kvcast/kv/prefix_index.h"
#include "kvcast/moqt/setup.h"

namespace kvcast {

// What the node at the other end of a session holds, of all that its catalogs and those that it
// passes on say: what stands at an origin alone is not at the edge that tells of it.
//
// A node says who it is when the session begins. One that does not, a relay that has never heard of
// kvcast, keeps no catalog either: there, what somebody behind it holds counts as held.
class NodeHoldings {
 public:
  // The index must outlive it.
  explicit NodeHoldings(const PrefixIndex& index) : index_(&index) {}

  void OnSetup(const moqt::Setup& peer);
  // Which node it is; absent if it does not say.
  const std::optional<NodeId>& node() const { return node_; }
  // What the index has of this node is from now on what `writer` lists.
  void OnCatalog(NodeRef listed, const NodeId& writer) { writers_[listed] = writer; }
  // Whose catalog each node of the index stands for. One that has gone stays until its number is
  // another's.
  const NodeIds& writers() const { return writers_; }

  // Where the node has the block as this kind, the newest first.
  std::vector<BlockSource> Of(const TrackKind& kind, const BlockHash& block) const;
  bool Has(const TrackKind& kind, const BlockHash& block) const;

 private:
  bool IsOwn(const BlockSource& source) const;

  const PrefixIndex* index_;
  std::optional<NodeId> node_;
  NodeIds writers_;  // Refs come again, so there are no more than nodes at once.
};

}  // namespace kvcast
