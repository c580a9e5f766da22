#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "kvcast/base/check.h"
#include "kvcast/base/random.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/driven_disk.h"
#include "kvcast/store/disk_eviction.h"

namespace kvcast {

// Where benchmarks of a disk keep their files: on the disk that is to be asked about.
inline std::filesystem::path BenchDirectory() {
  const char* const named = std::getenv("KVCAST_BENCH_DIR");
  return named != nullptr ? named : std::filesystem::current_path();
}

// A disk tier, asked for so many things at a time.
class TierLoad {
 public:
  // What differs between benchmarks.
  struct Shape {
    uint64_t object_bytes = 0;
    size_t depth = 0;

    uint64_t device_bytes() const { return BlocksUp(object_bytes); }
  };

  TierLoad(const std::filesystem::path& directory, const Shape& shape) : shape_(shape) {
    DiskTierOptions options;
    options.bytes_max = uint64_t{1} << 40;  // Nothing is evicted.
    DiskEvictionOptions eviction;
    eviction.limits = {.bytes_max = options.bytes_max, .ghosts_max = 1000};
    disk_ = *DrivenDisk::Open(directory, options, *DiskEviction::Of(eviction),
                              {.read_chunks = &chunks_}, Log());
    KVCAST_CHECK(disk_->device().ring() && disk_->device().direct());
    std::string payload(shape.object_bytes, '\0');
    for (int i = 0; i < 8; ++i) {
      Random(static_cast<uint64_t>(i)).Fill(std::as_writable_bytes(std::span(payload)));
      payloads_.push_back(Bytes::Of(payload));
    }
  }

  void Put(uint64_t count) {
    size_t open = 0;
    for (uint64_t i = 0; i < count || open > 0;) {
      while (i < count && open < shape_.depth) {
        Object object;
        object.location = {objects_ / 128, objects_ % 128};
        object.payload = payloads_[objects_ % payloads_.size()];
        KVCAST_CHECK(disk_->tier().Put(track_, object, 0, Now()).ok());
        ++objects_;
        ++open;
        ++i;
        disk_->Turn({});  // As a node would: what came is handed on at once.
      }
      disk_->Turn(std::chrono::seconds(10));
      while (auto event = NextAwaited()) {
        const auto* written = std::get_if<TierWritten>(&*event);
        KVCAST_CHECK(written != nullptr && !written->error);
        --open;
      }
    }
  }

  void GetRandom(uint64_t count, Random& random) {
    size_t open = 0;
    for (uint64_t i = 0; i < count || open > 0;) {
      while (i < count && open < shape_.depth) {
        const uint64_t object = random.Below(objects_);
        KVCAST_CHECK(disk_->tier().Get(track_, {object / 128, object % 128}, Now()).has_value());
        ++open;
        ++i;
      }
      disk_->Turn(std::chrono::seconds(10));
      while (auto event = NextAwaited()) {
        const auto* read = std::get_if<TierRead>(&*event);
        KVCAST_CHECK(read != nullptr && read->found.has_value());
        --open;
      }
    }
  }

 private:
  // What came of a put or a get. What has become of the track itself nobody waits for.
  std::optional<TierEvent> NextAwaited() {
    auto event = disk_->tier().Next();
    while (event && std::holds_alternative<TierTold>(*event)) {
      event = disk_->tier().Next();
    }
    return event;
  }

  Shape shape_;
  ChunkPool chunks_{128 << 20};  // As a node has memory that it set aside.
  std::unique_ptr<DrivenDisk> disk_;
  TrackName track_ = *TrackName::Of(*TrackNamespace::Of({"service", "tenant/model"}), "BF16");
  std::vector<Bytes> payloads_;
  uint64_t objects_ = 0;
};

}  // namespace kvcast
