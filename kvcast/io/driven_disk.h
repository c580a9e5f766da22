#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "kvcast/base/log.h"
#include "kvcast/base/result.h"
#include "kvcast/base/time.h"
#include "kvcast/io/disk_device.h"
#include "kvcast/store/disk_tier.h"

namespace kvcast {

// A disk tier and its directory, moved along by whoever waits for it: for tools, benchmarks and
// tests that have no event loop. Belongs to one thread.
class DrivenDisk {
 public:
  // The directory's name and the seed of its markers are drawn at random where the options have
  // none. Waits until the tier is ready. Unsupported: another version, left untouched.
  static Result<std::unique_ptr<DrivenDisk>> Open(const std::filesystem::path& directory,
                                                  DiskTierOptions options,
                                                  std::unique_ptr<DiskPolicy> policy,
                                                  const DiskDevice::Options& device,
                                                  const Log& log);

  DiskTier& tier() { return tier_; }
  const DiskDevice& device() const { return *device_; }

  // Hands over what the tier asks for and what the device says; waits for that, if there is nothing
  // yet, but no longer than this.
  void Turn(Duration wait);

 private:
  DrivenDisk(std::unique_ptr<DiskDevice> device, const DiskTierOptions& options,
             std::unique_ptr<DiskPolicy> policy, const Log& log)
      : device_(std::move(device)), tier_(options, std::move(policy), log) {}
  bool Exchange(Instant now);

  std::unique_ptr<DiskDevice> device_;
  DiskTier tier_;
};

}  // namespace kvcast
