#pragma once

#include <cstdint>
#include <memory>

#include "kvcast/base/bytes.h"
#include "kvcast/base/result.h"
#include "kvcast/catalog/catalog_feed.h"
#include "kvcast/catalog/holdings.h"
#include "kvcast/catalog/reader.h"
#include "kvcast/kv/prefix_index.h"

namespace kvcast {

// Keeps an index true to one node's catalog: takes the objects of the catalog's track as they
// arrive, and forgets the node when it is destroyed.
//
// A node that lists more blocks than its limits allow, or more of anything than the index has room
// for, is believed as far as it fits: what comes later is left out and counted, and nobody else's
// entries suffer. Nothing is kept of a track that was left out, so from then on a number that
// stands for nothing may be its, and is let pass. A node that names more tracks than its limits
// allow cannot be followed at all.
class IndexFeed final : public CatalogFeed {
 public:
  // Too large: the index has no room for a node. It must outlive the feed.
  static Result<std::unique_ptr<IndexFeed>> Open(PrefixIndex& index, CatalogLimits limits = {});
  ~IndexFeed() override;

  NodeRef node() const { return node_; }

  Result<void> OnObject(Location location, const Bytes& payload) override;
  Location wanted() const override { return reader_.wanted(); }
  bool missed() const override { return reader_.missed(); }
  bool synced() const override { return reader_.synced(); }
  void Restart() override;

  // Tracks and blocks of this epoch that were left out for want of room.
  uint64_t left_out() const { return left_out_; }

 private:
  IndexFeed(PrefixIndex& index, NodeRef node, CatalogLimits limits)
      : index_(index), node_(node), limits_(limits) {}
  Result<void> Apply(const CatalogRecord& record);
  // A record of a track that is not in the index. Malformed if it cannot be one that was left out.
  Result<void> PassOver(uint32_t id, const CatalogRecord& record);
  Result<void> ApplyTrack(const TrackRecord& record);
  Result<void> ApplyAdd(TrackRef track, const AddRecord& record);
  void Forget();

  PrefixIndex& index_;
  NodeRef node_;
  CatalogLimits limits_;
  CatalogReader reader_;
  bool broken_ = false;
  uint64_t next_id_ = 0;        // Numbers rise, so every one below this is defined or spent.
  size_t tracks_ = 0;           // In the index, which has their numbers.
  size_t tracks_left_out_ = 0;  // And not dropped since.
  size_t blocks_ = 0;
  uint64_t left_out_ = 0;
};

}  // namespace kvcast
