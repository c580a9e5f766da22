#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "kvcast/moqt/event.h"
#include "kvcast/moqt/fault.h"
#include "kvcast/moqt/prefix_claims.h"
#include "kvcast/moqt/request_ids.h"
#include "kvcast/moqt/session_share.h"
#include "kvcast/object/track_name.h"

namespace kvcast::moqt {

class Request;

// The requests of a session by their ids, their tracks' aliases, and whose tracks they are.
class RequestTable {
 public:
  // `first` is the first id of our side's requests.
  explicit RequestTable(RequestId first, const SessionShare& share = {});
  ~RequestTable();

  // The id of our next request; it stays so until NextId() hands it out.
  RequestId next_id() const { return next_id_; }
  RequestId NextId();
  // Whether an id is one of ours that was given to a request, now or earlier.
  bool WasIssued(RequestId id) const { return id % step_ == next_id_ % step_ && id < next_id_; }
  // Notes an id of the peer's: INVALID_REQUEST_ID if it is none, or was used before. Where sessions
  // share a connection, none of them sees all ids, and whoever joins them looks that none comes
  // twice.
  Decoded<void> NotePeerId(RequestId id);
  // Whether an id may be one of the peer's that is still to come.
  bool MayCome(RequestId id) const { return !shared_ && IsPeers(id) && !peer_ids_.Has(id); }
  // The smallest id that the peer has not used, nor any above it.
  RequestId next_peer_id() const { return peer_ids_.next(); }

  Request& Add(std::unique_ptr<Request> request);
  Request* Find(RequestId id) const;
  template <typename T>
  T* Find(RequestId id) const {
    return dynamic_cast<T*>(Find(id));
  }
  size_t size() const { return requests_.size(); }
  size_t peer_request_count() const { return peer_request_count_; }
  std::vector<RequestId> Ids() const;
  void Erase(RequestId id);

  // A track that the peer sends us under an alias. DUPLICATE_TRACK_ALIAS if another has it.
  Decoded<void> AddAlias(uint64_t alias, RequestId request);
  // The track is done. What is under way still comes under its alias, until another has it.
  void LendAlias(uint64_t alias, RequestId request);
  // Later streams of the alias are dropped rather than kept for a track to come.
  void RetireAlias(uint64_t alias, RequestId request);
  // The same of one that no request has: its track was left before it was known.
  void RetireAlias(uint64_t alias);
  // The request that receives what comes under an alias, or null.
  Request* FindAlias(uint64_t alias) const;
  // Whether a track may come under it: nobody has it, or who has it is done.
  bool IsAliasFree(uint64_t alias) const {
    const auto found = aliases_.find(alias);
    return found == aliases_.end() || found->second.lent;
  }
  bool IsRetired(uint64_t alias) const { return retired_.contains(alias); }

  // Aliases that have come or gone since the last call: streams may wait for them.
  std::vector<uint64_t> TakeChangedAliases() { return std::exchange(changed_aliases_, {}); }

  // At most one subscription to a track each way; false if there is one.
  bool ClaimSending(const TrackName& track, RequestId request);
  bool ClaimReceiving(const TrackName& track, RequestId request);
  // Who has the claim to send it, if anyone does.
  std::optional<RequestId> SenderOf(const TrackName& track) const;
  // Who has the claim to receive it, if anyone does; and it is another's from now on.
  std::optional<RequestId> ReceiverOf(const TrackName& track) const;
  void PassReceiving(const TrackName& track, RequestId to) { receiving_[track] = to; }
  void Unclaim(const TrackName& track, RequestId request);

  // The prefixes whose tracks or namespaces, by kind of request, the peer has asked us for, and we
  // it.
  PrefixClaims& sending_below(MessageKind kind) { return sending_below_[kind]; }
  PrefixClaims& receiving_below(MessageKind kind) { return receiving_below_[kind]; }

 private:
  struct Alias {
    RequestId request = 0;
    bool lent = false;
  };

  bool IsPeers(RequestId id) const { return id % 2 != next_id_ % 2; }

  RequestId next_id_;
  RequestId step_;
  bool shared_;
  RequestIds peer_ids_;
  std::map<RequestId, std::unique_ptr<Request>> requests_;
  size_t peer_request_count_ = 0;
  std::map<uint64_t, Alias> aliases_;
  std::vector<uint64_t> changed_aliases_;
  std::set<uint64_t> retired_;
  std::deque<uint64_t> retired_order_;
  std::map<TrackName, RequestId> sending_;
  std::map<TrackName, RequestId> receiving_;
  std::map<MessageKind, PrefixClaims> sending_below_;
  std::map<MessageKind, PrefixClaims> receiving_below_;
};

}  // namespace kvcast::moqt
