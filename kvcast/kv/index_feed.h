#pragma once

#include <cstdint>
#include <unordered_map>

#include "kvcast/base/bytes.h"
#include "kvcast/base/result.h"
#include "kvcast/catalog/reader.h"
#include "kvcast/kv/prefix_index.h"

namespace kvcast {

// Keeps an index true to one node's catalog: takes the objects of the catalog's track as they
// arrive, and forgets the node when it is destroyed.
class IndexFeed {
 public:
  // The index must outlive the feed.
  explicit IndexFeed(PrefixIndex& index);
  ~IndexFeed();
  IndexFeed(const IndexFeed&) = delete;
  IndexFeed& operator=(const IndexFeed&) = delete;

  NodeRef node() const { return node_; }

  // An error says that this node's catalog cannot be followed: all it said is forgotten, and
  // everything until its next epoch, or Restart(), is ignored.
  Result<void> OnObject(Location location, const Bytes& payload);

  // See CatalogReader.
  Location wanted() const { return reader_.wanted(); }
  bool missed() const { return reader_.missed(); }
  bool synced() const { return reader_.synced(); }
  void Restart();

 private:
  Result<void> Apply(const CatalogRecord& record);
  void Forget();

  PrefixIndex& index_;
  NodeRef node_;
  CatalogReader reader_;
  bool broken_ = false;
  std::unordered_map<uint32_t, TrackRef> tracks_;
  uint64_t next_id_ = 0;  // Numbers rise, so every one below this is defined or spent.
};

}  // namespace kvcast
