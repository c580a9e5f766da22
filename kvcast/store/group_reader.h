#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "kvcast/store/device.h"
#include "kvcast/store/disk_index.h"
#include "kvcast/store/lower_tier.h"
#include "kvcast/store/segment_table.h"

namespace kvcast {

// Reads a whole group from its directory, whichever segments it lies in, for whoever is to have it
// when it goes. All or nothing: of a group with holes nobody has any use.
class GroupReader {
 public:
  struct Parts {
    DirectoryId directory;
    const DiskIndex* index = nullptr;
    SegmentTable* table = nullptr;
    DeviceOutbox* outbox = nullptr;
  };
  // What a group takes once it has been read.
  static uint64_t BytesOf(const ListedGroup& group, const DiskIndex& index);

  // REQUIRES: the group is whole, and there is something in it.
  GroupReader(const ListedGroup& group, const Parts& parts);

  // False: not of this reader.
  bool OnCompletion(const DeviceCompletion& completion);
  // Nothing more is read: all has come, or something is not to be had.
  bool done() const { return readings_.empty() && (failed_ || !next_object_); }
  const EvictedGroup& group() const { return contents_.group; }
  // Absent: not all of it could be read. REQUIRES: done().
  std::optional<EvictedContents> Take();
  // The device failed to give some of it, which may be had another time.
  bool unreadable() const { return unreadable_; }
  // Of what was read, and is being read: the blocks that it lies in.
  uint64_t bytes() const { return contents_.bytes; }

 private:
  struct Reading {
    Location location;
    DiskIndex::Found found;
    uint64_t offset = 0;
    uint64_t length = 0;
  };
  void ReadMore();
  bool Keep(const Reading& reading, const DeviceCompletion& completion);

  Parts parts_;
  EvictedContents contents_;
  uint64_t object_count_;                // That there are to be.
  std::optional<uint64_t> next_object_;  // Absent: all have been asked for.
  std::map<DeviceToken, Reading> readings_;
  bool failed_ = false;
  bool unreadable_ = false;
};

}  // namespace kvcast
