#pragma once

namespace kvcast {

// The whole program: finds the command that the arguments name, runs it, and returns the exit
// status (see command.h). Never throws.
int RunCommandLine(int argc, const char* const* argv);

}  // namespace kvcast
