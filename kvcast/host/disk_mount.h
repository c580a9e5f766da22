#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "kvcast/base/log.h"
#include "kvcast/base/result.h"
#include "kvcast/io/disk_device.h"
#include "kvcast/io/event_loop.h"
#include "kvcast/store/disk_tier.h"

namespace kvcast {

// A disk tier on a loop: between its directory, whose device it owns, and the store, which owns the
// tier. Belongs to the loop's thread; the tier must outlive every turn of the loop with this in it.
class DiskMount {
 public:
  struct Options {
    std::filesystem::path directory;
    DiskTierOptions tier;
    std::string admission = "all";     // By name.
    bool needed = true;                // A node does not start without it.
    std::string eviction = "default";  // The same.
    // By tenant: bytes of the directory that others do not evict.
    std::map<std::string, uint64_t> reservations{};
    ChunkPool* read_chunks = nullptr;  // Where what is read goes; outlives the mount.
    uint64_t buffer_bytes_max = DiskRing::kMostBytes;  // On the way to the disk and from it.
  };
  // `on_input`: the tier has had some, so that the store may have events. Invalid: too few bytes,
  // or more than half of them are reserved.
  // Machine: the directory is not to be had, or another node has it.
  static Result<std::unique_ptr<DiskMount>> Open(EventLoop& loop, const Options& options,
                                                 std::function<void()> on_input, LogSink* log);

  // To be given to the store, once.
  std::unique_ptr<DiskTier> TakeTier() { return std::move(owned_); }
  const DiskTier& tier() const { return *tier_; }
  const std::filesystem::path& directory() const { return options_.directory; }
  const Options& options() const { return options_; }

  // Hands what the tier wants to the device: call it after everything that was asked of the store.
  void Submit();
  // Before an end that was asked for: what is whole need not be moved at the next start.
  void Seal();

 private:
  DiskMount(Options options, std::unique_ptr<DiskTier> tier, std::unique_ptr<DiskDevice> device,
            std::function<void()> on_input)
      : options_(std::move(options)),
        owned_(std::move(tier)),
        tier_(owned_.get()),
        device_(std::move(device)),
        on_input_(std::move(on_input)) {}
  void OnReady();

  Options options_;
  std::unique_ptr<DiskTier> owned_;
  DiskTier* tier_;
  std::unique_ptr<DiskDevice> device_;
  std::function<void()> on_input_;
  std::unique_ptr<LoopWatch> watch_;
};

}  // namespace kvcast
