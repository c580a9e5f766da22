#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "kvcast/base/error.h"

namespace kvcast {

// A command of the program is a file, command_<name>.cc, with one function that is declared at the
// end of this one and called from command_line.cc. It adds its subcommand and options to `app`, and
// a callback that does the work and sets *exit_status; it never exits. How a command describes
// itself is said in help_text.h.
//
// Results go to stdout, and everything else, progress included, to stderr. Options that do not go
// together are a CLI::ValidationError, thrown from the callback.

// What the shell is told. Part of the contract: scripts depend on it.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;  // It was tried, and stderr says why it did not work.
inline constexpr int kExitUsage = 2;   // The command line makes no sense; nothing was tried.

// Writes "kvcast: <message>" to stderr.
void PrintProblem(std::string_view message);
// The same for an error that ends the command; returns kExitFailed.
int Failed(const Error& error);

// Headings under which commands are listed.
inline constexpr const char* kCacheCommands = "KV caches";
inline constexpr const char* kNodeCommands = "Nodes";
inline constexpr const char* kMoqCommands = "MoQT";
inline constexpr const char* kMachineCommands = "This machine";

void AddBenchCommand(CLI::App& app, int* exit_status);
void AddCalibrateCommand(CLI::App& app, int* exit_status);
void AddCertCommand(CLI::App& app, int* exit_status);
void AddConfigCommand(CLI::App& app, int* exit_status);
void AddDecodeCommand(CLI::App& app, int* exit_status);
void AddDoctorCommand(CLI::App& app, int* exit_status);
void AddEncodeCommand(CLI::App& app, int* exit_status);
void AddFindCommand(CLI::App& app, int* exit_status);
void AddForgetCommand(CLI::App& app, int* exit_status);
void AddGetCommand(CLI::App& app, int* exit_status);
void AddImpairCommand(CLI::App& app, int* exit_status);
void AddInspectCommand(CLI::App& app, int* exit_status);
void AddInteropCommand(CLI::App& app, int* exit_status);
void AddLsCommand(CLI::App& app, int* exit_status);
void AddMoqCommand(CLI::App& app, int* exit_status);
void AddNameCommand(CLI::App& app, int* exit_status);
void AddPutCommand(CLI::App& app, int* exit_status);
void AddRungsCommand(CLI::App& app, int* exit_status);
void AddServeCommand(CLI::App& app, int* exit_status);
void AddStatCommand(CLI::App& app, int* exit_status);
void AddStoreCommand(CLI::App& app, int* exit_status);
void AddTokenCommand(CLI::App& app, int* exit_status);
void AddVersionCommand(CLI::App& app, int* exit_status);
void AddWarmCommand(CLI::App& app, int* exit_status);
void AddWatchCommand(CLI::App& app, int* exit_status);

}  // namespace kvcast
