#include "kvcast/host/command.h"
#include "kvcast/host/moq_flags.h"

namespace kvcast {

void AddMoqCommand(CLI::App& app, int* exit_status) {
  CLI::App* const command = app.add_subcommand(
      "moq",
      "Publish, subscribe, fetch and look around at any MoQT relay\n\n"
      "Speaks MoQT draft-18 over QUIC to a relay of any make: for trying out and for finding out "
      "what is wrong. It knows nothing of KV caches; a kvcast node is one such relay.\n\n"
      "A track is named as MoQT renders names: the namespace's fields joined by -, then -- and the "
      "track's name; every byte but letters, digits and _ is written as . and two hex digits. The "
      "track \"v-1\" of (\"demo\", \"clock\") is demo-clock--v.2d1.\n\n"
      "The relay's certificate is checked: by its fingerprint if that stands behind the # of its "
      "address, by the authorities in --ca, or by those that this machine trusts.");
  command->group(kMoqCommands);
  command->footer(
      "kvcast moq ls moqt://relay.example:4433 demo\n"
      "kvcast moq pub moqt://relay.example:4433 demo-clock--now --count 60 --rate 1\n"
      "kvcast moq sub moqt://relay.example:4433 demo-clock--now\n"
      "kvcast moq fetch moqt://relay.example:4433 demo-clock--now 0-3\n"
      "kvcast moq status moqt://relay.example:4433 demo-clock--now");
  command->require_subcommand(1);
  AddMoqPubCommand(*command, exit_status);
  AddMoqSubCommand(*command, exit_status);
  AddMoqFetchCommand(*command, exit_status);
  AddMoqStatusCommand(*command, exit_status);
  AddMoqLsCommand(*command, exit_status);
}

}  // namespace kvcast
