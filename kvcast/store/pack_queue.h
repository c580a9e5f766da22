#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kvcast/base/random.h"
#include "kvcast/base/result.h"
#include "kvcast/base/time.h"
#include "kvcast/store/bucket_calls.h"
#include "kvcast/store/pack_table.h"

namespace kvcast {

// The writing half of a bucket tier: gathers records into packs, and uploads them. A record is in
// the bucket when the upload of its whole pack has been confirmed.
class PackQueue {
 public:
  struct Options {
    std::string prefix;
    uint64_t pack_bytes = 0;
    uint64_t enough_bytes = UINT64_MAX;  // A pack of so much waits for no more.
    Duration linger{};                   // How long another one does.
    Duration patience{};                 // How long a closed pack is tried to be uploaded.
    size_t uploads_max = 1;
    uint64_t bytes_max = 0;  // For all packs of this node; 0: no bound.
  };
  struct Record {
    uint64_t id = 0;  // The caller's.
    TrackName track;
    EntryBody entry;
    uint64_t offset = 0;
    uint32_t length = 0;
  };
  // A pack that is in the bucket, or was given up.
  struct Settled {
    Pack pack;
    std::vector<Record> records;
    std::optional<Error> error;
    bool perhaps_there = false;  // It failed, and may be there all the same.
  };

  // The table and the pools must outlive this.
  PackQueue(const Options& options, uint64_t seed, const PackTable& table, const PackPools& pools)
      : options_(options), random_(seed), table_(&table), pools_(&pools) {}

  // Too large: it would not fit an empty pack.
  Result<void> CheckFits(const TrackName& track, const RecordDraft& draft,
                         const EntryBody& entry) const;
  // REQUIRES: CheckFits().
  void Append(uint64_t id, const TrackName& track, const RecordDraft& draft, EntryBody entry,
              uint64_t received_us, Instant now);
  // Nothing more comes into the packs that are open, one a pool.
  void Close(Instant now);
  // The packs that are open and those that wait with it, from the one on that begins with a record,
  // are the next, with the last of the room. False: there is not enough for all of them.
  bool CloseWithLastRoom(uint64_t first_record, Instant now);

  // Closes what is old enough and starts uploads, as far as there is room.
  void Pump(BucketCalls& calls, Instant now);
  // False: not of this queue.
  bool OnEnded(const BucketCalls::Ended& ended);
  std::vector<Settled> TakeSettled();
  std::optional<Instant> deadline() const;

  // A removal waits in a pack that is open.
  bool open_removes() const {
    return std::ranges::any_of(open_, [](const auto& one) { return one.second.removes(); });
  }
  // Groups, and whole tracks, of which what lies in a pack is about to be removed.
  using Removed = std::set<std::pair<TrackName, std::optional<uint64_t>>>;
  Removed RemovedFrom(const PackId& pack) const;
  // A pack waits for nothing but room.
  bool wants_room() const { return wants_room_; }
  // Whose it is. REQUIRES: wants_room().
  uint32_t wanting_pool() const { return closed_.front().settled.pack.owner.pool; }
  bool Holds(const std::string& key) const { return keys_.contains(key); }
  bool idle() const { return open_.empty() && closed_.empty() && uploading_.empty(); }
  // Of records that are not in the bucket yet, payloads and all that is remembered of them
  // meanwhile.
  uint64_t queued_bytes() const { return queued_bytes_; }

 private:
  struct OpenPack {
    PackWriter writer;
    std::vector<Record> records{};
    Instant since{};
    uint64_t written_us = 0;
    uint64_t record_bytes = 0;
    uint64_t cost = 0;
    PackOwner owner{};

    bool removes() const { return !owner.removes.empty(); }
  };
  struct ClosedPack {
    Settled settled;
    Bytes bytes;
    uint64_t cost = 0;
    Instant give_up{};
    bool last_room = false;
  };

  OpenPack& Open(uint32_t pool, Instant now);
  void Close(OpenPack open, Instant now);
  void Upload(ClosedPack pack, BucketCalls& calls);
  // Beside others that are to be uploaded first.
  bool HasRoomFor(const ClosedPack& pack, uint64_t others_bytes = 0) const;
  void Settle(ClosedPack pack, std::optional<Error> error);
  void GiveUpOld(Instant now);

  Options options_;
  Random random_;
  const PackTable* table_;
  const PackPools* pools_;
  std::map<uint32_t, OpenPack> open_;  // By pool.
  std::deque<ClosedPack> closed_;
  std::map<BucketCalls::Id, ClosedPack> uploading_;
  uint64_t uploading_bytes_ = 0;
  std::set<std::string> keys_;  // Of packs that are closed, and not settled.
  uint32_t last_number_ = 0;
  uint64_t queued_bytes_ = 0;
  uint64_t last_written_us_ = 0;
  bool wants_room_ = false;
  std::vector<Settled> settled_;
};

}  // namespace kvcast
