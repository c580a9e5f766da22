#include "kvcast/client/catalog_view.h"

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>

#include "kvcast/base/check.h"

namespace kvcast {

class CatalogView::Feed final : public HoldingsFeed {
 public:
  Feed(CatalogView& view, const NodeId& node) : view_(view), node_(node) {
    view_.feeds_.insert(this);
  }
  ~Feed() override {
    End();
    Collect();
    view_.feeds_.erase(this);
  }

  const NodeId& node() const { return node_; }

  void Collect() {
    for (HoldingsChange& change : TakeChanges()) {
      view_.changes_.push_back({node_, std::move(change)});
    }
  }

 private:
  CatalogView& view_;
  const NodeId node_;
};

CatalogView::~CatalogView() { KVCAST_CHECK(feeds_.empty()); }

CatalogFollower::MakeFeed CatalogView::MakeFeed() {
  return [this](const CatalogTrack& track) -> Result<std::unique_ptr<CatalogFeed>> {
    return std::unique_ptr<CatalogFeed>(std::make_unique<Feed>(*this, track.node));
  };
}

std::vector<HeldTrack> CatalogView::Tracks() const {
  std::vector<HeldTrack> tracks;
  for (const Feed* const feed : feeds_) {
    for (const auto& [id, track] : feed->holdings().tracks()) {
      if (!track.groups.empty()) {
        tracks.push_back({feed->node(), &track.name, &track.groups});
      }
    }
  }
  std::ranges::sort(tracks, [](const HeldTrack& one, const HeldTrack& other) {
    return std::tie(*one.name, one.node) < std::tie(*other.name, other.node);
  });
  return tracks;
}

std::vector<ViewChange> CatalogView::TakeChanges() {
  for (Feed* const feed : feeds_) {
    feed->Collect();
  }
  return std::exchange(changes_, {});
}

}  // namespace kvcast
