#pragma once

#include <memory>
#include <optional>

#include "kvcast/base/time.h"
#include "kvcast/catalog/catalog_feed.h"
#include "kvcast/catalog/catalog_track.h"
#include "kvcast/moqt/event.h"
#include "kvcast/moqt/session.h"
#include "kvcast/object/location.h"

namespace kvcast {

// One node's catalog that is being followed: what it says now by a fetch of its
// current epoch, what it says from now on by the subscription that it offered.
//
// What was lost on the way is fetched again. What is damaged is forgotten with all the rest of the
// catalog, and the epoch read from its beginning, after a pause that doubles: a node that goes
// on telling nonsense costs next to nothing. Destroying it forgets the node.
class FollowedCatalog {
 public:
  static constexpr Duration kFirstPause = std::chrono::seconds(1);
  static constexpr Duration kLongestPause = std::chrono::minutes(1);

  // `offered` is the node's PUBLISH of `track`, accepted. The session must outlive it.
  FollowedCatalog(moqt::Session& session, std::unique_ptr<CatalogFeed> feed,
                  const CatalogTrack& track, const moqt::PublishReceived& offered, Instant now);
  ~FollowedCatalog();
  FollowedCatalog(const FollowedCatalog&) = delete;
  FollowedCatalog& operator=(const FollowedCatalog&) = delete;

  const CatalogTrack& track() const { return track_; }
  bool Owns(moqt::RequestId request) const { return request == subscription_ || request == fetch_; }
  void OnEvent(const moqt::Event& event, Instant now);
  void OnTimeout(Instant now);
  std::optional<Instant> deadline() const { return retry_at_; }

  // All that the node had listed when it offered the catalog is in the index.
  bool synced() const { return feed_->synced() && (!offered_ || *offered_ < feed_->wanted()); }
  // What is missing is asked for again, but not yet.
  bool pausing() const { return retry_at_.has_value(); }
  // The node tells no more of it.
  bool ended() const { return ended_; }

 private:
  void TakeLive(Instant now);
  void TakeFetched(Instant now);
  void OnObject(const Object& object, Instant now);
  // Asks for what is missing between the index and the newest object known of, if anything is.
  void Catch(Instant now);
  void EndFetch();
  void RetryLater(Instant now);

  moqt::Session* session_;
  std::unique_ptr<CatalogFeed> feed_;
  const CatalogTrack track_;
  const TrackName name_;
  const moqt::RequestId subscription_;
  const std::optional<Location> offered_;  // The newest object then.
  std::optional<moqt::RequestId> fetch_;
  Location fetch_last_;             // What it asks for ends here.
  std::optional<Location> newest_;  // That the node has told of, or sent.
  bool damaged_ = false;            // And not begun again yet.
  Duration pause_ = kFirstPause;
  std::optional<Instant> retry_at_;
  bool ended_ = false;
};

}  // namespace kvcast
