#include "kvcast/host/machine_facts.h"

#include <system_error>

#include "kvcast/io/progress.h"
#include "kvcast/io/system_release.h"

namespace kvcast {

MachineFacts ProbeMachine(const ProbeOptions& options) {
  MachineFacts facts;
  facts.system = SystemRelease();
  facts.cpu = ProbeCpu();
  facts.memory = ProbeMemory();
  facts.udp = ProbeUdp();
  facts.uring = ProbeUring();
  facts.limits = ReadProcessLimits();
  facts.libraries = LibraryVersions();
  if (!options.skip_disk) {
    std::error_code ignored;  // Then the path is empty, and the probe says what is wrong with it.
    const std::filesystem::path directory =
        options.disk_directory.value_or(std::filesystem::current_path(ignored));
    Progress progress("Testing the disk of " + directory.string());
    DiskProbeOptions disk;
    disk.progress = [&progress](uint64_t done, uint64_t total) { progress.Update(done, total); };
    facts.disk = ProbeDisk(directory, disk);
    if (facts.disk->ok()) {
      progress.Done();
    }
    facts.disk_named = options.disk_directory.has_value();
  }
  return facts;
}

}  // namespace kvcast
