#include "kvcast/store/replay.h"

#include <utility>

#include "kvcast/base/check.h"

namespace kvcast {
namespace {

// So many that time in bytes has a fine grain even where there is room for a few blocks only.
constexpr uint64_t kBlockBytes = 1024;
constexpr size_t kGhostsPerBlock = 16;

}  // namespace

Replay::Replay(std::unique_ptr<Eviction> eviction, std::unique_ptr<Admission> admission,
               size_t blocks_max)
    : eviction_(std::move(eviction)), admission_(std::move(admission)), blocks_max_(blocks_max) {
  KVCAST_CHECK(blocks_max > 0);
}

EvictionLimits Replay::LimitsFor(size_t blocks_max) {
  return {blocks_max * kBlockBytes, blocks_max * kGhostsPerBlock};
}

size_t Replay::Serve(std::span<const uint64_t> blocks) {
  size_t hits = 0;
  while (hits < blocks.size() && held_.contains(blocks[hits])) {
    ++hits;
  }
  ++request_;
  for (size_t position = blocks.size(); position > 0; --position) {
    Put({blocks[position - 1], request_, position - 1, kBlockBytes});
  }
  return hits;
}

void Replay::Put(const StoredGroup& group) {
  if (held_.contains(group.handle)) {
    eviction_->Hit(group.handle);
    return;
  }
  if (!admission_->Admits(group)) {
    return;
  }
  held_.insert(group.handle);
  eviction_->Insert(group);
  if (held_.size() > blocks_max_) {
    const std::optional<uint64_t> victim = eviction_->Victim();
    KVCAST_CHECK(victim.has_value());
    eviction_->Evict(*victim);
    held_.erase(*victim);
  }
}

}  // namespace kvcast
