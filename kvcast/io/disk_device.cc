#include "kvcast/io/disk_device.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "kvcast/io/system_error.h"

namespace kvcast {

Result<std::unique_ptr<DiskDevice>> DiskDevice::Open(const std::filesystem::path& directory,
                                                     const Options& options, const Log& log) {
  KVCAST_TRY(std::unique_ptr<DiskFiles> files, DiskFiles::Open(directory, options.direct));
  Descriptor wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) {
    return SystemError("Cannot make an eventfd", errno);
  }
  std::unique_ptr<DiskDevice> device(new DiskDevice(std::move(files), std::move(wake)));
  if (options.direct && !device->direct()) {
    log.Warning("directory is used through the page cache, which costs more of the processor",
                {{"directory", directory.string()}});
  }
  if (options.ring) {
    auto ring = DiskRing::Make(*device->files_, device->wake_.number(), options.read_chunks,
                               options.buffer_bytes_max);
    if (ring.ok()) {
      device->ring_ = *std::move(ring);
      if (const auto& reason = device->ring_->not_pinned()) {
        log.Info(
            "directory is used with buffers that are not pinned, which costs more of the processor",
            {{"directory", directory.string()},
             {"reason", reason->ToString()},
             {"do", "let the process lock more memory: ulimit -l, LimitMEMLOCK"}});
      }
    } else {
      log.Warning("directory is used without io_uring, one request at a time",
                  {{"directory", directory.string()}, {"reason", ring.error().ToString()}});
    }
  }
  DiskDevice* const self = device.get();
  device->worker_ = std::thread([self] { self->Work(); });
  return device;
}

DiskDevice::~DiskDevice() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (worker_.joinable()) {
    worker_.join();
  }
}

void DiskDevice::Submit(DeviceRequest request) {
  if (ring_ != nullptr && DiskRing::Takes(request)) {
    // What fails before it reaches the kernel rings no bell.
    if (ring_->Submit(std::move(request))) {
      const uint64_t one = 1;
      (void)!::write(wake_.number(), &one, sizeof(one));
    }
    return;
  }
  {
    const std::scoped_lock lock(mutex_);
    asked_.push_back(std::move(request));
  }
  changed_.notify_one();
}

void DiskDevice::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !asked_.empty(); });
    if (stopping_) {
      return;
    }
    const DeviceRequest request = std::move(asked_.front());
    asked_.pop_front();
    lock.unlock();
    DeviceCompletion completion = files_->Do(request);
    lock.lock();
    done_.push_back(std::move(completion));
    const uint64_t one = 1;
    (void)!::write(wake_.number(), &one, sizeof(one));
  }
}

std::optional<DeviceCompletion> DiskDevice::Next() {
  if (ring_ != nullptr) {
    if (auto completion = ring_->Next()) {
      return completion;
    }
  }
  {
    const std::scoped_lock lock(mutex_);
    if (!done_.empty()) {
      DeviceCompletion first = std::move(done_.front());
      done_.pop_front();
      return first;
    }
  }
  uint64_t rung = 0;
  if (::read(wake_.number(), &rung, sizeof(rung)) < 0) {
    return std::nullopt;
  }
  return Next();  // Whatever came before the bell was quieted is there by now.
}

}  // namespace kvcast
