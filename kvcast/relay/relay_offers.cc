// What a relay offers those upstream: so one subscription at any node learns of the whole network.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kvcast/moqt/wanted_range.h"
#include "kvcast/relay/below.h"
#include "kvcast/relay/relay_above.h"

namespace kvcast::relay {

std::string Relay::Above::PeerName(PeerId id) const {
  const auto peer = relay_->peers_.find(id);
  const std::optional<size_t> route =
      peer == relay_->peers_.end() ? std::nullopt : peer->second.route;
  return route ? upstreams.route(*route).name : "peer " + std::to_string(id);
}

// Of what is below the upstream's prefixes: it is asked for nothing else, and told of nothing else.
void Relay::Above::OfferTo(Peer& upstream, const TrackName& track) {
  const std::vector<TrackNamespace> within = upstreams.Within(*upstream.route, track.space());
  if (!upstreams.route(*upstream.route).hears || upstream.leaving ||
      std::ranges::find(within, track.space()) == within.end() || relay_->IsFromAbove(track)) {
    return;
  }
  // It is asked for what the catalog lists, and for what the catalog said before.
  OfferSpaceTo(upstream, track.space().First(2));
  const std::optional<TrackFacts> facts = relay_->stock_.Find(track);
  if (!facts) {
    return;
  }
  moqt::Parameters parameters;
  parameters.largest_object = facts->largest;
  const Result<moqt::RequestId> request =
      upstream.session->Publish(track, parameters, facts->properties);
  if (request.ok()) {
    relay_->audience_.Add({upstream.id, *request}, Audience::By::kPublish, *upstream.session, track,
                          moqt::WantedBy(std::nullopt, facts->largest), *facts,
                          relay_->RangePatience(facts->properties));
    relay_->Touch(upstream.id);
  } else if (upstream.session->IsEnding(track)) {
    postponed_offers_.emplace(upstream.id, track);
  }
}

void Relay::Above::OfferSpaceTo(Peer& upstream, const TrackNamespace& space) {
  const std::vector<TrackNamespace> within = upstreams.Within(*upstream.route, space);
  std::map<TrackNamespace, moqt::RequestId>& offered = offered_[upstream.id];
  if (!upstreams.route(*upstream.route).hears || upstream.leaving ||
      std::ranges::find(within, space) == within.end() || offered.contains(space)) {
    return;
  }
  const Result<moqt::RequestId> request = upstream.session->PublishNamespace(space, {});
  if (request.ok()) {
    offered.emplace(space, *request);
    relay_->Touch(upstream.id);
  }
}

void Relay::Above::Offer(const TrackName& track) {
  if (upstreams.size() == 0 || !CatalogTrack::Parse(track).ok()) {
    return;
  }
  for (const PeerId id : upstreams.Connected()) {
    OfferTo(relay_->peers_.at(id), track);
  }
}

void Relay::Above::OfferSpace(const TrackNamespace& space) {
  for (const PeerId id : upstreams.Connected()) {
    OfferSpaceTo(relay_->peers_.at(id), space);
  }
}

void Relay::Above::WithdrawSpace(const TrackNamespace& space) {
  const std::vector<TrackName> own = relay_->stock_.catalogs().Below(space);
  if (space.field_count() == 2 && !own.empty()) {
    return;
  }
  for (auto& [id, offered] : offered_) {
    if (const auto found = offered.extract(space)) {
      relay_->peers_.at(id).session->Cancel(found.mapped(), moqt::ResetCode::kCancelled);
      relay_->Touch(id);
    }
  }
}

void Relay::Above::EndCatalog(const TrackName& track) {
  relay_->audience_.EndTrack(track, moqt::DoneCode::kSubscriptionEnded,
                             "The catalog is empty, and others need its room.");
  const TrackNamespace scope = track.space().First(2);
  bool others = relay_->announced_.contains(scope);
  VisitBelow(relay_->published_, scope, [&](const TrackName& each, const auto&) {
    others = others || CatalogTrack::Parse(each).ok();
    return !others;
  });
  if (!others) {
    WithdrawSpace(scope);
  }
}

void Relay::Above::OfferAll(Peer& upstream) {
  std::vector<TrackName> catalogs = relay_->stock_.catalogs().Below({});
  for (const auto& [track, publishers] : relay_->published_) {
    catalogs.push_back(track);
  }
  for (const TrackName& track : catalogs) {
    if (CatalogTrack::Parse(track).ok()) {
      OfferTo(upstream, track);
    }
  }
  for (const auto& [space, owners] : relay_->announced_) {
    if (std::ranges::any_of(owners, [this](const SubscriberId& id) {
          return !relay_->peers_.at(id.peer).route.has_value();
        })) {
      OfferSpaceTo(upstream, space);
    }
  }
}

void Relay::Above::OfferPostponed() {
  for (const auto& [id, track] : std::exchange(postponed_offers_, {})) {
    Peer& upstream = relay_->peers_.at(id);
    if (upstream.session->IsEnding(track)) {
      postponed_offers_.emplace(id, track);
    } else if (relay_->published_.contains(track) || relay_->stock_.catalogs().IsOurs(track)) {
      OfferTo(upstream, track);
    }
  }
}

void Relay::Above::OnOfferOver(const Peer& upstream, moqt::RequestId request,
                               const moqt::RequestError& error) {
  const auto offered = offered_.find(upstream.id);
  if (offered != offered_.end() && std::erase_if(offered->second, [&](const auto& each) {
                                     return each.second == request;
                                   }) > 0) {
    relay_->log_.Info("upstream does not want what is here",
                      {{"upstream", PeerName(upstream.id)}, {"reason", error.reason}});
    OnOfferRefused(upstream, error);
  }
}

// All of them are offered again together, however many were refused.
void Relay::Above::OnOfferRefused(const Peer& upstream, const moqt::RequestError& error) {
  if (!upstream.route || !error.retry_after_ms) {
    return;
  }
  relay_->metrics_.upstream.offers_refused.Add();
  offer_again_.emplace(upstream.id, relay_->now_ + relay_->limits_.retry_after);
}

void Relay::Above::OfferAgain() {
  std::erase_if(offer_again_, [this](const auto& each) {
    if (each.second > relay_->now_) {
      return false;
    }
    const auto upstream = relay_->peers_.find(each.first);
    if (upstream != relay_->peers_.end()) {
      OfferAll(upstream->second);
    }
    return true;
  });
}

}  // namespace kvcast::relay
