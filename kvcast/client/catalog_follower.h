#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/base/time.h"
#include "kvcast/catalog/catalog_feed.h"
#include "kvcast/catalog/catalog_track.h"
#include "kvcast/client/followed_catalog.h"
#include "kvcast/moqt/event.h"
#include "kvcast/moqt/session.h"
#include "kvcast/object/track_name.h"

namespace kvcast {

// Follows every catalog below a prefix that a session offers, the node's own and those of nodes
// behind it, each into a feed of its own.
class CatalogFollower {
 public:
  static constexpr size_t kCatalogsMax = 1024;
  // How much longer to wait while a catalog that was offered is being read: of a busy node.
  static constexpr Duration kReadingPatience = std::chrono::seconds(10);

  // Makes the feed of a catalog, which is destroyed when its node is forgotten. Too large: there is
  // no room for another one.
  using MakeFeed = std::function<Result<std::unique_ptr<CatalogFeed>>(const CatalogTrack&)>;

  // `patience` is how long to wait for catalogs that may not exist, counted from when the session
  // stands: a node that holds nothing of the model may have none to offer. The session must outlive
  // it.
  CatalogFollower(moqt::Session& session, const TrackNamespace& prefix, MakeFeed make_feed,
                  Duration patience);
  ~CatalogFollower();
  CatalogFollower(const CatalogFollower&) = delete;
  CatalogFollower& operator=(const CatalogFollower&) = delete;

  // The session stands: from now on the node is expected to answer.
  void OnSetUp(Instant now);
  // Takes a catalog that is offered; false if the track is none of those.
  bool OnOffer(const moqt::PublishReceived& offered, Instant now);
  bool Owns(moqt::RequestId request) const;
  void OnEvent(const moqt::Event& event, Instant now);
  void OnNodeLost();
  void OnTimeout(Instant now);
  std::optional<Instant> deadline() const;

  // What there is to know is known, or has not come in time: a lookup means something from now on.
  bool settled() const { return settled_; }
  // Why there are no catalogs; empty if there may be.
  const std::string& refusal() const { return refusal_; }
  size_t catalog_count() const { return catalogs_.size(); }

 private:
  FollowedCatalog* Find(moqt::RequestId request) const;
  // When what has not come by then is given up.
  std::optional<Instant> SettleAt() const;
  void Settle(Instant now);

  moqt::Session* session_;
  const TrackNamespace prefix_;
  const MakeFeed make_feed_;
  const Duration patience_;
  std::optional<moqt::RequestId> request_;
  std::vector<std::unique_ptr<FollowedCatalog>> catalogs_;
  std::optional<Instant> settle_by_;   // Once the session stands, until it has settled.
  std::optional<Instant> offered_by_;  // Once the node has accepted: when it has offered all.
  bool settled_ = false;
  std::string refusal_;
};

}  // namespace kvcast
