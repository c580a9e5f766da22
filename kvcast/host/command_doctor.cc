#include <fmt/format.h>

#include "kvcast/host/command.h"

namespace kvcast {

void AddDoctorCommand(CLI::App& app, int* exit_status) {
  CLI::App* const command = app.add_subcommand(
      "doctor", "Measure this machine and say what would make kvcast faster on it");
  command->group(kMachineCommands);
  command->footer("kvcast doctor");
  command->callback([exit_status] { *exit_status = kExitOk; });
}

}  // namespace kvcast
