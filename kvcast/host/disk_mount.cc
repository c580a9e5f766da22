#include "kvcast/host/disk_mount.h"

#include <algorithm>
#include <utility>

#include "kvcast/io/clock.h"
#include "kvcast/io/human_units.h"
#include "kvcast/store/disk_eviction.h"

namespace kvcast {
namespace {

// Of the memory for a tier's index, a sixteenth remembers what has gone.
constexpr size_t kGhostShare = 16;
constexpr size_t kGhostBytesMax = size_t{64} << 20;
constexpr size_t kGhostBytesEach = 160;

Result<std::unique_ptr<DiskEviction>> EvictionOf(const DiskMount::Options& options) {
  DiskEvictionOptions eviction;
  eviction.eviction = options.eviction;
  eviction.limits.bytes_max = options.tier.bytes_max;
  eviction.limits.ghosts_max =
      std::min(options.tier.index_bytes_max / kGhostShare, kGhostBytesMax) / kGhostBytesEach;
  eviction.secret = options.tier.seed;
  eviction.reservations = options.reservations;
  return DiskEviction::Of(eviction);
}

}  // namespace

Result<std::unique_ptr<DiskMount>> DiskMount::Open(EventLoop& loop, const Options& options,
                                                   std::function<void()> on_input, LogSink* log) {
  const uint64_t least = options.tier.LeastBytes();
  if (options.tier.bytes_max < least) {
    return Error(ErrorCode::kInvalid, HumanBytes(options.tier.bytes_max) +
                                          " are too few for a disk tier, which needs " +
                                          RoundedUp(least) + " at least.")
        .In(options.directory.string());
  }
  auto eviction = EvictionOf(options);
  if (!eviction.ok()) {
    return Error(eviction.error()).In(options.directory.string());
  }
  const Log logger(log, "disk");
  auto device = DiskDevice::Open(
      options.directory,
      {.read_chunks = options.read_chunks, .buffer_bytes_max = options.buffer_bytes_max}, logger);
  if (!device.ok()) {
    return device.error();
  }
  auto tier = std::make_unique<DiskTier>(options.tier, *std::move(eviction), logger);
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

void DiskMount::Seal() {
  tier_->Seal(Now());
  Submit();
}

void DiskMount::OnReady() {
  while (const std::optional<DeviceCompletion> completion = device_->Next()) {
    tier_->OnCompletion(*completion, Now());
    Submit();
  }
  on_input_();
}

}  // namespace kvcast
