#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "kvcast/base/time.h"
#include "kvcast/moqt/messages.h"
#include "kvcast/object/track_name.h"

// Why a node does not do what it was asked for.
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

// What the refusal of somebody who was asked for others is to those. A redirect that leads to
// another track leads there from here as well, since whoever follows it asks us. One that leads
// nowhere else is of no use.
moqt::RequestError PassedOn(const moqt::RequestError& refusal, const TrackName& asked);
// Of two publishers' refusals the one to pass on, and of two that may be tried again the one that
// may be sooner.
const moqt::RequestError& BetterOf(const moqt::RequestError& first,
                                   const moqt::RequestError& second);
// Whether nobody need wait for another publisher.
bool EndsRendezvous(const moqt::RequestError& refusal);

}  // namespace kvcast::relay
