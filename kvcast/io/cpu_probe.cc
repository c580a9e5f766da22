#include "kvcast/io/cpu_probe.h"

#include <sched.h>
#include <unistd.h>

#include <set>
#include <sstream>

#include "kvcast/io/cgroup_limits.h"
#include "kvcast/io/kernel_setting.h"

namespace kvcast {
namespace {

// The value of the first line "<key> : <value>"; all processors of a machine say the same.
std::string ValueOf(const std::string& cpuinfo, std::string_view key) {
  std::istringstream lines(cpuinfo);
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with(key) && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "";
}

unsigned CoresAllowed() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof(allowed), &allowed) == 0) {
    return static_cast<unsigned>(CPU_COUNT(&allowed));
  }
  return static_cast<unsigned>(::sysconf(_SC_NPROCESSORS_ONLN));  // More than 1,024 of them.
}

}  // namespace

Result<CpuFacts> ProbeCpu(const std::filesystem::path& root) {
  const auto cpuinfo = KernelSetting(root / "proc/cpuinfo");
  if (!cpuinfo) {
    return Error(ErrorCode::kMachine,
                 "Cannot read /proc/cpuinfo, so nothing is known of the processor. Mount /proc.");
  }
  // x86 calls them flags, ARM Features; the words in them differ as well.
  std::istringstream words(ValueOf(*cpuinfo, "flags") + " " + ValueOf(*cpuinfo, "Features"));
  std::set<std::string, std::less<>> flags;
  for (std::string word; words >> word;) {
    flags.insert(word);
  }
  CpuFacts facts;
  facts.model = ValueOf(*cpuinfo, "model name");
  facts.cores = CoresAllowed();
  facts.cores_max = ReadCgroupLimits(root).cores_max;
  facts.aes = flags.contains("aes");
  facts.vaes = flags.contains("vaes");
  facts.sha = flags.contains("sha_ni") || flags.contains("sha2");
  facts.avx2 = flags.contains("avx2");
  facts.avx512 = flags.contains("avx512f") && flags.contains("avx512bw");
  facts.avx512_vbmi = facts.avx512 && flags.contains("avx512vbmi");
  facts.bf16 = flags.contains("avx512_bf16") || flags.contains("bf16");
  return facts;
}

}  // namespace kvcast
