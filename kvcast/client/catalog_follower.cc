#include "kvcast/client/catalog_follower.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "kvcast/base/hex.h"

namespace kvcast {
namespace {

// A node offers what it has as it accepts the request, each on a stream of its own; a node of
// several shards offers the catalogs of each. What is offered after this belongs to somebody who
// has come later.
constexpr Duration kOffersTogether = std::chrono::milliseconds(5);

}  // namespace

CatalogFollower::CatalogFollower(moqt::Session& session, const TrackNamespace& prefix,
                                 MakeFeed make_feed, Duration patience)
    : session_(&session), prefix_(prefix), make_feed_(std::move(make_feed)), patience_(patience) {
  const Result<moqt::RequestId> request = session_->SubscribeTracks(prefix_, {});
  if (request.ok()) {
    request_ = *request;
  } else {
    refusal_ = request.error().message();
  }
}

CatalogFollower::~CatalogFollower() {
  if (request_) {
    session_->Cancel(*request_, moqt::ResetCode::kCancelled);
  }
}

void CatalogFollower::OnSetUp(Instant now) {
  settle_by_ = now + patience_;
  Settle(now);
}

FollowedCatalog* CatalogFollower::Find(moqt::RequestId request) const {
  const auto found =
      std::ranges::find_if(catalogs_, [&](const auto& catalog) { return catalog->Owns(request); });
  return found == catalogs_.end() ? nullptr : found->get();
}

bool CatalogFollower::Owns(moqt::RequestId request) const {
  return request == request_ || Find(request) != nullptr;
}

bool CatalogFollower::OnOffer(const moqt::PublishReceived& offered, Instant now) {
  const Result<CatalogTrack> track = CatalogTrack::Parse(offered.track);
  if (!track.ok() || !prefix_.IsPrefixOf(offered.track.space())) {
    return false;
  }
  // A node that has started again has another catalog; what it listed before is gone.
  std::erase_if(catalogs_, [&](const auto& known) {
    return known->track().node == track->node && known->track().scope == track->scope;
  });
  Result<std::unique_ptr<CatalogFeed>> feed = make_feed_(*track);
  if (catalogs_.size() >= kCatalogsMax || !feed.ok()) {
    (void)session_->RefuseRequest(
        offered.request,
        {moqt::RequestCode::kExcessiveLoad, std::nullopt, "No room for another catalog.", {}});
    return true;
  }
  if (session_->AcceptPublish(offered.request, {}).ok()) {
    catalogs_.push_back(
        std::make_unique<FollowedCatalog>(*session_, *std::move(feed), *track, offered, now));
  }
  return true;
}

void CatalogFollower::OnEvent(const moqt::Event& event, Instant now) {
  if (const auto* accepted = std::get_if<moqt::RequestAccepted>(&event)) {
    if (accepted->request == request_ && settle_by_) {
      settle_by_ = now + patience_;
      offered_by_ = now + kOffersTogether;
    }
  }
  if (const auto* refused = std::get_if<moqt::RequestRefused>(&event);
      refused != nullptr && refused->request == request_) {
    refusal_ = "The node offers no catalogs: " + Printable(refused->error.reason);
    request_.reset();
  }
  if (const auto* cancelled = std::get_if<moqt::RequestCancelled>(&event);
      cancelled != nullptr && cancelled->request == request_) {
    refusal_ = "The node stopped offering catalogs: " + Printable(cancelled->reason);
    request_.reset();
  }
  std::visit(
      [&](const auto& any) {
        if constexpr (requires { moqt::RequestId{any.request}; }) {
          if (FollowedCatalog* catalog = Find(any.request)) {
            catalog->OnEvent(event, now);
          }
        }
      },
      event);
  std::erase_if(catalogs_, [](const auto& catalog) { return catalog->ended(); });
  Settle(now);
}

void CatalogFollower::OnNodeLost() {
  catalogs_.clear();
  request_.reset();
}

void CatalogFollower::OnTimeout(Instant now) {
  for (const auto& catalog : catalogs_) {
    catalog->OnTimeout(now);
  }
  Settle(now);
}

std::optional<Instant> CatalogFollower::deadline() const {
  std::optional<Instant> first = SettleAt();
  for (const auto& catalog : catalogs_) {
    if (const std::optional<Instant> at = catalog->deadline(); at && (!first || *at < *first)) {
      first = at;
    }
  }
  return first;
}

std::optional<Instant> CatalogFollower::SettleAt() const {
  const bool synced = !catalogs_.empty() && std::ranges::all_of(catalogs_, [](const auto& catalog) {
    return catalog->synced();
  });
  if (settle_by_ && offered_by_ && synced) {
    return std::min(*settle_by_, *offered_by_);
  }
  const bool reading = std::ranges::any_of(
      catalogs_, [](const auto& catalog) { return !catalog->synced() && !catalog->pausing(); });
  return settle_by_ && reading ? *settle_by_ + kReadingPatience : settle_by_;
}

void CatalogFollower::Settle(Instant now) {
  const std::optional<Instant> settle_at = SettleAt();
  const bool waited = settle_at && now >= *settle_at;
  settled_ = settled_ || waited || !refusal_.empty();
  if (settled_) {
    settle_by_.reset();
  }
}

}  // namespace kvcast
