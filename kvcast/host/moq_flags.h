#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "kvcast/base/result.h"
#include "kvcast/host/quic_flags.h"
#include "kvcast/host/relay_connection.h"
#include "kvcast/host/trust_flags.h"
#include "kvcast/io/clock.h"
#include "kvcast/object/track_name.h"

namespace kvcast {

// A session with a relay and the loop it runs on.
struct MoqRun {
  std::unique_ptr<EventLoop> loop;
  std::unique_ptr<RelayConnection> relay;
};

// What every `kvcast moq` command is told: which relay, how to be sure of it, and how long to wait.
struct MoqFlags {
  std::string relay;
  TrustFlags trust;
  QuicFlags quic;
  uint32_t timeout_s = 10;
  bool json = false;

  // Adds them, RELAY as the first argument; `flags` must outlive the command.
  static void AddTo(CLI::App& command, MoqFlags& flags);

  // How to reach the relay; warns if its certificate is not to be checked.
  Result<RelayConnection::Options> Target() const;
  // Connects; Ctrl-C ends waits from then on, and what the relay asks us for is refused.
  Result<MoqRun> Connect() const;
  // The end of a wait that begins now.
  Instant Deadline() const { return Now() + std::chrono::seconds(timeout_s); }
};

// Names as MoQT renders them: "demo-clock--now", or "demo-clock" for a namespace. Errors say how.
Result<TrackName> ParseTrackArgument(const std::string& text);
Result<TrackNamespace> ParseNamespaceArgument(const std::string& text);

// The parts of `kvcast moq`, each in a file of its own.
void AddMoqPubCommand(CLI::App& moq, int* exit_status);
void AddMoqSubCommand(CLI::App& moq, int* exit_status);
void AddMoqFetchCommand(CLI::App& moq, int* exit_status);
void AddMoqStatusCommand(CLI::App& moq, int* exit_status);
void AddMoqLsCommand(CLI::App& moq, int* exit_status);

}  // namespace kvcast
