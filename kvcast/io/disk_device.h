#pragma once

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "kvcast/base/log.h"
#include "kvcast/base/result.h"
#include "kvcast/io/descriptor.h"
#include "kvcast/io/disk_files.h"
#include "kvcast/io/disk_ring.h"
#include "kvcast/store/device.h"

namespace kvcast {

// A disk tier's directory on this machine. Reads, writes and syncs go through io_uring and past the
// page cache; where either is refused they go through plain calls on a thread of their own, and the
// log says so. Making, removing and listing files always do. Belongs to one thread.
class DiskDevice : public Device {
 public:
  struct Options {
    bool direct = true;
    bool ring = true;
    // Where what is read goes for as long as there is room, and then to the heap; outlives the
    // device.
    ChunkPool* read_chunks = nullptr;
    // For what is on its way to the disk and from it; a little is taken in any case.
    uint64_t buffer_bytes_max = DiskRing::kMostBytes;
  };
  static Result<std::unique_ptr<DiskDevice>> Open(const std::filesystem::path& directory,
                                                  const Options& options, const Log& log);
  ~DiskDevice() override;

  void Submit(DeviceRequest request) override;
  std::optional<DeviceCompletion> Next() override;

  // Readable when Next() may have something: for an event loop. Draining Next() quiets it.
  int descriptor() const { return wake_.number(); }
  bool direct() const { return files_->direct(); }
  bool ring() const { return ring_ != nullptr; }
  uint64_t buffer_bytes() const { return ring_ == nullptr ? 0 : ring_->shape().bytes(); }
  // The kernel keeps the buffers of the ring pinned.
  bool pinned() const { return ring_ != nullptr && !ring_->not_pinned(); }

 private:
  DiskDevice(std::unique_ptr<DiskFiles> files, Descriptor wake)
      : files_(std::move(files)), wake_(std::move(wake)) {}
  void Work();

  std::unique_ptr<DiskFiles> files_;
  Descriptor wake_;
  std::unique_ptr<DiskRing> ring_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<DeviceRequest> asked_;
  std::deque<DeviceCompletion> done_;
  bool stopping_ = false;
  std::thread worker_;
};

}  // namespace kvcast
