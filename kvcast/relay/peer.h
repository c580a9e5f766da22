#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>

#include "kvcast/moqt/session.h"
#include "kvcast/object/track_name.h"
#include "kvcast/relay/access.h"
#include "kvcast/relay/audience.h"
#include "kvcast/relay/fetch_answer.h"
#include "kvcast/relay/identity_book.h"
#include "kvcast/relay/publication.h"
#include "kvcast/relay/refusal.h"

namespace kvcast::relay {

// What certificates of peers say.
using Credentials = std::map<PeerId, Credential>;

// A session that takes part, and what it has under way; its subscriptions are in the audience.
struct Peer {
  // Every track below it is to be published to the peer, now and later.
  struct Prefix {
    TrackNamespace space;
    bool forward = true;
  };

  PeerId id = 0;
  moqt::Session* session = nullptr;
  Credential credential;                     // What its connection has proven,
  Identity identity;                         // and who it is by that and its SETUP.
  IdentityBook::Account* account = nullptr;  // Of the identity.
  IdentityBook::Held held{};                 // The peer's part of what stands there.
  uint64_t refused_for_room = 0;             // Of what it sent, as far as it was counted.
  std::optional<size_t> route;               // Which upstream it is; absent: it came to us.
  bool guest = false;                        // Another relay counts it.
  bool uncounted = false;  // It is the node itself that wants to know whether it works.
  bool leaving = false;    // It said so: what is under way goes on, and nothing new is asked of it.
  std::map<moqt::RequestId, Publication> publications;
  std::map<moqt::RequestId, FetchAnswer> fetches;
  // Fetches that wait until somebody upstream says where they end.
  std::map<moqt::RequestId, moqt::FetchReceived> open_fetches;
  std::set<moqt::RequestId> open_statuses;  // And questions that wait for somebody upstream.
  std::set<moqt::RequestId> crowded;        // Fetches that wait for the peer as a whole.
  bool starved = false;                     // They wait for what others have waiting.
  std::map<moqt::RequestId, Prefix> prefixes;
  // Tracks below one that have begun again, while the peer has yet to hear of their end.
  std::map<TrackName, moqt::RequestId> postponed;
  std::map<moqt::RequestId, TrackNamespace> namespaces;          // It has told us of.
  std::map<moqt::RequestId, TrackNamespace> namespace_prefixes;  // It wants to hear of those below.
  std::set<TrackNamespace> told_namespaces;                      // It has, as an upstream, told us.
  std::map<moqt::RequestId, TrackName> upstream;                 // We have asked it for.
  size_t upstream_bytes = 0;                                     // Of their names.
  std::map<moqt::RequestId, TrackName> waiting;  // It wants, and others were asked for.

  // What a relay asks for is bounded by bytes alone.
  bool is_relay() const { return account != nullptr && account->is_relay; }
};

}  // namespace kvcast::relay
