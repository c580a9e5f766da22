#include "kvcast/io/arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "kvcast/io/system_error.h"

namespace kvcast {
namespace {

constexpr size_t kHugePageBytes = 2 * 1024 * 1024;
// Between two reports of progress: some hundredths of a second.
constexpr size_t kPopulateStep = 64 * 1024 * 1024;

// Kernels before 5.14 cannot be asked: then each page is written to.
void Populate(std::byte* begin, size_t bytes) {
#ifdef MADV_POPULATE_WRITE
  if (madvise(begin, bytes, MADV_POPULATE_WRITE) == 0) {
    return;
  }
#endif
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  for (size_t at = 0; at < bytes; at += page) {
    static_cast<volatile std::byte*>(begin)[at] = std::byte{0};
  }
}

size_t PopulateFront(std::byte* begin, size_t bytes, const ArenaOptions& options) {
  size_t done = 0;
  while (done < bytes && (!options.on_progress || options.on_progress(done, bytes))) {
    const size_t step = std::min(kPopulateStep, bytes - done);
    Populate(begin + done, step);
    done += step;
  }
  return done;
}

// A mapping that begins with a huge page, or else the kernel could make none of its first. Null if
// there is no such address space.
std::byte* MapAligned(size_t bytes) {
  const size_t length = bytes + kHugePageBytes;
  void* const mapped =
      mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) {
    return nullptr;
  }
  auto* const from = static_cast<std::byte*>(mapped);
  void* aligned = mapped;
  size_t room = length;
  auto* const begin = static_cast<std::byte*>(std::align(kHugePageBytes, bytes, aligned, room));
  if (begin != from) {
    munmap(from, static_cast<size_t>(begin - from));
  }
  munmap(begin + bytes, room - bytes);
  return begin;
}

// What /proc/self/smaps says of the mapping that begins there; 0 where it cannot be read.
size_t HugeBytesOf(const std::byte* begin) {
  std::ifstream maps("/proc/self/smaps");
  bool found = false;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t from = 0;
    const char* const end = line.data() + line.size();
    const auto [behind, failed] = std::from_chars(line.data(), end, from, 16);
    if (failed == std::errc() && behind != end && *behind == '-') {
      found = from == reinterpret_cast<uintptr_t>(begin);
    } else if (found && line.starts_with("AnonHugePages:")) {
      size_t kilobytes = 0;
      const size_t digit = std::min(line.find_first_of("0123456789"), line.size());
      (void)std::from_chars(line.data() + digit, end, kilobytes);
      return kilobytes * 1024;
    }
  }
  return 0;
}

}  // namespace

Result<Arena> MapArena(const ArenaOptions& options) {
  const size_t bytes = (options.bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
  std::byte* const begin = MapAligned(bytes);
  if (begin == nullptr) {
    return SystemError("Cannot set aside " + std::to_string(bytes) + " bytes of memory", errno);
  }
  Arena arena;
  arena.memory.owner = std::shared_ptr<const void>(
      begin, [bytes](const void* memory) { munmap(const_cast<void*>(memory), bytes); });
  (void)madvise(begin, bytes, MADV_HUGEPAGE);  // Refused where the kernel has none.
  arena.memory.discard = [](std::span<std::byte> pages) {
    // It cannot fail for pages of ours; if it did, they would only stay.
    (void)madvise(pages.data(), pages.size(), MADV_DONTNEED);
  };
  arena.memory.bytes = std::span(begin, bytes);
  arena.memory.there_bytes = PopulateFront(begin, std::min(bytes, options.prefault_bytes), options);
  arena.huge_bytes = HugeBytesOf(begin);
  return arena;
}

}  // namespace kvcast
