#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "kvcast/base/error.h"
#include "kvcast/store/device.h"
#include "kvcast/store/segment_contents.h"
#include "kvcast/store/segment_footer.h"
#include "kvcast/store/segment_scan.h"

namespace kvcast {

// Finds out what a segment holds: from its footer, or else from its records.
class SegmentLoad {
 public:
  struct Outcome {
    SegmentContents contents;
    uint64_t marker = 0;
    bool sealed = false;      // It has a footer, so all that it lists was made durable.
    bool foreign = false;     // It is of another directory.
    bool unreadable = false;  // The device failed, so there may be more than was found.
    uint64_t damaged = 0;
    uint64_t damaged_records = 0;      // Of those.
    std::vector<uint64_t> damaged_at;  // Where the first of the damaged records are.
    std::optional<uint64_t> tail_at;   // Behind the last record, what is none.
    uint64_t missing_bytes = 0;        // The file is so much shorter than it was made.
    std::optional<Error> refused;      // A version that we do not know.
  };

  // The outbox must outlive this.
  SegmentLoad(const DirectoryId& directory, uint64_t segment, uint64_t segment_bytes,
              uint64_t key_property, DeviceOutbox& outbox);

  // False: not of this load.
  bool OnCompletion(const DeviceCompletion& completion);

  bool done() const { return state_ == State::kDone; }
  uint64_t segment() const { return segment_; }
  uint64_t segment_bytes() const { return segment_bytes_; }
  // REQUIRES: done().
  bool unreadable() const { return outcome_.unreadable; }
  Outcome Take() { return std::move(outcome_); }

 private:
  enum class State : uint8_t { kEnds, kFooter, kScan, kDone };
  enum class Start : uint8_t { kBoth, kHeader, kFirst, kRead };

  void ReadEnd(uint64_t bytes);
  void OnStart(const std::optional<Bytes>& bytes);
  void OnEnd(const std::optional<Bytes>& bytes);
  void OnEnds();
  void OnFooter(const std::optional<Bytes>& bytes);
  void OnHeader();
  void StartScan();
  void ScanOn();
  RecordSeat FirstSeat(uint64_t marker) const;

  DirectoryId directory_;
  uint64_t segment_;
  uint64_t segment_bytes_;
  uint64_t key_property_;
  DeviceOutbox* outbox_;
  State state_ = State::kEnds;
  DeviceToken start_token_ = 0;
  DeviceToken token_ = 0;       // Of what else is being read.
  Start start_ = Start::kBoth;  // What of it is being read.
  uint64_t end_bytes_ = 0;      // So many of its end.
  bool end_read_ = false;
  std::optional<Bytes> header_;
  std::optional<Bytes> first_;  // The block that the first record begins in.
  std::optional<Bytes> end_;
  FooterTrailer trailer_;
  std::optional<SegmentScan> scan_;
  SegmentScan::Window window_;
  Outcome outcome_;
};

}  // namespace kvcast
