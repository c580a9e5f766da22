#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "kvcast/base/byte_reader.h"
#include "kvcast/base/byte_writer.h"
#include "kvcast/base/result.h"
#include "kvcast/store/disk_format.h"

namespace kvcast {

// 16 bytes that tell the packs of one node from another's. The last 4 are drawn at each start of
// the node: an old listing may hide which numbers it has used before.
using PackNode = DirectoryId;
inline constexpr size_t kPackNodeStableBytes = 12;
inline constexpr uint64_t kPackNumberMax = UINT32_MAX;

// Which packs of others a node had read when it closed one of its own. Its removals reach those.
//
// Not merely how far: packs are uploaded at the same time, and one that comes late has a smaller
// number than others that were read before it.
//
//   horizon := count:vi64 (node[16] first:vi64 last:vi64)[count]     runs of numbers, rising
class PackHorizon {
 public:
  void Add(const PackNode& node, uint32_t number);
  bool Has(const PackNode& node, uint32_t number) const;

  // What it takes from the heap.
  size_t bytes() const;

  void WriteTo(ByteWriter& writer) const;
  static Result<PackHorizon> Read(ByteReader& reader);

  friend bool operator==(const PackHorizon&, const PackHorizon&) = default;

 private:
  std::map<PackNode, std::map<uint32_t, uint32_t>> runs_;  // By first number: the last.
  size_t run_count_ = 0;
};

}  // namespace kvcast
