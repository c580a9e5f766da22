#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kvcast/host/relay_connection.h"
#include "kvcast/io/event_loop.h"

namespace kvcast {

// What a test case has found out about a relay.
struct InteropFinding {
  bool passed = false;
  // In the order in which they are printed: "expected", "received", "message", connection ids.
  std::vector<std::pair<std::string, std::string>> notes;
};

// The test cases of moq-interop-runner, by its names. Each makes its own connections.
struct InteropCase {
  std::string_view name;
  InteropFinding (*run)(EventLoop& loop, const RelayConnection::Options& target);
};

std::span<const InteropCase> InteropCases();

}  // namespace kvcast
