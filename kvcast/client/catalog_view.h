#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "kvcast/catalog/catalog_track.h"
#include "kvcast/catalog/holdings_feed.h"
#include "kvcast/client/catalog_follower.h"

namespace kvcast {

// A track as one node holds it. Good until the view changes.
struct HeldTrack {
  NodeId node{};
  const TrackName* name = nullptr;
  const std::map<uint64_t, Holdings::Block>* groups = nullptr;  // Never empty.
};

// That a node holds a block, or does not any longer.
struct ViewChange {
  NodeId node{};
  HoldingsChange change;
};

// What nodes hold, by name and in full, for who shows it to people. An engine wants to know only
// where a block is, and has an index for that, which is far smaller.
//
//   CatalogView view;
//   CatalogFollower follower(session, prefix, view.MakeFeed(), patience);
class CatalogView {
 public:
  CatalogView() = default;
  // REQUIRES: no follower has a feed of it any more.
  ~CatalogView();
  CatalogView(const CatalogView&) = delete;
  CatalogView& operator=(const CatalogView&) = delete;

  CatalogFollower::MakeFeed MakeFeed();

  // By name, and of one name by node.
  std::vector<HeldTrack> Tracks() const;
  // Since the last call; what a node held when it was first heard of comes as added, and what one
  // held that has gone as removed.
  std::vector<ViewChange> TakeChanges();

 private:
  class Feed;

  std::set<Feed*> feeds_;  // Those that there are; each takes itself out.
  std::vector<ViewChange> changes_;
};

}  // namespace kvcast
