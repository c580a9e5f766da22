#include "kvcast/io/disk_ring.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

#include "kvcast/base/check.h"
#include "kvcast/io/system_error.h"
#include "kvcast/store/disk_format.h"

namespace kvcast {
namespace {

constexpr int kSubmitTries = 1000;

}  // namespace

DiskRing::Shape DiskRing::Shape::Within(uint64_t bytes_max) {
  Shape shape;
  shape.buffer_bytes =
      BlocksDown(std::clamp(bytes_max / kBuffersMost, kBufferBytesLeast, kBufferBytesMost));
  shape.buffers = std::clamp<size_t>(bytes_max / shape.buffer_bytes, kBuffersLeast, kBuffersMost);
  return shape;
}

Result<std::unique_ptr<DiskRing>> DiskRing::Make(DiskFiles& files, int wake, ChunkPool* chunks,
                                                 uint64_t buffer_bytes_max) {
  std::unique_ptr<DiskRing> ring(new DiskRing(files, chunks, Shape::Within(buffer_bytes_max)));
  KVCAST_TRY_VOID(ring->Start(wake));
  return ring;
}

Result<void> DiskRing::Start(int wake) {
  const int refused = io_uring_queue_init(static_cast<unsigned>(2 * shape_.buffers), &ring_, 0);
  if (refused < 0) {
    return SystemError("Cannot use io_uring", -refused);
  }
  started_ = true;
  void* const memory = ::mmap(nullptr, shape_.bytes(), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) {
    return SystemError("Cannot get memory for buffers", errno);
  }
  memory_ = static_cast<std::byte*>(memory);
  std::vector<iovec> buffers;
  for (size_t slot = 0; slot < shape_.buffers; ++slot) {
    buffers.push_back({BufferOf(slot), shape_.buffer_bytes});
  }
  const int pinned =
      io_uring_register_buffers(&ring_, buffers.data(), static_cast<unsigned>(buffers.size()));
  if (pinned < 0) {
    // Usually because of a limit on locked memory, which is low for all but root.
    not_pinned_ = SystemError("Cannot pin buffers", -pinned);
  }
  const int rung = io_uring_register_eventfd(&ring_, wake);
  return rung < 0 ? Result<void>(SystemError("Cannot be told of completions", -rung))
                  : Result<void>();
}

DiskRing::~DiskRing() {
  // The kernel must not write into memory that is somebody else's by then.
  while (started_ && std::ranges::any_of(slots_, &Slot::busy)) {
    io_uring_cqe* entry = nullptr;
    if (io_uring_wait_cqe(&ring_, &entry) != 0) {
      continue;
    }
    slots_[io_uring_cqe_get_data64(entry)].busy = false;
    io_uring_cqe_seen(&ring_, entry);
  }
  if (started_) {
    io_uring_queue_exit(&ring_);
  }
  if (memory_ != nullptr) {
    ::munmap(memory_, shape_.bytes());
  }
}

bool DiskRing::Takes(const DeviceRequest& request) {
  using Kind = DeviceRequest::Kind;
  return request.kind == Kind::kSync || request.kind == Kind::kRead || request.kind == Kind::kWrite;
}

bool DiskRing::Submit(DeviceRequest request) {
  if (request.length > shape_.buffer_bytes) {
    Split(request);
  } else {
    waiting_.push_back({std::move(request), 0, 0});
  }
  StartWaiting();
  return !done_.empty();
}

void DiskRing::Split(const DeviceRequest& request) {
  const size_t parts = (request.length + shape_.buffer_bytes - 1) / shape_.buffer_bytes;
  Whole& whole = wholes_[++last_whole_];
  whole.token = request.token;
  whole.parts_left = parts;
  whole.pieces.resize(parts);
  for (size_t index = 0; index < parts; ++index) {
    const uint64_t begin = index * shape_.buffer_bytes;
    Part part{{.kind = request.kind,
               .token = request.token,
               .file = request.file,
               .offset = request.offset + begin,
               .length = std::min(shape_.buffer_bytes, request.length - begin)},
              last_whole_,
              index};
    if (request.kind == DeviceRequest::Kind::kWrite) {
      part.request.bytes = request.bytes.Slice(begin, part.request.length);
    }
    waiting_.push_back(std::move(part));
  }
}

void DiskRing::Finish(const Part& part, DeviceCompletion completion) {
  const auto found = wholes_.find(part.whole);
  if (found == wholes_.end()) {
    done_.push_back(std::move(completion));
    return;
  }
  Whole& whole = found->second;
  whole.error = whole.error ? whole.error : completion.error;
  whole.pieces[part.index] = std::move(completion.bytes);
  if (--whole.parts_left > 0) {
    return;
  }
  DeviceCompletion joined{.token = whole.token, .error = whole.error};
  for (size_t i = 0; i < whole.pieces.size() && !joined.error; ++i) {
    joined.bytes.Append(whole.pieces[i]);
  }
  wholes_.erase(found);
  done_.push_back(std::move(joined));
}

void DiskRing::StartWaiting() {
  bool started = false;
  while (!waiting_.empty()) {
    const auto slot = std::ranges::find(slots_, false, &Slot::busy);
    if (slot == slots_.end()) {
      break;
    }
    slot->part = std::move(waiting_.front());
    waiting_.pop_front();
    started |= Prepare(static_cast<size_t>(slot - slots_.begin()));
  }
  if (started) {
    SubmitPrepared();
  }
}

void DiskRing::SubmitPrepared() {
  // The kernel may have no memory for them just now. What it does not take stays in the ring, and
  // is offered again: here, and whenever somebody asks what is done.
  for (int tries = 0; io_uring_sq_ready(&ring_) > 0 && tries < kSubmitTries; ++tries) {
    if (io_uring_submit(&ring_) < 0) {
      std::this_thread::yield();
    }
  }
}

bool DiskRing::Prepare(size_t number) {
  Slot& slot = slots_[number];
  DeviceRequest& request = slot.part.request;
  DiskFiles::Opened opened = files_->OpenFile(request.file);
  if (const int* const refused = std::get_if<int>(&opened)) {
    Finish(slot.part, {.token = request.token, .error = DiskFiles::ErrorOf(*refused)});
    return false;
  }
  slot.file = std::get<std::shared_ptr<OpenDiskFile>>(std::move(opened));
  const int descriptor = slot.file->number();
  io_uring_sqe* const entry = io_uring_get_sqe(&ring_);
  KVCAST_CHECK(entry != nullptr);  // There are more of them than buffers.
  const auto length = static_cast<unsigned>(request.length);
  switch (request.kind) {
    case DeviceRequest::Kind::kRead:
      if (not_pinned_) {
        io_uring_prep_read(entry, descriptor, BufferOf(number), length, request.offset);
      } else {
        io_uring_prep_read_fixed(entry, descriptor, BufferOf(number), length, request.offset,
                                 static_cast<int>(number));
      }
      break;
    case DeviceRequest::Kind::kWrite:
      slot.file->OnWrite();
      request.bytes.CopyTo(std::span(BufferOf(number), request.length));
      request.bytes = Bytes();
      if (not_pinned_) {
        io_uring_prep_write(entry, descriptor, BufferOf(number), length, request.offset);
      } else {
        io_uring_prep_write_fixed(entry, descriptor, BufferOf(number), length, request.offset,
                                  static_cast<int>(number));
      }
      break;
    default:
      slot.covered = slot.file->writes();
      io_uring_prep_fsync(entry, descriptor, IORING_FSYNC_DATASYNC);
      break;
  }
  io_uring_sqe_set_data64(entry, number);
  slot.busy = true;
  return true;
}

Bytes DiskRing::CopyOf(std::span<const std::byte> buffer) {
  // Fresh memory from the heap costs as much again as the copy: the kernel clears each page first.
  if (chunks_ != nullptr) {
    if (std::optional<Bytes> copy = Bytes::Copy(buffer, *chunks_)) {
      return *std::move(copy);
    }
  }
  return Bytes::Copy(buffer);
}

std::optional<DeviceCompletion> DiskRing::Next() {
  SubmitPrepared();
  io_uring_cqe* entry = nullptr;
  while (done_.empty() && io_uring_peek_cqe(&ring_, &entry) == 0) {
    const size_t number = io_uring_cqe_get_data64(entry);
    const int result = entry->res;
    io_uring_cqe_seen(&ring_, entry);
    Slot& slot = slots_[number];
    const DeviceRequest& request = slot.part.request;
    DeviceCompletion completion{.token = request.token};
    const bool moves = request.kind != DeviceRequest::Kind::kSync;
    if (result < 0 || (moves && static_cast<uint64_t>(result) != request.length)) {
      completion.error = DiskFiles::ErrorOf(result < 0 ? -result : EIO);
    } else if (request.kind == DeviceRequest::Kind::kRead) {
      completion.bytes = CopyOf(std::span(BufferOf(number), request.length));
    } else if (!moves) {
      slot.file->OnSynced(slot.covered);
    }
    slot.file.reset();
    slot.busy = false;
    Finish(slot.part, std::move(completion));
    StartWaiting();
  }
  if (done_.empty()) {
    return std::nullopt;
  }
  DeviceCompletion first = std::move(done_.front());
  done_.pop_front();
  return first;
}

}  // namespace kvcast
