// How a relay tells those below what it was told to forget, and follows those upstream.
#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "kvcast/relay/relay_above.h"

namespace kvcast::relay {
namespace {

// What a tier could not remove is removed after this.
constexpr Duration kForgetAgain = std::chrono::seconds(5);

}  // namespace

void Relay::Above::NoteForgotten(const ForgetScope& scope) {
  const Result<TrackNamespace> tenant = TrackNamespace::Of({kServiceField, scope.tenant});
  if (tenant.ok() && CatalogTrack::CanHaveForgotten(*tenant)) {
    const uint64_t now_us = relay_->stock_.store().WallAt(relay_->now_);
    relay_->stock_.catalogs().ListForgotten(*tenant, forgets.Note(scope, now_us));
  }
}

ForgetReport Relay::Above::ForgetHere(const ForgetScope& scope) {
  relay_->BreakOff(scope);
  const ForgetReport report = relay_->stock_.ForgetAll(scope, relay_->now_);
  relay_->log_.Info("forgotten", {{"tenant", scope.tenant},
                                  {"tracks", report.tracks},
                                  {"groups", report.groups},
                                  {"pending", report.pending},
                                  {"refused", report.refused}});
  return report;
}

void Relay::Above::ReadForgetList(const Peer& peer, const TrackName& track,
                                  std::optional<Location> at) {
  if (!Obeys(peer) || !at || peer.id == kListReader) {
    return;
  }
  const moqt::RequestId id = ++last_list_read_;
  AskForForgetList(id, list_reads_.emplace(id, ListRead{peer.id, track, *at, {}}).first->second);
}

void Relay::Above::AskForForgetList(moqt::RequestId id, ListRead& read) {
  const UpstreamFetches::Wish wish{
      read.track, {read.at, read.at}, moqt::GroupOrder::kAscending, {read.peer}, {}, {}};
  read.again_at.reset();
  if (!fetches.Ask({kListReader, id}, wish, relay_->now_)) {
    read.again_at = relay_->now_ + relay_->limits_.retry_after;
  }
}

bool Relay::Above::TakeForgetList(const UpstreamFetches::Outcome& outcome) {
  return std::visit(
      [this](const auto& any) {
        using Any = std::decay_t<decltype(any)>;
        if constexpr (!requires { any.asker; }) {
          return false;
        } else {
          if (any.asker.peer != kListReader) {
            return false;
          }
          [[maybe_unused]] const auto read = list_reads_.find(any.asker.request);
          if constexpr (std::is_same_v<Any, UpstreamFetches::Came>) {
            if (read != list_reads_.end()) {
              const ListRead done = std::move(list_reads_.extract(read).mapped());
              fetches.Leave(any.asker);
              OnForgetList(relay_->peers_.at(done.peer), done.track, any.object.payload);
            }
          } else if constexpr (!std::is_same_v<Any, UpstreamFetches::Answered>) {
            if (read != list_reads_.end()) {  // It did not come.
              fetches.Leave(any.asker);
              read->second.again_at = relay_->now_ + relay_->limits_.retry_after;
            }
          }
          return true;
        }
      },
      outcome);
}

// Of a track that it may be asked for: what others are there for is none of its business.
void Relay::Above::OnForgetList(const Peer& peer, const TrackName& track, const Bytes& payload) {
  if (!Obeys(peer)) {
    return;
  }
  for (const auto& [id, read] : list_reads_) {
    if (read.peer == peer.id && read.track == track) {
      fetches.Leave({kListReader, id});  // This version is not older.
    }
  }
  std::erase_if(list_reads_, [&](const auto& each) {
    return each.second.peer == peer.id && each.second.track == track;
  });
  const std::vector<PeerId> asked = upstreams.For(track.space());
  const std::string& upstream = upstreams.route(*peer.route).name;
  Result<ForgetFollower::Batch> batch =
      std::ranges::find(asked, peer.id) == asked.end()
          ? Result<ForgetFollower::Batch>(
                Error(ErrorCode::kInvalid, "This upstream is not asked for that."))
          : forgets.OnList(upstream, track, payload);
  if (!batch.ok()) {
    relay_->log_.Warning("list of what an upstream has forgotten not followed",
                         {{"upstream", upstream}, {"reason", batch.error().ToString()}});
    return;
  }
  to_forget_.push_back({*std::move(batch), *peer.route, relay_->now_});
}

bool Relay::Above::ForgetBatch(const ToForget& each) {
  bool complete = true;
  for (ForgetScope scope : each.batch.scopes) {
    scope.within = [this, route = each.route](const TrackNamespace& space) {
      const std::vector<TrackNamespace> asked = upstreams.Within(route, space);
      return std::ranges::find(asked, space) != asked.end();
    };
    complete = ForgetHere(scope).complete() && complete;
  }
  return complete;
}

void Relay::Above::FollowForgotten() {
  for (const auto& [tenant, from_tier] : relay_->stock_.TakeTenants()) {
    const uint64_t now_us = relay_->stock_.store().WallAt(relay_->now_);
    if (forgets.Hold(tenant, from_tier ? 0 : now_us) && upstreams.AnyForgets()) {
      const CatalogTrack lists{*TrackNamespace::Of({kServiceField, tenant}), {}, {}};
      tracks.Keep(lists.Prefix(), relay_->now_);
    }
  }
  for (auto& [id, read] : list_reads_) {
    if (read.again_at && *read.again_at <= relay_->now_) {
      AskForForgetList(id, read);
    }
  }
  for (ToForget& each : std::exchange(to_forget_, {})) {
    if (each.again_at > relay_->now_) {
      to_forget_.push_back(std::move(each));
    } else if (ForgetBatch(each)) {
      forgets.OnGone(each.batch);
    } else {
      each.again_at = relay_->now_ + kForgetAgain;
      to_forget_.push_back(std::move(each));
    }
  }
}

}  // namespace kvcast::relay
