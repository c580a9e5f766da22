#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "kvcast/base/time.h"
#include "kvcast/moqt/receive_room.h"
#include "kvcast/moqt/session.h"
#include "kvcast/relay/access.h"
#include "kvcast/relay/ending.h"
#include "kvcast/relay/identity_book.h"
#include "kvcast/relay/send_shares.h"
#include "kvcast/relay/stall_book.h"

namespace kvcast::relay {

struct Peer;
class Relay;

// The one place that every request of a peer's passes before a relay looks anything up for it: who
// asks, whether they may, and whether it is not too much.
//
// Part of a relay, whose parts it uses.
class Gate {
 public:
  // `ram_bytes`: the memory of which parts are what all peers may cost, where limits do not say.
  Gate(Relay& relay, Access::Options access, size_t ram_bytes);
  // The relay has other limits now.
  void OnLimits();

  // False: the request has been answered. What a peer may not read is turned into what is not here,
  // so that both take the same way.
  bool Admit(Peer& peer, moqt::Event& event);
  void OnJoined(Peer& peer);
  void OnSetup(Peer& peer, const moqt::Setup& setup);
  void OnLeft(Peer& peer);
  // Something of what the peer has under way may have ended, or been sent.
  void Recount(Peer& peer);
  void Replace(Access::Options access);

  // Ends what was granted until now, and what nobody takes.
  void OnTime();
  std::optional<Instant> deadline() const;
  // After everything that may have left something waiting.
  void Settle();

  // How much may wait for a peer before its fetches pause.
  size_t FetchRoom(const Peer& peer) const;
  // One of them did. Where it has nothing waiting itself, others have, and WakeStarved() has it go
  // on once they have less.
  void OnCrowded(Peer& peer);
  void WakeStarved();
  // What has come takes room that blocks would have.
  void CountReceived();
  SendShares& shares() { return shares_; }

 private:
  static constexpr moqt::RequestId kWholeSession = UINT64_MAX;
  static constexpr size_t kEndingsMin = 1024;

  void Welcome(Peer& peer, Access::Welcome welcome);
  bool HasSessionFor(const Peer& peer, const Identity& identity) const;
  std::optional<moqt::RequestError> OverloadBy(Peer& peer, const moqt::Event& event);
  // It did something that leads to nothing, and may not do that for ever.
  void OnUseless(Peer& peer);
  // More comes than there is room for: who has most gives up some.
  void MakeRoom(const Peer& peer);
  void MakeRoomIn(const moqt::ReceiveRoom& room, const IdentityBook::Account* of);
  void SetRoom();
  size_t PartOfMemory(size_t bytes, size_t least) const;
  void SetRoomOf(IdentityBook::Account& account) const;
  void EndGrantAt(const Ending& ending);
  bool IsOpen(SubscriberId id) const;
  void EndGrants();
  void EndStalled();
  Duration StallPatience() const;
  uint64_t NowUs() const;
  Instant InstantOf(uint64_t wall_us) const;

  Relay* relay_;
  Access access_;
  size_t ram_bytes_;
  std::shared_ptr<moqt::ReceiveRoom> room_ = std::make_shared<moqt::ReceiveRoom>();
  IdentityBook identities_;
  SendShares shares_;
  std::set<Ending> endings_;       // Of sessions, and of requests with tokens of their own.
  size_t swept_at_ = kEndingsMin;  // So many endings, and those of requests that are over go.
  StallBook stalls_;
  std::deque<PeerId> starved_;  // Whose fetches wait for others, who came first in front.
};

}  // namespace kvcast::relay
