#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/io/cpu_probe.h"
#include "kvcast/io/disk_probe.h"
#include "kvcast/io/library_versions.h"
#include "kvcast/io/memory_probe.h"
#include "kvcast/io/process_limits.h"
#include "kvcast/io/udp_probe.h"
#include "kvcast/io/uring_probe.h"

namespace kvcast {

// Everything that the doctor measures. A probe that could not run is an error in its place.
struct MachineFacts {
  std::string system;
  Result<CpuFacts> cpu = CpuFacts();
  Result<MemoryFacts> memory = MemoryFacts();
  Result<UdpFacts> udp = UdpFacts();
  UringFacts uring;
  ProcessLimits limits;
  std::vector<LibraryVersion> libraries;
  std::optional<Result<DiskFacts>> disk;  // Absent when no disk was to be tested.
  bool disk_named = false;                // Whether somebody said which.
};

struct ProbeOptions {
  bool skip_disk = false;
  // Whose disk to test; the current directory's unless somebody names one.
  std::optional<std::filesystem::path> disk_directory;
};

// Runs every probe. The disk's takes a few seconds at most, and shows progress.
MachineFacts ProbeMachine(const ProbeOptions& options);

}  // namespace kvcast
