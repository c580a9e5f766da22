#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "kvcast/base/time.h"
#include "kvcast/store/bucket_calls.h"
#include "kvcast/store/pack_format.h"
#include "kvcast/store/pack_table.h"

namespace kvcast {

// Small packs of a node that are being put together: read whole, what is alive in them written into
// a new pack, and, when that is in the bucket, deleted.
//
// Nothing is deleted before what was in it stands elsewhere, so a crash at any time leaves an
// object in two packs at the most. And not at once then: other nodes know of the old packs, and
// have time to hear of the new one.
struct PackMerge {
  struct Limits {
    size_t packs_min = 0;
    uint64_t bytes_max = 0;  // Of all that are put together.
  };
  // Of the packs that may be, as many of the smallest of one pool as are within the limits; none:
  // too few. What one holds comes into a pack at least twice as large, so whatever comes, no byte
  // is written again more often than a pack can double.
  using May = std::function<bool(uint32_t segment, const Pack& pack)>;
  static std::vector<uint32_t> Choose(const PackTable& table, const Limits& limits, const May& may);

  struct Source {
    uint32_t segment = 0;
    Bytes bytes;  // The whole pack, until what is alive in it has been written again.
    PackBody body;
  };

  PackMerge(const std::vector<uint32_t>& segments, const PackTable& table, BucketCalls& calls,
            Instant now);

  // False: not of this merge. What cannot be read is left as it is.
  bool OnEnded(const BucketCalls::Ended& ended, PackTable& table);
  bool reading() const { return !reads_.empty(); }
  // What is in memory of the packs, or will be.
  uint64_t bytes() const { return bytes_; }
  // What was read has been written again, but for its contents, or is of no use.
  void DropBytes();

  void OnSettled(uint64_t record, bool durable) {
    failed_ |= records.erase(record) > 0 && !durable;
  }
  // Something was not written again: then nothing may go.
  bool failed() const { return failed_; }

  std::vector<Source> sources;  // That came whole.
  std::set<uint64_t> records;   // On their way to the bucket.
  bool written = false;         // All of them are there, or on their way.
  std::optional<Instant> leave_at{};
  // What has been written again, so that it is once.
  std::set<std::pair<TrackName, Location>> objects;
  std::set<std::pair<TrackName, std::optional<uint64_t>>> notes;

 private:
  std::map<BucketCalls::Id, uint32_t> reads_;
  uint64_t bytes_ = 0;
  bool failed_ = false;
};

}  // namespace kvcast
