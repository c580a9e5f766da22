#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "kvcast/base/result.h"
#include "kvcast/catalog/record.h"

namespace kvcast {

struct CatalogLimits {
  size_t tracks_max = 1'000'000;
  size_t blocks_max = 8'000'000;
};

// What one node says it holds, as its records add up; refuses records that contradict each other.
class Holdings {
 public:
  struct Block {
    Digest key;
    uint64_t bytes = 0;
    friend bool operator==(const Block&, const Block&) = default;
  };
  struct Track {
    TrackName name;
    std::map<uint64_t, Block> groups;
    friend bool operator==(const Track&, const Track&) = default;
  };

  explicit Holdings(CatalogLimits limits = {}) : limits_(limits) {}

  // Malformed: a number that is not defined, or defined below one before it; mismatch: a group that
  // is already there with another key or other bytes; too large: more than the limits. A refused
  // record changes nothing.
  Result<void> Apply(const CatalogRecord& record);

  const std::map<uint32_t, Track>& tracks() const { return tracks_; }
  size_t block_count() const { return block_count_; }

  // All of it from nothing, in canonical order: a snapshot.
  CatalogRecords ToRecords() const;

 private:
  Result<void> ApplyTrack(const TrackRecord& record);
  Result<void> ApplyAdd(const AddRecord& record);
  Result<Track*> Find(uint32_t id);

  CatalogLimits limits_;
  std::map<uint32_t, Track> tracks_;
  uint64_t next_id_ = 0;  // Numbers rise, so every one below this is defined or spent.
  size_t block_count_ = 0;
};

}  // namespace kvcast
