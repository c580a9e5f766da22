#include "kvcast/io/cut_file_watch.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "kvcast/base/hex.h"

namespace kvcast {
namespace {

constexpr size_t kMappedPlaces = 128;
constexpr size_t kPathBytesMax = 1024;

// Read by a signal handler, which may take no lock: a place is `kHeld` only while all of it is set.
struct MappedPlace {
  enum State : int { kFree, kTaken, kHeld };

  std::atomic<int> state{kFree};
  std::atomic<uintptr_t> begin{0};
  std::atomic<uintptr_t> end{0};
  std::array<char, kPathBytesMax> name{};
};

std::array<MappedPlace, kMappedPlaces> mapped_places;
std::array<char, 64> program_called{};

void WriteError(std::string_view text) {
  // There is nobody to tell that standard error cannot be written.
  static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
}

void OnBusError(int signal, siginfo_t* fault, void* /*context*/) {
  const auto address = reinterpret_cast<uintptr_t>(fault->si_addr);
  for (const MappedPlace& place : mapped_places) {
    if (place.state.load() == MappedPlace::kHeld && place.begin.load() <= address &&
        address < place.end.load()) {
      WriteError(program_called.data());
      WriteError(": ");
      WriteError(place.name.data());
      WriteError(
          ": It became shorter while it was read. Run this again once nobody writes to it.\n");
      ::_exit(1);
    }
  }
  // Not one of ours: what touched it is tried again, and ends the process as ever.
  static_cast<void>(std::signal(signal, SIG_DFL));
}

uintptr_t BeginOf(std::span<const std::byte> memory) {
  return reinterpret_cast<uintptr_t>(memory.data());
}

}  // namespace

void EndOnCutFiles(const char* program) {
  std::strncpy(program_called.data(), program, program_called.size() - 1);
  struct sigaction action = {};
  action.sa_sigaction = OnBusError;
  action.sa_flags = SA_SIGINFO;
  static_cast<void>(::sigaction(SIGBUS, &action, nullptr));
}

void RememberMapping(std::span<const std::byte> memory, const std::filesystem::path& path) {
  for (MappedPlace& place : mapped_places) {
    int expected = MappedPlace::kFree;
    if (!place.state.compare_exchange_strong(expected, MappedPlace::kTaken)) {
      continue;
    }
    const std::string name = Printable(path.string(), kPathBytesMax / 4);
    place.name.fill('\0');
    std::copy_n(name.begin(), std::min(name.size(), kPathBytesMax - 1), place.name.begin());
    place.begin = BeginOf(memory);
    place.end = BeginOf(memory) + memory.size();
    place.state = MappedPlace::kHeld;
    return;
  }
}

void ForgetMapping(std::span<const std::byte> memory) {
  for (MappedPlace& place : mapped_places) {
    if (place.state.load() == MappedPlace::kHeld && place.begin.load() == BeginOf(memory)) {
      place.state = MappedPlace::kFree;
      return;
    }
  }
}

}  // namespace kvcast
