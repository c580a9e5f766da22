#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "kvcast/host/command.h"
#include "kvcast/host/doctor.h"
#include "kvcast/host/doctor_report.h"

namespace kvcast {
namespace {

struct DoctorOptions {
  std::string disk;
  bool skip_disk = false;
  bool json = false;
};

bool StdoutHasColours() {
  return ::isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
}

int RunDoctor(const DoctorOptions& options) {
  ProbeOptions probe;
  probe.skip_disk = options.skip_disk;
  if (!options.disk.empty()) {
    probe.disk_directory = options.disk;
  }
  const MachineFacts facts = ProbeMachine(probe);
  const std::vector<Section> sections = Judge(facts);
  fmt::print("{}", options.json ? DoctorJson(facts, sections)
                                : DoctorReport(facts, sections, StdoutHasColours()));
  if (!Usable(sections)) {
    return Failed(Error(ErrorCode::kMachine,
                        "It cannot work on this machine. Do what the report says of what is "
                        "blocking."));
  }
  return kExitOk;
}

}  // namespace

void AddDoctorCommand(CLI::App& app, int* exit_status) {
  CLI::App* const command = app.add_subcommand(
      "doctor",
      "Measure this machine and say what would make kvcast faster on it\n\n"
      "It tries out UDP sockets over loopback, io_uring, memory, the processor and a disk, and "
      "says for each what was measured, why it matters and what to do, with the commands to type. "
      "It changes nothing, needs no root, and takes a few seconds.\n\n"
      "Exit status: 0 even if much could be better; 1 if kvcast cannot work here at all, because "
      "UDP sockets or the directory of --disk are not to be had; 2 for a wrong command line.");
  command->group(kMachineCommands);
  command->footer(
      "kvcast doctor --disk /var/lib/kvcast\n"
      "kvcast doctor --skip-disk --json | jq '.findings[] | select(.verdict != \"good\")'");
  const auto options = std::make_shared<DoctorOptions>();
  command
      ->add_option("--disk", options->disk,
                   "Test the disk of this directory, with up to 256 MiB of it")
      ->type_name("DIR")
      ->check([](const std::string& given) { return given.empty() ? "It must not be empty." : ""; })
      ->default_str("the current directory");
  command->add_flag("--skip-disk", options->skip_disk, "Test no disk")->excludes("--disk");
  command->add_flag("--json", options->json, "Print findings and facts as JSON");
  command->callback([options, exit_status] { *exit_status = RunDoctor(*options); });
}

}  // namespace kvcast
