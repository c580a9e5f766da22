#include "kvcast/host/node_health.h"

#include "kvcast/io/clock.h"
#include "kvcast/io/human_units.h"

namespace kvcast {
namespace {

// Missing one flight is a loop that was busy; missing so many is one that stands still.
constexpr int kFlightsMissed = 3;

}  // namespace

NodeHealth::NodeHealth(EventLoop& loop, NodeServer& node, const Options& options, Metrics& metrics,
                       LogSink* log)
    : node_(&node),
      options_(options),
      canary_(node.relay()),
      log_(log, "health"),
      ready_(metrics.gauge("kvcast_node_ready", "1 while the last canary came back in time.")),
      flights_(metrics.counter("kvcast_canary_flights_total",
                               "Objects that the node published to itself and fetched.")),
      failures_(metrics.counter("kvcast_canary_failures_total",
                                "Those of them that did not come back in time.")),
      seconds_(metrics.histogram("kvcast_canary_seconds", "How long they took.",
                                 Histogram::Exponential(0.0001, 4, 8))),
      timer_(loop, [this] { Fly(); }) {
  Fly();
}

void NodeHealth::Fly() {
  const Instant begun = Now();
  const Result<void> came_back = canary_.Try(begun);
  node_->OnAsked();
  const Instant now = Now();
  flights_.Add();
  seconds_.Observe(std::chrono::duration<double>(now - begun).count());
  const bool was_well = trouble_.empty();
  if (!came_back.ok()) {
    trouble_ = came_back.error().ToString();
  } else if (now - begun > options_.patience) {
    trouble_ = "The canary took " + HumanDuration(now - begun) + ".";
  } else {
    trouble_.clear();
    last_ = now;
  }
  failures_.Add(trouble_.empty() ? 0 : 1);
  ready_.Set(trouble_.empty() && !leaving_ ? 1 : 0);
  if (was_well && !trouble_.empty()) {
    log_.Error("not ready", {{"reason", trouble_}});
  } else if (!was_well && trouble_.empty()) {
    log_.Info("ready", {});
  }
  timer_.Set(now + options_.every);
}

std::optional<std::string> NodeHealth::Trouble(Instant now) const {
  if (leaving_) {
    return "The node is leaving.";
  }
  if (!trouble_.empty()) {
    return trouble_;
  }
  if (now - *last_ > options_.every * kFlightsMissed + options_.patience) {
    return "The last canary came back " + HumanDuration(now - *last_) + " ago.";
  }
  return std::nullopt;
}

}  // namespace kvcast
