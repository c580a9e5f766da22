#include "kvcast/io/memory_probe.h"

#include <map>
#include <sstream>

#include "kvcast/io/cgroup_limits.h"
#include "kvcast/io/kernel_setting.h"

namespace kvcast {
namespace {

// "MemTotal:       24684100 kB"; counts of pages have no unit.
std::map<std::string, uint64_t> ParseMeminfo(const std::string& text) {
  std::map<std::string, uint64_t> values;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string key;
    uint64_t value = 0;
    std::string unit;
    if (words >> key >> value) {
      words >> unit;
      values[key] = unit == "kB" ? value * 1024 : value;
    }
  }
  return values;
}

// "always [madvise] never"
std::string Chosen(const std::string& setting) {
  const size_t open = setting.find('[');
  const size_t close = setting.find(']', open);
  return open == std::string::npos || close == std::string::npos
             ? ""
             : setting.substr(open + 1, close - open - 1);
}

}  // namespace

Result<MemoryFacts> ProbeMemory(const std::filesystem::path& root) {
  auto values = ParseMeminfo(KernelSetting(root / "proc/meminfo").value_or(""));
  if (!values.contains("MemTotal:")) {
    return Error(ErrorCode::kMachine,
                 "Cannot read /proc/meminfo, so nothing is known of the memory. Mount /proc.");
  }
  MemoryFacts facts;
  facts.total_bytes = values["MemTotal:"];
  facts.available_bytes = values["MemAvailable:"];
  facts.cgroup_bytes_max = ReadCgroupLimits(root).memory_bytes_max;
  facts.transparent_huge_pages =
      Chosen(KernelSetting(root / "sys/kernel/mm/transparent_hugepage/enabled").value_or(""));
  facts.huge_pages = values["HugePages_Total:"];
  facts.huge_pages_free = values["HugePages_Free:"];
  facts.huge_page_bytes = values["Hugepagesize:"];
  return facts;
}

}  // namespace kvcast
