#pragma once

#include <liburing.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/io/disk_files.h"
#include "kvcast/store/device.h"

namespace kvcast {

// Reads, writes and syncs of a disk tier's files through io_uring, from and into buffers that the
// kernel has pinned once. Belongs to one thread.
class DiskRing {
 public:
  // The most that one request may move: what is longer does not fit a buffer.
  static constexpr uint64_t kBufferBytes = 2 << 20;

  // `wake` is an eventfd that is rung when something has come to its end. Machine: refused.
  static Result<std::unique_ptr<DiskRing>> Make(DiskFiles& files, int wake);
  ~DiskRing();
  DiskRing(const DiskRing&) = delete;
  DiskRing& operator=(const DiskRing&) = delete;

  static bool Takes(const DeviceRequest& request);
  // REQUIRES: Takes(). Waits in a queue while all buffers are in use.
  void Submit(DeviceRequest request);
  std::optional<DeviceCompletion> Next();

 private:
  static constexpr size_t kBuffers = 32;
  struct Slot {
    DeviceRequest request;
    bool busy = false;
  };

  explicit DiskRing(DiskFiles& files) : files_(&files) {}
  Result<void> Start(int wake);
  std::byte* BufferOf(size_t slot) const { return memory_ + slot * kBufferBytes; }
  void StartWaiting();
  // False: no descriptor.
  bool Prepare(size_t slot);

  DiskFiles* files_;
  io_uring ring_{};
  bool started_ = false;
  std::byte* memory_ = nullptr;
  std::vector<Slot> slots_ = std::vector<Slot>(kBuffers);
  std::deque<DeviceRequest> waiting_;
  std::deque<DeviceCompletion> done_;
};

}  // namespace kvcast
