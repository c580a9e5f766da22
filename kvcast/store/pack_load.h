#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "kvcast/base/error.h"
#include "kvcast/base/time.h"
#include "kvcast/store/bucket_calls.h"
#include "kvcast/store/pack_format.h"
#include "kvcast/store/segment_scan.h"

namespace kvcast {

// Finds out what a pack holds: from its end, or, if that is damaged, from its records.
class PackLoad {
 public:
  enum class Depth : uint8_t { kEnd, kRecords };  // How far it is read if its end is damaged.

  struct Outcome {
    PackBody body;
    uint64_t damaged = 0;
    bool gone = false;             // It is not there.
    bool unread = false;           // The bucket failed; there may be more than was found.
    std::optional<Error> refused;  // A version that we do not know.
  };

  // The calls must outlive this.
  PackLoad(const PackId& id, std::string key, uint64_t bytes, uint64_t key_property,
           BucketCalls& calls, Instant now, Depth depth = Depth::kRecords);

  // False: not of this load.
  bool OnEnded(const BucketCalls::Ended& ended, Instant now);

  bool done() const { return state_ == State::kDone; }
  const PackId& id() const { return id_; }
  const std::string& key() const { return key_; }
  uint64_t bytes() const { return bytes_; }
  // REQUIRES: done().
  Outcome Take() { return std::move(outcome_); }

 private:
  enum class State : uint8_t { kEnd, kBody, kHeader, kScan, kDone };

  void Read(uint64_t offset, uint64_t length, Instant now);
  void ReadEnd(Instant now);
  void OnEnd(const Bytes& end, Instant now);
  void OnBody(const Bytes& body, Instant now);
  void OnHeader(const Bytes& block, Instant now);
  // Damage on the way is likelier than in the bucket, so the end is read twice before it is
  // believed.
  void OnDamage(Instant now);
  void ScanOn(Instant now);

  PackId id_;
  std::string key_;
  uint64_t bytes_;
  uint64_t key_property_;
  BucketCalls* calls_;
  Depth depth_;
  BucketCalls::Id call_ = 0;
  State state_ = State::kEnd;
  bool again_ = false;
  PackTrailer trailer_;
  std::optional<SegmentScan> scan_;
  SegmentScan::Window window_;
  Outcome outcome_;
};

}  // namespace kvcast
