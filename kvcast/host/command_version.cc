#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "kvcast/host/command.h"
#include "kvcast/host/json_text.h"
#include "kvcast/host/version.h"

namespace kvcast {

void AddVersionCommand(CLI::App& app, int* exit_status) {
  CLI::App* const command = app.add_subcommand(
      "version",
      "Print the version of kvcast and of the libraries it runs on\n\n"
      "Put this into every report of a problem. kvcast --version prints the first line alone.");
  command->group(kMachineCommands);
  command->footer("kvcast version");
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print it as JSON");
  command->callback([json, exit_status] {
    fmt::print("{}", *json ? JsonText(VersionJson()) : VersionReport());
    *exit_status = kExitOk;
  });
}

}  // namespace kvcast
