#pragma once

#include <liburing.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/io/disk_files.h"
#include "kvcast/store/device.h"

namespace kvcast {

// Reads, writes and syncs of a disk tier's files through io_uring, from and into buffers that the
// kernel has pinned once; or, where it does not let this process pin as much, that it pins for each
// request. Belongs to one thread.
class DiskRing {
 public:
  // The most that the kernel is asked to move at once: 2 MiB of payload, and what a record takes
  // besides. What is longer is moved in parts.
  static constexpr uint64_t kBufferBytes = (2 << 20) + (32 << 10);

  // `wake` is an eventfd that is rung when something has come to its end. What is read goes into
  // chunks of a pool, if there is one and it has room, and else onto the heap. Machine: refused.
  static Result<std::unique_ptr<DiskRing>> Make(DiskFiles& files, int wake, ChunkPool* chunks);
  // Absent, or why the kernel does not keep the buffers pinned.
  const std::optional<Error>& not_pinned() const { return not_pinned_; }
  ~DiskRing();
  DiskRing(const DiskRing&) = delete;
  DiskRing& operator=(const DiskRing&) = delete;

  static bool Takes(const DeviceRequest& request);
  // REQUIRES: Takes(). Waits in a queue while all buffers are in use. True: something has come to
  // its end of which the bell will not tell.
  bool Submit(DeviceRequest request);
  std::optional<DeviceCompletion> Next();

 private:
  static constexpr size_t kBuffers = 32;
  // A request, or one of the parts of a long one.
  struct Part {
    DeviceRequest request;
    uint64_t whole = 0;  // 0: it is all there is.
    size_t index = 0;
  };
  struct Whole {
    DeviceToken token = 0;
    size_t parts_left = 0;
    std::optional<DeviceError> error;
    std::vector<Bytes> pieces;  // Of a read.
  };
  struct Slot {
    Part part;
    std::shared_ptr<OpenDiskFile> file{};  // While it is busy.
    uint64_t covered = 0;                  // Writes, of a sync.
    bool busy = false;
  };

  DiskRing(DiskFiles& files, ChunkPool* chunks) : files_(&files), chunks_(chunks) {}
  Result<void> Start(int wake);
  std::byte* BufferOf(size_t slot) const { return memory_ + slot * kBufferBytes; }
  void Split(const DeviceRequest& request);
  void Finish(const Part& part, DeviceCompletion completion);
  void StartWaiting();
  void SubmitPrepared();
  // False: no descriptor.
  bool Prepare(size_t slot);

  Bytes CopyOf(std::span<const std::byte> buffer);

  DiskFiles* files_;
  ChunkPool* chunks_;
  io_uring ring_{};
  bool started_ = false;
  std::optional<Error> not_pinned_;
  std::byte* memory_ = nullptr;
  std::vector<Slot> slots_ = std::vector<Slot>(kBuffers);
  std::deque<Part> waiting_;
  std::map<uint64_t, Whole> wholes_;
  uint64_t last_whole_ = 0;
  std::deque<DeviceCompletion> done_;
};

}  // namespace kvcast
