#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "kvcast/host/command.h"
#include "kvcast/host/config_json.h"
#include "kvcast/host/config_text.h"
#include "kvcast/host/json_text.h"
#include "kvcast/host/serve_flags.h"

namespace kvcast {

void AddConfigCommand(CLI::App& app, int* exit_status) {
  CLI::App* const command = app.add_subcommand(
      "config",
      "Print the configuration that a node would run with\n\n"
      "Takes the file and the flags that 'kvcast serve' takes, and prints what they amount to, as "
      "a "
      "file that 'kvcast serve --config' reads: every key with what it means, its unit, its "
      "default, and who has set it. Without any, that is all that there is to be configured. What "
      "is wrong with a file is said with its line.");
  command->group(kNodeCommands);
  command->footer(
      "kvcast config\n"
      "kvcast config > node.toml\n"
      "kvcast config --config node.toml --ram 16GiB");
  const auto flags = std::make_shared<ServeFlags>();
  ServeFlags::AddTo(*command, *flags);
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print it as JSON, without what each key means");
  command->callback([flags, json, exit_status] {
    const Result<NodeConfig> config = flags->Config();
    if (!config.ok()) {
      throw CLI::ValidationError(config.error().ToString());
    }
    fmt::print("{}", *json ? JsonText(ConfigJson(*config)) : ConfigText(*config));
    *exit_status = kExitOk;
  });
}

}  // namespace kvcast
