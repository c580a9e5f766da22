#include "kvcast/host/command_store.h"

#include "kvcast/host/command.h"

namespace kvcast {

void AddStoreCommand(CLI::App& app, int* exit_status) {
  CLI::App* const command = app.add_subcommand(
      "store",
      "See how a node's store would do\n\n"
      "A store holds blocks in as much room as it is given, and lets those go that are worth "
      "least. "
      "What that comes to depends on what is asked for: replay tries it on a trace of requests.");
  command->group(kNodeCommands);
  command->footer("kvcast store replay trace.jsonl");
  command->require_subcommand(1);
  AddStoreReplayCommand(*command, exit_status);
}

}  // namespace kvcast
