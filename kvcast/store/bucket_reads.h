#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "kvcast/base/time.h"
#include "kvcast/store/bucket_calls.h"
#include "kvcast/store/disk_index.h"
#include "kvcast/store/pack_table.h"

namespace kvcast {

// The reading half of a bucket tier. Records that lie near each other and are asked for together
// are read by one request; every one is checked; and whoever asked is answered in time, whatever
// the bucket does.
class BucketReads {
 public:
  struct Reading {
    TierTicket ticket = 0;
    TrackName track;
    Location location;
    DiskIndex::Found found;
    Instant deadline{};
    bool again = false;  // It came damaged once, perhaps on its way.
  };
  struct Answer {
    enum class Fault : uint8_t { kNone, kLate, kFailed, kDamaged, kGone };
    Reading reading;
    std::optional<StoredObject> found;
    Fault fault = Fault::kNone;
  };

  // Deadlines do not fall. Tickets rise.
  void Ask(Reading reading);
  // Asks the bucket for what was asked for since the last time.
  void Start(const PackTable& table, BucketCalls& calls, Instant now);
  // False: not of these reads.
  bool OnEnded(const BucketCalls::Ended& ended, const PackTable& table);
  void OnTime(Instant now);
  std::vector<Answer> TakeAnswers();

  std::optional<Instant> deadline() const;
  bool idle() const { return pending_.empty() && runs_.empty(); }
  // Of what is being read or waits for it.
  uint64_t bytes() const { return bytes_; }

 private:
  struct Wanted {
    uint32_t segment = 0;
    uint64_t offset = 0;
    uint64_t length = 0;
    TierTicket ticket = 0;
    uint64_t end() const { return offset + length; }
    friend auto operator<=>(const Wanted&, const Wanted&) = default;
  };
  // Read by one request.
  struct Run {
    std::vector<Wanted> records;  // By rising offset.
    uint64_t end = 0;
  };

  void StartRun(Run run, const PackTable& table, BucketCalls& calls, Instant now);
  void Answered(TierTicket ticket, std::optional<StoredObject> found, Answer::Fault fault);
  void OnRecord(const Wanted& wanted, const Bytes& bytes, const PackTable& table);

  std::map<TierTicket, Reading> pending_;
  std::vector<Wanted> wanted_;
  std::map<BucketCalls::Id, Run> runs_;
  uint64_t bytes_ = 0;
  std::vector<Answer> answers_;
};

}  // namespace kvcast
