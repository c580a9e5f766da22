#include <fmt/format.h>

#include "kvcast/host/command.h"
#include "kvcast/host/version.h"

namespace kvcast {

void AddVersionCommand(CLI::App& app, int* exit_status) {
  CLI::App* const command = app.add_subcommand(
      "version",
      "Print the version of kvcast and of the libraries it runs on\n\n"
      "Put this into every report of a problem. kvcast --version prints the first line alone.");
  command->group(kMachineCommands);
  command->footer("kvcast version");
  command->callback([exit_status] {
    fmt::print("{}", VersionReport());
    *exit_status = kExitOk;
  });
}

}  // namespace kvcast
