#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kvcast/host/command_line.h"

namespace kvcast {

// What a command did, as whoever typed it sees it.
struct CommandOutcome {
  int status = 0;
  std::string out;
  std::string err;
};

// Runs `kvcast <arguments>` in this process.
inline CommandOutcome RunKvcast(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "kvcast");
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  CommandOutcome outcome;
  outcome.status = RunCommandLine(static_cast<int>(arguments.size()), arguments.data());
  outcome.out = testing::internal::GetCapturedStdout();
  outcome.err = testing::internal::GetCapturedStderr();
  return outcome;
}

}  // namespace kvcast
