#pragma once

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "kvcast/moqt/session.h"
#include "kvcast/object/track_name.h"
#include "kvcast/relay/audience.h"
#include "kvcast/relay/fetch_answer.h"
#include "kvcast/relay/publication.h"

namespace kvcast::relay {

// A refusal with no more to it.
inline moqt::RequestError Because(moqt::RequestCode code, std::string reason) {
  return {code, std::nullopt, std::move(reason), std::nullopt};
}
// One that may be another answer after a while.
inline moqt::RequestError Later(moqt::RequestCode code, Duration after, std::string reason) {
  const auto after_ms = std::chrono::duration_cast<std::chrono::milliseconds>(after).count();
  return {code, static_cast<uint64_t>(after_ms), std::move(reason), std::nullopt};
}

// A session that takes part, and what it has under way; its subscriptions are in the audience.
struct Peer {
  // Every track below it is to be published to the peer, now and later.
  struct Prefix {
    TrackNamespace space;
    bool forward = true;
  };

  PeerId id = 0;
  moqt::Session* session = nullptr;
  bool leaving = false;  // It said so: what is under way goes on, and nothing new is asked of it.
  std::map<moqt::RequestId, Publication> publications;
  std::map<moqt::RequestId, FetchAnswer> fetches;
  std::set<moqt::RequestId> crowded;  // Fetches that wait for the peer as a whole.
  std::map<moqt::RequestId, Prefix> prefixes;
  // Tracks below one that have begun again, while the peer has yet to hear of their end.
  std::map<TrackName, moqt::RequestId> postponed;
  std::map<moqt::RequestId, TrackNamespace> namespaces;          // It has told us of.
  std::map<moqt::RequestId, TrackNamespace> namespace_prefixes;  // It wants to hear of those below.
  std::map<moqt::RequestId, TrackName> upstream;                 // We have asked it for.
  size_t upstream_bytes = 0;                                     // Of their names.
  std::map<moqt::RequestId, TrackName> waiting;  // It wants, and others were asked for.
};

}  // namespace kvcast::relay
