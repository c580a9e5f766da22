#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "kvcast/host/doctor.h"
#include "kvcast/io/human_units.h"

namespace kvcast {
namespace {

using std::chrono::milliseconds;

// Below these a disk tier is hardly faster than computing again what it holds: one GPU makes the
// KV of an 8B model at 3 to 4.4 GB/s, which compression turns into 0.6 to 0.8.
constexpr double kReadBytesPerSWanted = 1e9;
constexpr double kWriteBytesPerSWanted = 5e8;
constexpr Duration kSyncWanted = milliseconds(5);
constexpr uint64_t kRoomyDiskBytes = uint64_t{20} << 30;

Finding Speed(const DiskFacts& disk) {
  Finding finding{"Speed", Verdict::kGood,
                  fmt::format("writes {}, reads {}", HumanRate(disk.write_bytes_per_s),
                              HumanRate(disk.read_bytes_per_s)),
                  "A block is worth reading only while that is faster than computing it again, and "
                  "a GPU makes up to 0.8 GB/s of compressed KV."};
  if (disk.read_bytes_per_s < kReadBytesPerSWanted ||
      disk.write_bytes_per_s < kWriteBytesPerSWanted) {
    finding.verdict = Verdict::kCouldBeBetter;
    finding.advice = fmt::format(
        "An NVMe disk of this machine's own reads {} and more. If this is one, look for another "
        "program that keeps it busy (iostat -x 1), or try again at a quieter time.",
        HumanRate(kReadBytesPerSWanted));
  }
  return finding;
}

Finding DirectAccess(const DiskFacts& disk) {
  Finding finding{"Direct access", Verdict::kGood, "O_DIRECT is accepted",
                  "kvcast keeps its own cache. The kernel's page cache would keep everything "
                  "twice, and writing through it costs many times the processor's time."};
  if (!disk.direct) {
    finding.verdict = Verdict::kMissing;
    finding.measured = fmt::format("{} refuses O_DIRECT", disk.file_system);
    finding.advice = "Put the disk tier on ext4 or xfs.";
  }
  return finding;
}

Finding SyncedWrites(const DiskFacts& disk) {
  Finding finding{"Durability", Verdict::kGood,
                  fmt::format("4 KiB are safe after {}, at worst {}",
                              HumanDuration(disk.sync_median), HumanDuration(disk.sync_slowest)),
                  "A publisher that asks for its cache to survive a loss of power waits this long "
                  "at least."};
  if (disk.sync_median > kSyncWanted) {
    finding.verdict = Verdict::kCouldBeBetter;
    finding.advice =
        "kvcast makes many writes safe together, so this costs patience and not speed. A disk "
        "whose cache survives a loss of power (most NVMe disks for servers) answers at once.";
  }
  return finding;
}

Finding FileSystem(const DiskFacts& disk) {
  static constexpr std::array<std::string_view, 6> kRemote = {"nfs",  "cifs", "9p",
                                                              "ceph", "fuse", "overlay"};
  Finding finding{"File system", Verdict::kGood, disk.file_system,
                  "Objects must be where they were put, after a crash too, and quickly."};
  if (disk.file_system == "tmpfs" || disk.file_system == "ramfs") {
    finding.verdict = Verdict::kCouldBeBetter;
    finding.measured += ": memory, not a disk";
    finding.advice =
        "What lies here is gone after a restart and takes memory from the RAM tier. Name a "
        "directory on a disk: kvcast doctor --disk DIR.";
  } else if (std::ranges::find(kRemote, disk.file_system) != kRemote.end()) {
    finding.verdict = Verdict::kCouldBeBetter;
    finding.measured += ": a layer between kvcast and the disk";
    finding.advice =
        "Put the disk tier on ext4 or xfs of a local disk; in a container, on a volume. What many "
        "machines share belongs into a bucket.";
  }
  return finding;
}

// As a shell takes it for one word, whatever is in it.
std::string ShellWord(std::string_view text) {
  std::string word = "'";
  for (const char letter : text) {
    word += letter == '\'' ? R"('\'')" : std::string(1, letter);
  }
  return word + "'";
}

Finding Space(const DiskFacts& disk) {
  Finding finding{
      "Space", Verdict::kGood,
      fmt::format("{} of {} free", HumanBytes(disk.free_bytes), HumanBytes(disk.total_bytes)),
      "Of a chat service's blocks, three in four are never asked for again, so "
      "a tier has to be large for the fourth to be still there."};
  if (disk.free_bytes < kRoomyDiskBytes) {
    finding.verdict = Verdict::kCouldBeBetter;
    finding.advice = fmt::format("Give the disk tier {} or more: find out what else lies here.",
                                 HumanBytes(kRoomyDiskBytes));
    finding.commands = {
        fmt::format("du -xh --max-depth=1 {} | sort -h", ShellWord(disk.directory.string()))};
  }
  return finding;
}

}  // namespace

Section JudgeDisk(const Result<DiskFacts>& disk, bool named) {
  if (!disk.ok()) {
    return {"Disk",
            {{"Disk", named ? Verdict::kBlocking : Verdict::kCouldBeBetter,
              (named ? "" : "not tested: ") + disk.error().ToString(),
              "A disk tier needs a directory that kvcast may write to.",
              "Name one (kvcast doctor --disk DIR), and let kvcast's user write to it."}}};
  }
  return {
      fmt::format("Disk ({})", disk->directory.string()),
      {FileSystem(*disk), Space(*disk), DirectAccess(*disk), Speed(*disk), SyncedWrites(*disk)}};
}

}  // namespace kvcast
