#include "kvcast/host/command_store.h"

#include "kvcast/host/command.h"
#include "kvcast/host/model_text.h"
#include "kvcast/host/resting_store.h"

namespace kvcast {

void AddStoreCommand(CLI::App& app, int* exit_status) {
  CLI::App* const command = app.add_subcommand(
      "store",
      "Look into a node's store, check it, carry it elsewhere, or see how one would do\n\n"
      "A node that was given a directory or a bucket keeps objects there. ls, stat and verify look "
      "into it and change nothing; export and import carry tracks from one to another, and forget "
      "removes them. They work while no node uses the directory; a bucket they see as it was when "
      "they began.\n\n"
      "A store holds blocks in as much room as it is given, and lets those go that are worth "
      "least. "
      "What that comes to depends on what is asked for: replay tries it on a trace of requests.");
  command->group(kNodeCommands);
  command->footer(
      "kvcast store ls DIR\n"
      "kvcast store verify DIR\n"
      "kvcast store ls s3://BUCKET/PREFIX,endpoint=https://s3.example.org\n"
      "kvcast store replay trace.jsonl");
  command->require_subcommand(1);
  AddStoreLsCommand(*command, exit_status);
  AddStoreStatCommand(*command, exit_status);
  AddStoreVerifyCommand(*command, exit_status);
  AddStoreExportCommand(*command, exit_status);
  AddStoreImportCommand(*command, exit_status);
  AddStoreForgetCommand(*command, exit_status);
  AddStoreReplayCommand(*command, exit_status);
}

void AddStoreArgument(CLI::App& command, StoreFlags& flags) {
  command
      .add_option("STORE", flags.store,
                  "What a node keeps objects in: a directory, or a bucket as 'kvcast serve "
                  "--bucket' takes it, s3://BUCKET[/PREFIX]…")
      ->required();
}

void AddTrackFlag(CLI::App& command, StoreFlags& flags) {
  command
      .add_option("--track", flags.track_prefix,
                  "Only tracks whose name, as 'kvcast store ls' writes it, begins so")
      ->type_name("PREFIX");
}

int TellUnlisted(const RestingStore& store) {
  const std::vector<StoreDamage> unlisted = store.Unlisted();
  for (const StoreDamage& one : unlisted) {
    PrintProblem(one.file + " is left out: " + one.what);
  }
  return unlisted.empty() ? kExitOk : kExitFailed;
}

std::string Counted(uint64_t count, const std::string& noun) {
  return Grouped(count) + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace kvcast
