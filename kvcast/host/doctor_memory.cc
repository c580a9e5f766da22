#include <fmt/format.h>

#include <algorithm>

#include "kvcast/host/doctor.h"
#include "kvcast/io/human_units.h"

namespace kvcast {
namespace {

constexpr uint64_t kRoomyMemoryBytes = uint64_t{4} << 30;

Finding Room(const MemoryFacts& memory) {
  const uint64_t limit = memory.cgroup_bytes_max.value_or(memory.total_bytes);
  const uint64_t usable = std::min(memory.available_bytes, limit);
  Finding finding{"Memory", Verdict::kGood,
                  limit < memory.total_bytes
                      ? fmt::format("{} of {} available, of which a control group grants {}",
                                    HumanBytes(memory.available_bytes),
                                    HumanBytes(memory.total_bytes), HumanBytes(limit))
                      : fmt::format("{} of {} available", HumanBytes(memory.available_bytes),
                                    HumanBytes(memory.total_bytes)),
                  "The RAM tier answers fastest. One token of an 8B model with grouped-query "
                  "attention has 128 KiB of KV in BF16, so 4 GiB hold 32,768 tokens."};
  if (usable < kRoomyMemoryBytes) {
    finding.verdict = Verdict::kCouldBeBetter;
    finding.advice =
        "Give kvcast 4 GiB or more, or let this machine relay without keeping much. In a container "
        "or a unit, raise --memory or MemoryMax=.";
  }
  return finding;
}

Finding HugePages(const MemoryFacts& memory) {
  const std::string& setting = memory.transparent_huge_pages;
  Finding finding{"Huge pages", Verdict::kGood, fmt::format("transparent: {}", setting),
                  "Large buffers in pages of 4 KiB are slow to touch for the first time and to "
                  "find again; in pages of 2 MiB the kernel has 512 times less to do."};
  if (memory.huge_pages > 0) {
    finding.measured +=
        fmt::format("; {} of {} reserved ones of {} free, which kvcast leaves alone",
                    memory.huge_pages_free, memory.huge_pages, HumanBytes(memory.huge_page_bytes));
  }
  if (setting.empty()) {
    finding.verdict = Verdict::kCouldBeBetter;
    finding.measured = "this kernel offers none";
    finding.advice = "Use a kernel with CONFIG_TRANSPARENT_HUGEPAGE, as those of Debian are.";
  } else if (setting == "never") {
    finding.verdict = Verdict::kCouldBeBetter;
    finding.advice = "Let programs ask for them.";
    finding.commands = {"echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"};
    finding.permanent = {
        "echo 'w /sys/kernel/mm/transparent_hugepage/enabled - - - - madvise' > "
        "/etc/tmpfiles.d/kvcast.conf"};
  }
  return finding;
}

}  // namespace

Section JudgeMemory(const Result<MemoryFacts>& memory) {
  Section section{"Memory", {}};
  if (!memory.ok()) {
    section.findings.push_back({"Memory", Verdict::kCouldBeBetter, memory.error().ToString(),
                                "How much there is decides how much the RAM tier can hold.",
                                "Mount /proc, then run the doctor again."});
    return section;
  }
  section.findings = {Room(*memory), HugePages(*memory)};
  return section;
}

}  // namespace kvcast
