#include "kvcast/moqt/request_table.h"

#include <algorithm>
#include <utility>

#include "kvcast/moqt/request.h"

namespace kvcast::moqt {
namespace {

// How many aliases we remember of tracks that are over. Beyond, a late stream of one is kept for a
// while as if its track were to come, and costs its share of what is kept early.
constexpr size_t kRetiredAliases = 1024;

}  // namespace

RequestTable::RequestTable(RequestId first, const SessionShare& share)
    : next_id_(first + 2 * share.index),
      step_(2 * share.count),
      shared_(!share.alone()),
      peer_ids_(1 - first) {}
RequestTable::~RequestTable() = default;

RequestId RequestTable::NextId() { return std::exchange(next_id_, next_id_ + step_); }

Decoded<void> RequestTable::NotePeerId(RequestId id) {
  if (shared_ ? !IsPeers(id) : !peer_ids_.Add(id)) {
    return Fault::Session(SessionCode::kInvalidRequestId,
                          "Request id " + std::to_string(id) + " is not the peer's, or not new.");
  }
  return {};
}

Request& RequestTable::Add(std::unique_ptr<Request> request) {
  const RequestId id = request->id();
  peer_request_count_ += IsPeers(id) ? 1u : 0u;
  return *(requests_[id] = std::move(request));
}

Request* RequestTable::Find(RequestId id) const {
  const auto found = requests_.find(id);
  return found == requests_.end() ? nullptr : found->second.get();
}

std::vector<RequestId> RequestTable::Ids() const {
  std::vector<RequestId> ids;
  for (const auto& [id, request] : requests_) {
    ids.push_back(id);
  }
  return ids;
}

void RequestTable::Erase(RequestId id) {
  if (requests_.erase(id) > 0) {
    peer_request_count_ -= IsPeers(id) ? 1u : 0u;
  }
}

Decoded<void> RequestTable::AddAlias(uint64_t alias, RequestId request) {
  const auto [found, is_new] = aliases_.try_emplace(alias, Alias{request});
  if (!is_new && found->second.lent) {
    found->second = Alias{request};
  }
  if (found->second.request != request) {
    return Fault::Session(SessionCode::kDuplicateTrackAlias,
                          "Alias " + std::to_string(alias) + " stands for another track.");
  }
  if (retired_.erase(alias) > 0) {
    std::erase(retired_order_, alias);
  }
  changed_aliases_.push_back(alias);
  return {};
}

void RequestTable::LendAlias(uint64_t alias, RequestId request) {
  const auto found = aliases_.find(alias);
  if (found != aliases_.end() && found->second.request == request) {
    found->second.lent = true;
  }
}

void RequestTable::RetireAlias(uint64_t alias, RequestId request) {
  const auto found = aliases_.find(alias);
  if (found == aliases_.end() || found->second.request != request) {
    return;
  }
  aliases_.erase(found);
  RetireAlias(alias);
}

void RequestTable::RetireAlias(uint64_t alias) {
  if (aliases_.contains(alias) || !retired_.insert(alias).second) {
    return;
  }
  changed_aliases_.push_back(alias);
  retired_order_.push_back(alias);
  if (retired_order_.size() > kRetiredAliases) {
    retired_.erase(retired_order_.front());
    retired_order_.pop_front();
  }
}

Request* RequestTable::FindAlias(uint64_t alias) const {
  const auto found = aliases_.find(alias);
  return found == aliases_.end() ? nullptr : Find(found->second.request);
}

bool RequestTable::ClaimSending(const TrackName& track, RequestId request) {
  return sending_.try_emplace(track, request).second;
}

bool RequestTable::ClaimReceiving(const TrackName& track, RequestId request) {
  return receiving_.try_emplace(track, request).second;
}

std::optional<RequestId> RequestTable::SenderOf(const TrackName& track) const {
  const auto found = sending_.find(track);
  return found == sending_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<RequestId> RequestTable::ReceiverOf(const TrackName& track) const {
  const auto found = receiving_.find(track);
  return found == receiving_.end() ? std::nullopt : std::optional(found->second);
}

void RequestTable::Unclaim(const TrackName& track, RequestId request) {
  for (auto* claims : {&sending_, &receiving_}) {
    const auto found = claims->find(track);
    if (found != claims->end() && found->second == request) {
      claims->erase(found);
    }
  }
}

}  // namespace kvcast::moqt
