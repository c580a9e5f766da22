#pragma once

#include <CLI/CLI.hpp>

namespace kvcast {

// The subcommands of `kvcast store`, each in a file of its own.
void AddStoreReplayCommand(CLI::App& app, int* exit_status);

}  // namespace kvcast
