// What a disk tier does on a file system that is full, of bytes or of files, by every road to it:
// durable puts are refused, reads go on, and when there is room again it takes puts again by
// itself.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kvcast/base/random.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/driven_disk.h"
#include "kvcast/io/scratch_directory.h"

namespace kvcast {
namespace {

constexpr uint64_t kFullSegmentBytes = 4 << 20;
constexpr int kNotAllowed = 77;

Object FullDiskObject(uint64_t number) {
  std::string payload(100000, '\0');
  Random(number).Fill(std::as_writable_bytes(std::span(payload)));
  Object object;
  object.location = {number, 0};
  object.payload = Bytes::Of(payload);
  return object;
}

// Leaves the process with a sentence where something is not as it should be: it runs in a child
// that has file systems of its own.
void Must(bool holds, const char* what) {
  if (!holds) {
    (void)std::fprintf(stderr, "%s\n", what);
    std::_Exit(1);
  }
}

class FullDisk {
 public:
  FullDisk(const std::filesystem::path& directory, const DiskDevice::Options& device) {
    DiskTierOptions options;
    options.bytes_max = uint64_t{1} << 40;  // More than there is: the file system is the bound.
    options.segment_bytes = kFullSegmentBytes;
    auto opened =
        DrivenDisk::Open(directory, options, std::make_unique<OldestFirst>(), device, Log());
    Must(opened.ok(), "the directory does not open");
    disk_ = *std::move(opened);
  }

  // Absent: durable.
  std::optional<Error> Put(uint64_t number) {
    const auto ticket = disk_->tier().Put(track_, FullDiskObject(number), 0, Now());
    if (!ticket.ok()) {
      return ticket.error();
    }
    while (true) {
      disk_->Turn(std::chrono::milliseconds(100));
      while (auto event = disk_->tier().Next()) {
        if (auto* written = std::get_if<TierWritten>(&*event)) {
          return written->error;
        }
      }
    }
  }

  bool Has(uint64_t number) {
    if (!disk_->tier().Get(track_, {number, 0}, Now())) {
      return false;
    }
    while (true) {
      disk_->Turn(std::chrono::milliseconds(100));
      while (auto event = disk_->tier().Next()) {
        if (auto* read = std::get_if<TierRead>(&*event)) {
          return read->found && read->found->object.payload == FullDiskObject(number).payload;
        }
      }
    }
  }

 private:
  std::unique_ptr<DrivenDisk> disk_;
  TrackName track_ = *TrackName::Of(*TrackNamespace::Of({"service"}), "track");
};

// Fills what is left but for two segments and a bit; returns what to remove to have it back.
std::filesystem::path LeaveLittleRoom(const std::filesystem::path& root) {
  std::filesystem::path ballast = root / "ballast";
  const auto space = std::filesystem::space(root);
  const int file = ::open(ballast.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const auto bytes = static_cast<off_t>(space.available - 3 * kFullSegmentBytes);
  Must(::posix_fallocate(file, 0, bytes) == 0, "no ballast");
  ::close(file);
  return ballast;
}

void FillAndRecover(const std::filesystem::path& root, const DiskDevice::Options& device) {
  const std::filesystem::path ballast = LeaveLittleRoom(root);
  uint64_t durable = 0;
  {
    FullDisk disk(root / "store", device);
    std::optional<Error> refused;
    while (!(refused = disk.Put(durable))) {
      ++durable;
      Must(durable < 10000, "it never fills up");
    }
    Must(durable > 10, "hardly anything was taken");
    Must(refused->code() == ErrorCode::kMachine, "another error than the machine's");
    Must(refused->message().find("No space left") != std::string::npos, "not the system's words");
    for (uint64_t number = 0; number < durable; ++number) {
      Must(disk.Has(number), "an object is not read on a full disk");
    }
    Must(disk.Put(durable).has_value(), "a put is taken on a full disk");
  }
  // A start on a full disk finds everything too.
  FullDisk disk(root / "store", device);
  for (uint64_t number = 0; number < durable; ++number) {
    Must(disk.Has(number), "an object is lost by a restart on a full disk");
  }
  std::filesystem::remove(ballast);
  const Instant until = Now() + std::chrono::seconds(20);
  while (disk.Put(durable + 1)) {
    Must(Now() < until, "it does not recover");
    ::usleep(100000);
  }
  for (uint64_t number = 0; number < durable; ++number) {
    Must(disk.Has(number), "an object is lost by recovering");
  }
  Must(disk.Has(durable + 1), "the object put after recovery is lost");
}

void UseUpFiles(const std::filesystem::path& root, const DiskDevice::Options& device) {
  FullDisk disk(root / "store", device);
  Must(!disk.Put(0), "the first put fails");
  std::vector<std::filesystem::path> made;
  while (made.size() < 100000) {
    made.push_back(root / ("file" + std::to_string(made.size())));
    if (!std::ofstream(made.back())) {
      break;
    }
  }
  uint64_t durable = 1;
  std::optional<Error> refused;
  while (!(refused = disk.Put(durable)) && durable < 1000) {
    ++durable;
  }
  Must(refused.has_value(), "a file system without room for files takes everything");
  for (uint64_t number = 0; number < durable; ++number) {
    Must(disk.Has(number), "an object is not read where no file can be made");
  }
  for (const auto& file : made) {
    std::filesystem::remove(file);
  }
  const Instant until = Now() + std::chrono::seconds(20);
  while (disk.Put(durable + 1)) {
    Must(Now() < until, "it does not recover from a lack of files");
    ::usleep(100000);
  }
}

using MountHere = std::function<bool(const std::filesystem::path& at)>;

bool MountTmpfs(const std::filesystem::path& at) {
  return ::mount("tmpfs", at.c_str(), "tmpfs", 0, "size=64m,nr_inodes=200") == 0;
}

// On a file, which lies where tests keep theirs.
bool MountExt4(const std::filesystem::path& at) {
  const std::string image = at.string() + ".image";
  const std::string commands = "truncate -s 64M " + image + " && mkfs.ext4 -q -N 64 " + image +
                               " 2>/dev/null && mount -o loop " + image + " " + at.string() +
                               " 2>/dev/null";
  return std::system(commands.c_str()) == 0;
}

// What the child of a test says; kNotAllowed if it may not mount anything.
int InItsOwnFileSystem(const MountHere& mount_here,
                       const std::function<void(const std::filesystem::path&)>& body) {
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  const std::filesystem::path at = scratch / "small";
  std::filesystem::create_directory(at);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 || !mount_here(at)) {
      std::_Exit(kNotAllowed);
    }
    body(at);
    ::umount2(at.c_str(), MNT_DETACH);
    std::_Exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

struct Road {
  const char* name;
  MountHere mount_here;
  DiskDevice::Options device;
};

std::vector<Road> Roads() {
  return {{"tmpfs, io_uring", MountTmpfs, {.direct = false, .ring = true}},
          {"tmpfs, plain calls", MountTmpfs, {.direct = false, .ring = false}},
          {"ext4, io_uring", MountExt4, {.direct = true, .ring = true}},
          {"ext4, plain calls", MountExt4, {.direct = true, .ring = false}}};
}

TEST(FullDisk, RefusesPutsServesAndRecoversByItself) {
  int tried = 0;
  for (const Road& road : Roads()) {
    const int status = InItsOwnFileSystem(
        road.mount_here, [&](const auto& root) { FillAndRecover(root, road.device); });
    tried += status == kNotAllowed ? 0 : 1;
    EXPECT_TRUE(status == 0 || status == kNotAllowed) << road.name;
  }
  if (tried == 0) {
    GTEST_SKIP() << "Only root may mount file systems.";
  }
}

TEST(FullDisk, WithoutRoomForFilesDoesTheSame) {
  int tried = 0;
  for (const Road& road : Roads()) {
    const int status = InItsOwnFileSystem(road.mount_here,
                                          [&](const auto& root) { UseUpFiles(root, road.device); });
    tried += status == kNotAllowed ? 0 : 1;
    EXPECT_TRUE(status == 0 || status == kNotAllowed) << road.name;
  }
  if (tried == 0) {
    GTEST_SKIP() << "Only root may mount file systems.";
  }
}

}  // namespace
}  // namespace kvcast
