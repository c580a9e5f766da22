#include "kvcast/host/node_memory.h"

#include <algorithm>
#include <string>

#include "kvcast/io/human_units.h"

namespace kvcast {
namespace {

constexpr uint64_t kLeast = uint64_t{16} << 20;
constexpr uint64_t kUsual = uint64_t{4} << 30;

}  // namespace

Result<uint64_t> NodeMemory(std::string_view asked, const MemoryFacts& machine) {
  const uint64_t there_is =
      std::min(machine.total_bytes, machine.cgroup_bytes_max.value_or(machine.total_bytes));
  if (asked.empty()) {
    return std::max(kLeast, std::min(kUsual, there_is / 2));
  }
  KVCAST_TRY(const uint64_t bytes, ParseBytes(asked));
  if (bytes < kLeast) {
    return Error(ErrorCode::kInvalid, "A node needs 16MiB at least");
  }
  if (bytes > there_is) {
    return Error(ErrorCode::kInvalid,
                 HumanBytes(bytes) + " is more than the " + HumanBytes(there_is) +
                     (there_is < machine.total_bytes ? " that this process's control group grants"
                                                     : " of memory that this machine has") +
                     ". Ask for less, and leave some for everything else");
  }
  return bytes;
}

}  // namespace kvcast
