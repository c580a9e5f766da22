#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "kvcast/object/track_name.h"

namespace kvcast {

// The subcommands of `kvcast store`, each in a file of its own.
void AddStoreExportCommand(CLI::App& app, int* exit_status);
void AddStoreForgetCommand(CLI::App& app, int* exit_status);
void AddStoreImportCommand(CLI::App& app, int* exit_status);
void AddStoreLsCommand(CLI::App& app, int* exit_status);
void AddStoreReplayCommand(CLI::App& app, int* exit_status);
void AddStoreStatCommand(CLI::App& app, int* exit_status);
void AddStoreVerifyCommand(CLI::App& app, int* exit_status);

// What they have in common: which store, and which of its tracks.
struct StoreFlags {
  std::string store;
  std::string track_prefix;
  bool json = false;
};
void AddStoreArgument(CLI::App& command, StoreFlags& flags);
void AddTrackFlag(CLI::App& command, StoreFlags& flags);

class RestingStore;
// Says which files of a store could not be read, so that what was told is not all there is.
// Returns the exit status for that.
int TellUnlisted(const RestingStore& store);

// "1 group", "2,000 groups".
std::string Counted(uint64_t count, const std::string& noun);

}  // namespace kvcast
