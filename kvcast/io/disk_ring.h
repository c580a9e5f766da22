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
  // How the memory for buffers is used. What is longer than a buffer is moved in parts.
  struct Shape {
    size_t buffers = 0;
    uint64_t buffer_bytes = 0;

    uint64_t bytes() const { return buffers * buffer_bytes; }
    // As many buffers as keep a disk busy, and as large as there is room, up to 2 MiB of payload
    // and what a record takes besides; then fewer of them. Never less than kLeastBytes in all.
    static Shape Within(uint64_t bytes_max);
  };
  static constexpr size_t kBuffersMost = 32;
  static constexpr size_t kBuffersLeast = 4;
  static constexpr uint64_t kBufferBytesMost = (2 << 20) + (32 << 10);
  static constexpr uint64_t kBufferBytesLeast = (256 << 10) + (32 << 10);
  static constexpr uint64_t kMostBytes = kBuffersMost * kBufferBytesMost;
  static constexpr uint64_t kLeastBytes = kBuffersLeast * kBufferBytesLeast;

  // `wake` is an eventfd that is rung when something has come to its end. What is read goes into
  // chunks of a pool, if there is one and it has room, and else onto the heap. Machine: refused.
  static Result<std::unique_ptr<DiskRing>> Make(DiskFiles& files, int wake, ChunkPool* chunks,
                                                uint64_t buffer_bytes_max);
  const Shape& shape() const { return shape_; }
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

  DiskRing(DiskFiles& files, ChunkPool* chunks, const Shape& shape)
      : files_(&files), chunks_(chunks), shape_(shape), slots_(shape.buffers) {}
  Result<void> Start(int wake);
  std::byte* BufferOf(size_t slot) const { return memory_ + slot * shape_.buffer_bytes; }
  void Split(const DeviceRequest& request);
  void Finish(const Part& part, DeviceCompletion completion);
  void StartWaiting();
  void SubmitPrepared();
  // False: no descriptor.
  bool Prepare(size_t slot);

  Bytes CopyOf(std::span<const std::byte> buffer);

  DiskFiles* files_;
  ChunkPool* chunks_;
  Shape shape_;
  io_uring ring_{};
  bool started_ = false;
  std::optional<Error> not_pinned_;
  std::byte* memory_ = nullptr;
  std::vector<Slot> slots_;
  std::deque<Part> waiting_;
  std::map<uint64_t, Whole> wholes_;
  uint64_t last_whole_ = 0;
  std::deque<DeviceCompletion> done_;
};

}  // namespace kvcast
