#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "kvcast/base/time.h"
#include "kvcast/store/bucket_calls.h"
#include "kvcast/store/pack_load.h"

namespace kvcast {

// Looks through a bucket once: lists what there is, and reads what those packs say that are not
// known yet, whoever wrote them. This is how a fresh node finds what others have left.
//
// A listing may be old: what it lacks stays as it was, and what it shows that is not there is
// passed over.
class BucketSurvey {
 public:
  struct Options {
    std::string prefix;
    uint64_t key_property = 0;
    size_t packs_max = 0;
    // Whether a pack need not be read; asked for every one that is listed.
    std::function<bool(const std::string&)> known;
    std::function<bool()> full;  // No more can be remembered now.
  };
  struct Found {
    PackId id;
    std::string key;
    uint64_t bytes = 0;
    PackLoad::Outcome outcome;
  };

  // The calls must outlive this.
  BucketSurvey(const Options& options, BucketCalls& calls, Instant now);

  // False: not of this survey.
  bool OnEnded(const BucketCalls::Ended& ended, Instant now);
  // What has been read since.
  std::vector<Found> TakeFound();

  bool done() const { return done_; }
  // The listing failed: what was found until then is true, and there may be more.
  const std::optional<BucketError>& failure() const { return failure_; }
  uint64_t foreign() const { return foreign_; }  // Keys that are not packs.
  bool cut() const { return cut_; }              // There are more packs than we may have.
  // Packs that were not read, because no more can be remembered.
  uint64_t left_out() const { return left_out_; }

 private:
  struct Listed {
    PackId id;
    std::string key;
    uint64_t bytes = 0;
  };

  void List(std::string continuation, Instant now);
  void OnPage(const BucketCompletion& page, Instant now);
  void LoadSome(Instant now);

  Options options_;
  BucketCalls* calls_;
  BucketCalls::Id list_ = 0;
  std::string continuation_;
  size_t listed_ = 0;
  size_t empty_pages_ = 0;  // In a row.
  std::deque<Listed> queue_;
  std::list<PackLoad> loads_;
  std::vector<Found> found_;
  std::optional<BucketError> failure_;
  uint64_t foreign_ = 0;
  uint64_t left_out_ = 0;
  bool cut_ = false;
  bool done_ = false;
};

}  // namespace kvcast
