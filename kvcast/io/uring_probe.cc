#include "kvcast/io/uring_probe.h"

#include <liburing.h>

#include <cstddef>

#include "kvcast/io/kernel_setting.h"

namespace kvcast {
namespace {

// As much as one disk tier pins: a queue of 32 reads of 2 MiB.
constexpr size_t kBufferBytes = 64 * 1024 * 1024;

struct Operation {
  int number;
  const char* name;
};

constexpr Operation kOperations[] = {
    {IORING_OP_READ, "read"},
    {IORING_OP_WRITE, "write"},
    {IORING_OP_READ_FIXED, "read into registered buffers"},
    {IORING_OP_WRITE_FIXED, "write from registered buffers"},
    {IORING_OP_FSYNC, "fsync"},
    {IORING_OP_FALLOCATE, "fallocate"},
    {IORING_OP_SENDMSG, "sendmsg"},
    {IORING_OP_RECVMSG, "recvmsg"},
    {IORING_OP_SEND_ZC, "send without copying"},
};

class Ring {
 public:
  Ring() : refusal_(-io_uring_queue_init(8, &ring_, 0)) {}
  ~Ring() {
    if (refusal_ == 0) {
      io_uring_queue_exit(&ring_);
    }
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  int refusal() const { return refusal_; }
  io_uring* get() { return &ring_; }

 private:
  io_uring ring_{};
  int refusal_;
};

bool CanRegisterBuffers(Ring& ring) {
  std::vector<std::byte> buffer(kBufferBytes);
  const iovec part{buffer.data(), buffer.size()};
  return io_uring_register_buffers(ring.get(), &part, 1) == 0 &&
         io_uring_unregister_buffers(ring.get()) == 0;
}

std::vector<std::string> MissingOperations(Ring& ring) {
  std::vector<std::string> missing;
  io_uring_probe* const probe = io_uring_get_probe_ring(ring.get());
  for (const Operation& operation : kOperations) {
    if (probe == nullptr || !io_uring_opcode_supported(probe, operation.number)) {
      missing.emplace_back(operation.name);
    }
  }
  if (probe != nullptr) {
    io_uring_free_probe(probe);
  }
  return missing;
}

}  // namespace

UringFacts ProbeUring() {
  UringFacts facts;
  facts.disabled = KernelNumber("/proc/sys/kernel/io_uring_disabled");
  facts.registered_buffer_bytes = kBufferBytes;
  Ring ring;
  facts.refusal = ring.refusal();
  facts.available = ring.refusal() == 0;
  if (facts.available) {
    facts.registered_buffers = CanRegisterBuffers(ring);
    facts.missing = MissingOperations(ring);
  }
  return facts;
}

}  // namespace kvcast
