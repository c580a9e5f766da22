#include "kvcast/host/disk_mount.h"

#include <utility>

#include "kvcast/io/clock.h"
#include "kvcast/io/human_units.h"

namespace kvcast {

Result<std::unique_ptr<DiskMount>> DiskMount::Open(EventLoop& loop, const Options& options,
                                                   std::function<void()> on_input, LogSink* log) {
  const uint64_t least = options.tier.LeastBytes();
  if (options.tier.bytes_max < least) {
    return Error(ErrorCode::kInvalid, HumanBytes(options.tier.bytes_max) +
                                          " are too few for a disk tier, which needs " +
                                          HumanBytes(least) + " at least.")
        .In(options.directory.string());
  }
  const Log logger(log, "disk");
  auto device = DiskDevice::Open(options.directory, {}, logger);
  if (!device.ok()) {
    return device.error();
  }
  auto tier = std::make_unique<DiskTier>(options.tier, std::make_unique<OldestFirst>(), logger);
  std::unique_ptr<DiskMount> mount(
      new DiskMount(options, std::move(tier), *std::move(device), std::move(on_input)));
  DiskMount* const self = mount.get();
  KVCAST_TRY(mount->watch_, LoopWatch::Make(loop, mount->device_->descriptor(),
                                            [self](LoopWatch::Ready) { self->OnReady(); }));
  mount->Submit();
  return mount;
}

void DiskMount::Submit() {
  for (DeviceRequest& request : tier_->TakeRequests()) {
    device_->Submit(std::move(request));
  }
}

void DiskMount::OnReady() {
  while (const std::optional<DeviceCompletion> completion = device_->Next()) {
    tier_->OnCompletion(*completion, Now());
    Submit();
  }
  on_input_();
}

}  // namespace kvcast
