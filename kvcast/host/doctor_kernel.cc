#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <limits>
#include <system_error>

#include "kvcast/host/doctor.h"
#include "kvcast/io/human_units.h"

namespace kvcast {
namespace {

constexpr uint64_t kOpenFilesWanted = 4096;

std::string HumanLimit(uint64_t bytes) {
  return bytes == std::numeric_limits<uint64_t>::max() ? "no limit" : HumanBytes(bytes);
}

// Who refuses io_uring decides what helps.
void AdviseOnRefusal(const UringFacts& uring, Finding& finding) {
  if (uring.disabled.value_or(0) != 0) {
    finding.measured += fmt::format(" (kernel.io_uring_disabled is {})", *uring.disabled);
    finding.advice =
        "An administrator has switched it off. Allow it again, or, where the setting is 1, for the "
        "group in kernel.io_uring_group alone.";
    finding.commands = {"sysctl -w kernel.io_uring_disabled=0"};
    finding.permanent = {"echo 'kernel.io_uring_disabled = 0' >> /etc/sysctl.d/60-kvcast.conf"};
  } else if (uring.refusal == EPERM || uring.refusal == EACCES) {
    finding.advice =
        "A seccomp filter refuses it: Docker's and containerd's own profiles do. Allow "
        "io_uring_setup, io_uring_enter and io_uring_register in a profile of yours, and name it: "
        "--security-opt seccomp=kvcast.json, or securityContext.seccompProfile in Kubernetes.";
  } else if (uring.refusal == ENOMEM) {
    finding.advice = "This process may not lock enough memory.";
    finding.commands = {"ulimit -l unlimited"};
    finding.permanent = {"systemctl edit kvcast   # [Service] LimitMEMLOCK=infinity"};
  } else {
    finding.advice =
        "Use a kernel with io_uring (CONFIG_IO_URING; Linux 5.10 or newer), outside of sandboxes "
        "that emulate the kernel.";
  }
}

Finding Uring(const UringFacts& uring) {
  Finding finding{"io_uring", Verdict::kGood, "available, with all that kvcast uses",
                  "The disk tier keeps many reads and writes in flight from one thread. Without "
                  "io_uring, threads take its place and cost far more of the processor."};
  if (!uring.available) {
    finding.verdict = Verdict::kMissing;
    finding.measured = fmt::format("refused: {}", std::generic_category().message(uring.refusal));
    AdviseOnRefusal(uring, finding);
  } else if (!uring.missing.empty()) {
    finding.verdict = Verdict::kCouldBeBetter;
    finding.measured = fmt::format("available, without: {}", fmt::join(uring.missing, ", "));
    finding.advice = "A newer kernel has them; Linux 6.1, as in Debian 12, has all.";
  }
  return finding;
}

Finding RegisteredBuffers(const UringFacts& uring, const ProcessLimits& limits) {
  const std::string wanted = HumanBytes(uring.registered_buffer_bytes);
  Finding finding{"Pinned buffers", Verdict::kGood, fmt::format("{} can be pinned", wanted),
                  "Buffers that stay registered with io_uring spare the kernel to look up their "
                  "pages for every read and write."};
  if (!uring.registered_buffers) {
    finding.verdict = Verdict::kCouldBeBetter;
    finding.measured = fmt::format("{} cannot be pinned; the limit is {}", wanted,
                                   HumanLimit(limits.locked_bytes));
    finding.advice =
        "The disk tier uses io_uring all the same, with buffers that the kernel looks up each "
        "time. "
        "To spare it that, let kvcast lock more memory.";
    finding.commands = {"ulimit -l unlimited"};
    finding.permanent = {"systemctl edit kvcast   # [Service] LimitMEMLOCK=infinity"};
  }
  return finding;
}

Finding OpenFiles(const ProcessLimits& limits) {
  Finding finding{"Open files", Verdict::kGood,
                  limits.open_files_max == std::numeric_limits<uint64_t>::max()
                      ? std::string("no limit")
                      : fmt::format("up to {}", limits.open_files_max),
                  "Files of the disk tier, connections to a bucket and sockets each take one."};
  if (limits.open_files_max < kOpenFilesWanted) {
    finding.verdict = Verdict::kCouldBeBetter;
    finding.advice = fmt::format("Allow {} or more.", kOpenFilesWanted);
    finding.commands = {fmt::format("ulimit -n {}", kOpenFilesWanted)};
    finding.permanent = {"systemctl edit kvcast   # [Service] LimitNOFILE=65536"};
  }
  return finding;
}

}  // namespace

Section JudgeKernel(const UringFacts& uring, const ProcessLimits& limits) {
  Section section{"Kernel", {Uring(uring)}};
  if (uring.available) {
    section.findings.push_back(RegisteredBuffers(uring, limits));
  }
  section.findings.push_back(OpenFiles(limits));
  return section;
}

}  // namespace kvcast
