#include "kvcast/host/payload_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "kvcast/io/clock.h"
#include "kvcast/io/human_units.h"
#include "kvcast/io/progress.h"

namespace kvcast {
namespace {

// As huge pages are.
constexpr uint64_t kArenaStep = uint64_t{2} << 20;

// A machine that has to gather its memory first, to make huge pages, may take far longer than the
// second that some gigabytes usually take; a node is wanted before that.
constexpr Duration kPrefaultPatience = std::chrono::seconds(10);

}  // namespace

PayloadShare PayloadShare::Of(uint64_t ram_bytes, const MemoryFacts& machine) {
  const uint64_t spare =
      std::min(machine.available_bytes, machine.cgroup_bytes_max.value_or(machine.total_bytes));
  PayloadShare share;
  share.bytes = ram_bytes / 16 * 15 / kArenaStep * kArenaStep;
  share.prefault_bytes = std::min<uint64_t>(share.bytes, spare / 2 / kArenaStep * kArenaStep);
  return share;
}

Result<Arena> SetAside(const PayloadShare& share, const std::function<bool()>& go_on) {
  Progress progress("Setting memory aside");
  const Instant until = Now() + kPrefaultPatience;
  ArenaOptions options;
  options.bytes = share.bytes;
  options.prefault_bytes = share.prefault_bytes;
  options.on_progress = [&](size_t done, size_t total) {
    progress.Update(done, total);
    return go_on() && Now() < until;
  };
  Result<Arena> arena = MapArena(options);
  progress.Done();
  return arena;
}

std::string DescribeArena(size_t there_bytes, size_t huge_bytes) {
  return fmt::format("{} of it set aside, {}", HumanBytes(there_bytes),
                     huge_bytes == 0 ? "none in huge pages"
                                     : fmt::format("{} in huge pages", HumanBytes(huge_bytes)));
}

}  // namespace kvcast
