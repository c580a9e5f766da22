#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "kvcast/base/result.h"
#include "kvcast/io/descriptor.h"
#include "kvcast/store/device.h"

namespace kvcast {

// The files of a disk tier's directory, and every operation on them, one at a time and waiting for
// its end. Any thread may call it.
class DiskFiles {
 public:
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
  // A descriptor of the file, opened if it was not; it stays open until the file is removed.
  // Returns the error number, negative, if it cannot be.
  int DescriptorOf(DeviceFile file);

  static DeviceError ErrorOf(int number);

 private:
  DiskFiles(std::filesystem::path path, Descriptor directory, bool direct, bool writes)
      : path_(std::move(path)),
        directory_(std::move(directory)),
        direct_(direct),
        writes_(writes) {}
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

  std::filesystem::path path_;
  Descriptor directory_;  // Locked for as long as this lives.
  bool direct_;
  bool writes_;
  std::mutex mutex_;
  std::map<DeviceFile, Descriptor> open_;
};

}  // namespace kvcast
