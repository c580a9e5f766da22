#include "kvcast/io/driven_disk.h"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "kvcast/io/clock.h"
#include "kvcast/io/entropy.h"

namespace kvcast {

Result<std::unique_ptr<DrivenDisk>> DrivenDisk::Open(const std::filesystem::path& directory,
                                                     DiskTierOptions options,
                                                     std::unique_ptr<DiskPolicy> policy,
                                                     const DiskDevice::Options& device,
                                                     const Log& log) {
  KVCAST_TRY(std::unique_ptr<DiskDevice> opened, DiskDevice::Open(directory, device, log));
  if (options.fresh == DirectoryId()) {
    FillRandom(options.fresh.bytes);
  }
  if (options.seed == 0) {
    FillRandom(std::as_writable_bytes(std::span(&options.seed, 1)));
  }
  std::unique_ptr<DrivenDisk> disk(
      new DrivenDisk(std::move(opened), options, std::move(policy), log));
  while (disk->tier_.state() == DiskTier::State::kOpening) {
    disk->Turn(std::chrono::seconds(1));
  }
  if (disk->tier_.state() == DiskTier::State::kRefused) {
    return Error(disk->tier_.refusal()).In(directory.string());
  }
  return disk;
}

bool DrivenDisk::Exchange(Instant now) {
  bool moved = false;
  for (DeviceRequest& request : tier_.TakeRequests()) {
    device_->Submit(std::move(request));
    moved = true;
  }
  while (const auto completion = device_->Next()) {
    tier_.OnCompletion(*completion, now);
    moved = true;
  }
  const auto deadline = tier_.deadline();
  if (deadline && now >= *deadline) {
    tier_.OnTime(now);
  }
  return moved;
}

void DrivenDisk::Turn(Duration wait) {
  Instant now = Now();
  if (Exchange(now)) {
    Exchange(now);
    return;
  }
  const Instant until = now + wait;
  const Instant wake = std::min(until, tier_.deadline().value_or(until));
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(wake - now).count();
  pollfd readable{device_->descriptor(), POLLIN, 0};
  ::poll(&readable, 1, static_cast<int>(std::clamp<int64_t>(left, 0, 60000)));
  now = Now();
  Exchange(now);
}

}  // namespace kvcast
