#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "kvcast/base/result.h"
#include "kvcast/io/descriptor.h"
#include "kvcast/store/device.h"

namespace kvcast {

// A file that is open for as long as somebody holds it. Any thread may use it.
class OpenDiskFile {
 public:
  explicit OpenDiskFile(Descriptor descriptor) : descriptor_(std::move(descriptor)) {}

  int number() const { return descriptor_.number(); }
  // Before something is written into it.
  void OnWrite() { ++writes_; }
  uint64_t writes() const { return writes_; }
  // A sync that began when so many writes had ended has succeeded.
  void OnSynced(uint64_t writes) { synced_ = std::max(synced_.load(), writes); }
  // An error of what was written may be told only to whoever holds the file now.
  bool dirty() const { return synced_ < writes_; }

 private:
  Descriptor descriptor_;
  std::atomic<uint64_t> writes_ = 0;
  std::atomic<uint64_t> synced_ = 0;
};

// The files of a disk tier's directory, and every operation on them, one at a time and waiting for
// its end. Any thread may call it.
//
// A directory has more segments than a process may have files open: those that were used last stay
// open, as far as there are descriptors, and others are opened again.
class DiskFiles {
 public:
  // At most this part of the descriptors that the process may have, and so many in any case.
  static constexpr size_t kOpenShare = 8;
  static constexpr size_t kOpenLeast = 16;

  // Makes the directory if there is none. Machine: another process has it.
  // `direct`: past the page cache, where the file system allows that.
  static Result<std::unique_ptr<DiskFiles>> Open(const std::filesystem::path& directory,
                                                 bool direct);
  // For whoever only looks: the directory must be there, and what would change it fails as on a
  // file system that is mounted so. Others are kept out all the same.
  static Result<std::unique_ptr<DiskFiles>> OpenToRead(const std::filesystem::path& directory,
                                                       bool direct);

  // Whether files are read and written past the page cache.
  bool direct() const { return direct_; }

  DeviceCompletion Do(const DeviceRequest& request);
  // The file, opened if it was not; or the error number, if it cannot be.
  using Opened = std::variant<std::shared_ptr<OpenDiskFile>, int>;
  Opened OpenFile(DeviceFile file);
  // That are kept open.
  size_t open_count();

  static DeviceError ErrorOf(int number);

 private:
  DiskFiles(std::filesystem::path path, Descriptor directory, bool direct, bool writes);
  static Result<std::unique_ptr<DiskFiles>> Lock(const std::filesystem::path& directory,
                                                 bool direct, bool writes);

  int List(DeviceCompletion& completion) const;
  // All of a new file's bytes, as zeros.
  int Allocate(DeviceFile file, int descriptor, uint64_t length) const;
  int Create(DeviceFile file, uint64_t length);
  int Remove(DeviceFile file);
  int Read(const DeviceRequest& request, Bytes& bytes);
  int Write(const DeviceRequest& request);
  int Sync(DeviceFile file);
  // Makes room for one more. REQUIRES: the lock.
  void CloseOne();
  void Keep(DeviceFile file, std::shared_ptr<OpenDiskFile> opened);

  std::filesystem::path path_;
  Descriptor directory_;  // Locked for as long as this lives.
  bool direct_;
  bool writes_;
  size_t open_max_;
  std::mutex mutex_;
  struct Kept {
    std::shared_ptr<OpenDiskFile> file;
    std::list<DeviceFile>::iterator place;
  };
  std::map<DeviceFile, Kept> open_;
  std::list<DeviceFile> by_use_;  // The last used first.
};

}  // namespace kvcast
