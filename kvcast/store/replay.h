#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_set>

#include "kvcast/store/admission.h"
#include "kvcast/store/eviction.h"

namespace kvcast {

// A tier without objects: what policies would have kept of a trace of requests.
//
// A request hits the leading blocks that are here; then all of its blocks are put, the last first,
// so that the beginning of a prefix is the youngest. Blocks are all of one size. The blocks that
// were not here make a track of their own, as a publisher's would that leaves out what the node
// holds.
class Replay {
 public:
  // Room for so many blocks. REQUIRES: blocks_max > 0.
  Replay(std::unique_ptr<Eviction> eviction, std::unique_ptr<Admission> admission,
         size_t blocks_max);

  // The limits that a tier for so many blocks gives its policies.
  static EvictionLimits LimitsFor(size_t blocks_max);

  // The request's blocks, by handle, from the beginning of its prompt. Returns how many hit.
  size_t Serve(std::span<const uint64_t> blocks);

  size_t block_count() const { return held_.size(); }
  const Eviction& eviction() const { return *eviction_; }

 private:
  void Put(const StoredGroup& group);

  std::unique_ptr<Eviction> eviction_;
  std::unique_ptr<Admission> admission_;
  size_t blocks_max_;
  uint64_t request_ = 0;
  std::unordered_set<uint64_t> held_;
};

}  // namespace kvcast
