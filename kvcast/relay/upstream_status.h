#pragma once

#include <optional>
#include <set>

#include "kvcast/moqt/event.h"
#include "kvcast/object/track_name.h"
#include "kvcast/relay/audience.h"

namespace kvcast::relay {

// What became of the question how a track stands, and who wanted to know.
struct UpstreamStatus {
  TrackName track;
  std::set<SubscriberId> askers;
  std::optional<moqt::RequestAccepted> answer;
  std::optional<moqt::RequestError> refusal;  // Neither: nobody answers.
};

}  // namespace kvcast::relay
