#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "kvcast/base/time.h"
#include "kvcast/moqt/session.h"
#include "kvcast/relay/audience.h"
#include "kvcast/relay/ending.h"

namespace kvcast::relay {

// A track that nobody publishes, and others want: who was asked for it, once each, however many
// want it, and who waits for an answer or for a publisher.
struct Upstream {
  struct Asked {
    Instant answer_by;
    std::optional<uint64_t> new_group;  // As the request had it.
    bool established = false;
    bool crossed = false;  // It was refused, for the peer's own PUBLISH is to come.
  };
  struct Waiting {
    moqt::Parameters parameters;   // What an answer depends on.
    std::optional<Instant> until;  // It waits so long for a publisher, whoever refuses meanwhile.
    bool moves = false;            // But only for a session in the place of one that is leaving.
  };

  std::map<SubscriberId, Asked> asked;        // The peers, and our requests to them.
  std::map<SubscriberId, Waiting> waiting;    // The peers, and their requests.
  std::optional<moqt::RequestError> refusal;  // The best of those that peers have given.
  std::set<PeerId> tried;                     // Upstreams that were asked, and may have refused.
  bool orphaned = false;  // Its audience has lost its publisher, and hopes for another.
};

}  // namespace kvcast::relay
