#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kvcast/base/random.h"
#include "kvcast/base/time.h"
#include "kvcast/store/bucket.h"

namespace kvcast {

// How likely each thing goes wrong with a request.
struct BucketFaults {
  double refuse = 0;
  double throttle = 0;
  double hang = 0;        // Nothing comes until the deadline; perhaps it is done all the same.
  double lost_reply = 0;  // It is done, and said to have failed.
  double cut = 0;         // What comes is too short, which is noticed.
  double flip = 0;        // A bit of what comes is wrong, and nobody says so.
  double garble = 0;      // All of what comes is wrong, and nobody says so.
  double other = 0;
  double stale_list = 0;       // A listing is an earlier one.
  bool dead = false;           // Everything hangs.
  bool empty_pages = false;    // Before each page of a listing comes one without keys.
  bool endless_pages = false;  // A listing says for ever that it goes on.
};

// A bucket in memory, for tests and the simulator, with a network that fails. Several nodes may
// have it as theirs: each has a BucketSide of its own.
class MemoryBucket {
 public:
  explicit MemoryBucket(uint64_t seed) : random_(seed) {}

  BucketFaults& faults() { return faults_; }
  // For a test to look at or to damage.
  std::map<std::string, std::vector<std::byte>>& objects() { return objects_; }
  uint64_t bytes() const;
  uint64_t request_count() const { return requests_; }
  uint64_t put_count() const { return puts_; }
  uint64_t fault_count() const { return fault_count_; }

 private:
  friend class BucketSide;
  struct Pending {
    BucketRequest request;
    bool hangs = false;
  };

  bool Fails(double chance);
  BucketCompletion Do(const BucketRequest& request);
  BucketCompletion Carry(const BucketRequest& request);
  BucketCompletion Get(const BucketRequest& request) const;
  BucketCompletion List(const BucketRequest& request);

  Random random_;
  BucketFaults faults_;
  std::map<std::string, std::vector<std::byte>> objects_;
  std::map<std::string, uint64_t> listed_;  // As of the last listing that was not stale.
  uint64_t requests_ = 0;
  uint64_t puts_ = 0;
  uint64_t fault_count_ = 0;
};

// The bucket as one node sees it.
class BucketSide : public Bucket {
 public:
  // The bucket must outlive this.
  explicit BucketSide(MemoryBucket& bucket) : bucket_(&bucket) {}

  void Submit(BucketRequest request) override;
  std::optional<BucketCompletion> Next() override;
  // What has no time left comes to its end with the next ones.
  void OnTime(Instant now) { now_ = now; }

  // The node is no more; of what it had asked for, some is done.
  void Abandon();
  size_t pending() const { return pending_.size(); }
  // Requests were asked for and are not over, but by time.
  std::optional<Instant> deadline() const;

 private:
  MemoryBucket* bucket_;
  Instant now_{};
  std::deque<MemoryBucket::Pending> pending_;
};

}  // namespace kvcast
