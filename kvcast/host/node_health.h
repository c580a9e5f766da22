#pragma once

#include <optional>
#include <string>

#include "kvcast/base/log.h"
#include "kvcast/base/metrics.h"
#include "kvcast/host/node_server.h"
#include "kvcast/io/event_loop.h"
#include "kvcast/relay/canary.h"

namespace kvcast {

// Whether a node is of use: it lets a canary fly now and then. Belongs to the loop's thread.
class NodeHealth {
 public:
  struct Options {
    Duration every = std::chrono::seconds(5);
    Duration patience = std::chrono::seconds(1);  // A canary that takes longer has failed.
  };
  NodeHealth(EventLoop& loop, NodeServer& node, const Options& options, Metrics& metrics,
             LogSink* log);

  // Absent: it is ready. Else why not: the last canary failed, or was too long ago.
  std::optional<std::string> Trouble(Instant now) const;
  // The node is leaving: it is not ready any more.
  void Leave() { leaving_ = true; }

 private:
  void Fly();

  NodeServer* node_;
  Options options_;
  relay::Canary canary_;
  Log log_;
  Gauge& ready_;
  Counter& flights_;
  Counter& failures_;
  Histogram& seconds_;
  std::optional<Instant> last_;  // When one came back.
  std::string trouble_ = "No canary has come back yet.";
  bool leaving_ = false;
  LoopTimer timer_;
};

}  // namespace kvcast
