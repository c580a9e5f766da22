#include "kvcast/io/disk_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <system_error>
#include <vector>

#include "kvcast/io/aligned_buffer.h"
#include "kvcast/io/process_limits.h"
#include "kvcast/io/system_error.h"

namespace kvcast {
namespace {

constexpr std::string_view kSegmentPrefix = "segment-";
constexpr size_t kSegmentDigits = 16;

std::string NameOf(DeviceFile file) {
  if (file == 0) {
    return "superblock";
  }
  std::array<char, 32> name{};
  (void)std::snprintf(name.data(), name.size(), "segment-%016llx",
                      static_cast<unsigned long long>(file));
  return name.data();
}

std::optional<DeviceFile> NumberOf(std::string_view name) {
  if (name == "superblock") {
    return 0;
  }
  if (!name.starts_with(kSegmentPrefix) || name.size() != kSegmentPrefix.size() + kSegmentDigits) {
    return std::nullopt;
  }
  DeviceFile number = 0;
  const auto [end, error] =
      std::from_chars(name.data() + kSegmentPrefix.size(), name.data() + name.size(), number, 16);
  const bool whole = error == std::errc() && end == name.data() + name.size() && number != 0;
  return whole && NameOf(number) == name ? std::optional(number) : std::nullopt;
}

// All of it, or the error number, negative. `transfer` does one call.
template <typename Transfer>
int TransferAll(uint64_t length, Transfer transfer) {
  for (uint64_t done = 0; done < length;) {
    const ssize_t count = transfer(done);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      return count < 0 ? -errno : -EIO;
    }
    done += static_cast<uint64_t>(count);
  }
  return 0;
}

// Whether the file system knows O_DIRECT: a file that is gone at once tells.
bool KnowsDirect(const std::filesystem::path& directory) {
  const Descriptor nameless(
      ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_DIRECT | O_CLOEXEC, 0600));
  if (nameless) {
    return true;
  }
  // Refused, or a file system that has no files without a name.
  const std::filesystem::path path = directory / "direct-probe";
  const Descriptor named(
      ::open(path.c_str(), O_RDWR | O_CREAT | O_DIRECT | O_CLOEXEC | O_NOFOLLOW, 0600));
  const bool refused = !named && errno == EINVAL;
  (void)::unlink(path.c_str());
  return !refused;
}

// Makes a directory durably, with those above it that are not there.
std::error_code MakeDirectory(const std::filesystem::path& directory) {
  std::error_code failed;
  std::vector<std::filesystem::path> above;
  std::filesystem::path at = std::filesystem::absolute(directory, failed).lexically_normal();
  while (!failed && at.has_relative_path() && !std::filesystem::exists(at, failed)) {
    at = at.parent_path();
    above.push_back(at);
  }
  if (!failed) {
    std::filesystem::create_directories(directory, failed);
  }
  for (const std::filesystem::path& parent : above) {
    const Descriptor descriptor(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (descriptor) {
      (void)::fsync(descriptor.number());  // Some file systems cannot, and need not.
    }
  }
  return failed;
}

}  // namespace

Result<std::unique_ptr<DiskFiles>> DiskFiles::Open(const std::filesystem::path& directory,
                                                   bool direct) {
  if (const std::error_code failed = MakeDirectory(directory)) {
    return SystemError("Cannot make the directory", failed.value()).In(directory.string());
  }
  return Lock(directory, direct && KnowsDirect(directory), true);
}

Result<std::unique_ptr<DiskFiles>> DiskFiles::OpenToRead(const std::filesystem::path& directory,
                                                         bool direct) {
  return Lock(directory, direct, false);
}

Result<std::unique_ptr<DiskFiles>> DiskFiles::Lock(const std::filesystem::path& directory,
                                                   bool direct, bool writes) {
  Descriptor descriptor(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!descriptor) {
    return SystemError("Cannot open the directory", errno).In(directory.string());
  }
  if (::flock(descriptor.number(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      return Error(ErrorCode::kMachine,
                   "Another process uses the directory, most likely a node. Stop it first.")
          .In(directory.string());
    }
    return SystemError("Cannot lock the directory", errno).In(directory.string());
  }
  return std::unique_ptr<DiskFiles>(
      new DiskFiles(directory, std::move(descriptor), direct, writes));
}

DeviceError DiskFiles::ErrorOf(int number) {
  return {number == ENOSPC || number == EDQUOT, std::generic_category().message(number)};
}

DeviceCompletion DiskFiles::Do(const DeviceRequest& request) {
  DeviceCompletion completion{.token = request.token};
  int result = 0;
  using Kind = DeviceRequest::Kind;
  if (!writes_ && request.kind != Kind::kList && request.kind != Kind::kRead) {
    completion.error = ErrorOf(EROFS);
    return completion;
  }
  switch (request.kind) {
    case DeviceRequest::Kind::kList:
      result = List(completion);
      break;
    case DeviceRequest::Kind::kCreate:
      result = Create(request.file, request.length);
      break;
    case DeviceRequest::Kind::kRemove:
      result = Remove(request.file);
      break;
    case DeviceRequest::Kind::kRead:
      result = Read(request, completion.bytes);
      break;
    case DeviceRequest::Kind::kWrite:
      result = Write(request);
      break;
    case DeviceRequest::Kind::kSync:
      result = Sync(request.file);
      break;
  }
  if (result < 0) {
    completion.error = ErrorOf(-result);
  }
  return completion;
}

int DiskFiles::List(DeviceCompletion& completion) const {
  std::error_code failed;
  auto entry = std::filesystem::directory_iterator(path_, failed);
  for (; !failed && entry != std::filesystem::directory_iterator(); entry.increment(failed)) {
    const auto number = NumberOf(entry->path().filename().native());
    if (!number || !entry->is_regular_file(failed)) {
      continue;
    }
    completion.files.push_back({*number, entry->file_size(failed)});
  }
  return failed ? -failed.value() : 0;
}

DiskFiles::DiskFiles(std::filesystem::path path, Descriptor directory, bool direct, bool writes)
    : path_(std::move(path)),
      directory_(std::move(directory)),
      direct_(direct),
      writes_(writes),
      open_max_(std::max(kOpenLeast, ReadProcessLimits().open_files / kOpenShare)) {}

size_t DiskFiles::open_count() {
  const std::scoped_lock lock(mutex_);
  return open_.size();
}

void DiskFiles::CloseOne() {
  for (auto file = by_use_.end(); open_.size() >= open_max_ && file != by_use_.begin();) {
    --file;
    const auto kept = open_.find(*file);
    if (!kept->second.file->dirty()) {
      open_.erase(kept);  // Whoever uses it holds it.
      file = by_use_.erase(file);
    }
  }
}

void DiskFiles::Keep(DeviceFile file, std::shared_ptr<OpenDiskFile> opened) {
  by_use_.push_front(file);
  open_.insert_or_assign(file, Kept{std::move(opened), by_use_.begin()});
}

DiskFiles::Opened DiskFiles::OpenFile(DeviceFile file) {
  const std::scoped_lock lock(mutex_);
  const auto found = open_.find(file);
  if (found != open_.end()) {
    by_use_.splice(by_use_.begin(), by_use_, found->second.place);
    return found->second.file;
  }
  CloseOne();
  const int flags = (writes_ ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW;
  Descriptor opened(
      ::openat(directory_.number(), NameOf(file).c_str(), flags | (direct_ ? O_DIRECT : 0)));
  if (!opened && errno == EINVAL && !writes_) {
    // Whoever only looks has not tried what the file system allows.
    opened = Descriptor(::openat(directory_.number(), NameOf(file).c_str(), flags));
  }
  if (!opened) {
    return errno;
  }
  auto kept = std::make_shared<OpenDiskFile>(std::move(opened));
  Keep(file, kept);
  return kept;
}

int DiskFiles::Allocate(DeviceFile file, int descriptor, uint64_t length) const {
  int result = 0;
  do {
    result = ::fallocate(descriptor, 0, 0, static_cast<off_t>(length));
  } while (result != 0 && errno == EINTR);
  if (result == 0) {
    return 0;
  }
  if (errno != EOPNOTSUPP && errno != ENOSYS) {
    return -errno;
  }
  // The file system cannot: then zeros take the room, if there is any. Not past the page cache,
  // where they would have to be aligned.
  struct statvfs system = {};
  if (::fstatvfs(descriptor, &system) == 0 && system.f_bavail * system.f_frsize < length) {
    return -ENOSPC;
  }
  const Descriptor plain(
      ::openat(directory_.number(), NameOf(file).c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!plain) {
    return -errno;
  }
  const std::vector<std::byte> zeros(std::min<uint64_t>(length, 1 << 20));
  return TransferAll(length, [&](uint64_t done) {
    return ::pwrite(plain.number(), zeros.data(), std::min<uint64_t>(zeros.size(), length - done),
                    static_cast<off_t>(done));
  });
}

int DiskFiles::Create(DeviceFile file, uint64_t length) {
  const int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | (direct_ ? O_DIRECT : 0);
  Descriptor made(::openat(directory_.number(), NameOf(file).c_str(), flags, 0600));
  if (!made) {
    return -errno;
  }
  if (const int refused = Allocate(file, made.number(), length); refused != 0) {
    return refused;
  }
  if (::fsync(made.number()) != 0 || ::fsync(directory_.number()) != 0) {
    return -errno;
  }
  const std::scoped_lock lock(mutex_);
  CloseOne();
  Keep(file, std::make_shared<OpenDiskFile>(std::move(made)));
  return 0;
}

int DiskFiles::Remove(DeviceFile file) {
  {
    const std::scoped_lock lock(mutex_);
    if (const auto kept = open_.find(file); kept != open_.end()) {
      by_use_.erase(kept->second.place);
      open_.erase(kept);
    }
  }
  if (::unlinkat(directory_.number(), NameOf(file).c_str(), 0) != 0 && errno != ENOENT) {
    return -errno;
  }
  return ::fsync(directory_.number()) == 0 ? 0 : -errno;
}

int DiskFiles::Read(const DeviceRequest& request, Bytes& bytes) {
  const Opened opened = OpenFile(request.file);
  const auto* const file = std::get_if<std::shared_ptr<OpenDiskFile>>(&opened);
  const AlignedBuffer buffer = MakeAlignedBuffer(request.length);
  if (file == nullptr || !buffer) {
    return file == nullptr ? -std::get<int>(opened) : -ENOMEM;
  }
  const int result = TransferAll(request.length, [&](uint64_t done) {
    return ::pread((*file)->number(), buffer.get() + done, request.length - done,
                   static_cast<off_t>(request.offset + done));
  });
  if (result == 0) {
    bytes = Bytes::Copy(std::span(buffer.get(), request.length));
  }
  return result;
}

int DiskFiles::Write(const DeviceRequest& request) {
  const Opened opened = OpenFile(request.file);
  const auto* const file = std::get_if<std::shared_ptr<OpenDiskFile>>(&opened);
  const AlignedBuffer buffer = MakeAlignedBuffer(request.length);
  if (file == nullptr || !buffer) {
    return file == nullptr ? -std::get<int>(opened) : -ENOMEM;
  }
  request.bytes.CopyTo(std::span(buffer.get(), request.length));
  (*file)->OnWrite();
  return TransferAll(request.length, [&](uint64_t done) {
    return ::pwrite((*file)->number(), buffer.get() + done, request.length - done,
                    static_cast<off_t>(request.offset + done));
  });
}

int DiskFiles::Sync(DeviceFile file) {
  const Opened opened = OpenFile(file);
  const auto* const found = std::get_if<std::shared_ptr<OpenDiskFile>>(&opened);
  if (found == nullptr) {
    return -std::get<int>(opened);
  }
  const uint64_t writes = (*found)->writes();
  if (::fdatasync((*found)->number()) != 0) {
    return -errno;
  }
  (*found)->OnSynced(writes);
  return 0;
}

}  // namespace kvcast
