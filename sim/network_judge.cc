#include "sim/network_judge.h"

#include <algorithm>

#include "kvcast/moqt/codes.h"

namespace kvcast::sim {
namespace {

std::string Place(size_t track, Location at) {
  return "track " + std::to_string(track) + " at " + at.ToString();
}

}  // namespace

void NetworkJudge::Note(const std::string& event) {
  Sha256 hash;
  hash.Update(history_.bytes);
  hash.Update(event);
  history_ = hash.Finish();
}

void NetworkJudge::OnClosed(uint64_t code, const std::string& reason) {
  const auto known = static_cast<moqt::SessionCode>(code);
  if (known != moqt::SessionCode::kNoError && known != moqt::SessionCode::kControlMessageTimeout &&
      known != moqt::SessionCode::kGoAwayTimeout) {
    Violate("A session was closed: " + reason);
  }
}

void NetworkJudge::OnObject(const Server& server, size_t track, const Object& object) {
  ++counts_->objects;
  const std::optional<uint64_t> version = At(track).VersionOf(object);
  if (!version) {
    return Violate("Node " + std::to_string(server.node) +
                   " gave bytes that nobody published: " + Place(track, object.location));
  }
  Note("object " + Place(track, object.location) + " " + std::to_string(*version));
  if (!At(track).contested || server.forgets) {
    return;
  }
  const auto [shown, is_new] =
      shown_.try_emplace({server.node, server.life, track, object.location}, *version);
  if (shown->second != *version) {
    Violate("Node " + std::to_string(server.node) +
            " gave two payloads for one name: " + Place(track, object.location));
  }
}

void NetworkJudge::OnGroupEnd(size_t track, Location last) {
  if (At(track).groups().at(last.group) != last.object + 1) {
    Violate("A group was ended that goes on: " + Place(track, last));
  }
}

void NetworkJudge::OnLargest(size_t track, Location largest) {
  if (largest > At(track).last()) {
    Violate("More is said to be there than there is: " + Place(track, largest));
  }
}

size_t NetworkJudge::OnFetched(const FetchedRange& fetched, const moqt::FetchOk& ok,
                               const std::vector<moqt::FetchItem>& items) {
  ++counts_->fetches;
  const NetworkTrack& track = At(fetched.track);
  if (ok.end_of_track && ok.last < track.last()) {
    Violate("A track was ended that goes on: " + Place(fetched.track, ok.last));
  }
  std::set<Location> brought;
  std::set<Location> unknown;
  moqt::FetchPrior prior;
  for (const moqt::FetchItem& item : items) {
    const auto* end = std::get_if<moqt::RangeEnd>(&item);
    const Location at = end != nullptr ? end->last : std::get<Object>(item).location;
    if (!prior.IsBefore(at, fetched.order)) {
      Violate("A fetch came in another order: " + Place(fetched.track, at));
    }
    if (end == nullptr) {
      brought.insert(at);
    } else if (end->unknown) {
      const moqt::FetchPrior here{at, {}, {}};
      for (const auto& [group, count] : track.groups()) {
        for (Location one{group, 0}; one.object < count; ++one.object) {
          if (prior.IsBefore(one, fetched.order) && !here.IsBefore(one, fetched.order)) {
            unknown.insert(one);
          }
        }
      }
    }
    prior.location = at;
  }
  size_t lacking = 0;
  for (const auto& [group, count] : track.groups()) {
    for (Location at{group, 0}; at.object < count; ++at.object) {
      if (!fetched.range.Contains(at) || brought.contains(at)) {
        continue;
      }
      ++lacking;
      if (at <= ok.last && !unknown.contains(at)) {
        Violate("An object that exists was denied: " + Place(fetched.track, at));
      }
    }
  }
  counts_->unknown += lacking;
  Note("fetched " + std::to_string(brought.size()) + " without " + std::to_string(lacking));
  return lacking;
}

void NetworkJudge::OnAcknowledged(size_t track, uint64_t group, Durability level) {
  Note("acknowledged " + Place(track, {group, 0}));
  ++counts_->acknowledged;
  Durability& promise = promises_[{track, group}];
  promise = std::max(promise, level);
}

void NetworkJudge::Release(size_t node, Durability level) {
  std::erase_if(promises_, [&](const auto& promise) {
    return At(promise.first.first).home() == node && promise.second <= level;
  });
}

}  // namespace kvcast::sim
