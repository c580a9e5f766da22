#pragma once

#include <map>
#include <string>

#include "kvcast/base/metrics.h"
#include "kvcast/host/bucket_mount.h"

namespace kvcast {

// What is shown of the buckets of a node, each by its name.
class BucketGauges {
 public:
  explicit BucketGauges(Metrics& metrics) : metrics_(&metrics) {}
  void Show(const BucketMount& bucket);

 private:
  struct OfBucket {
    Gauge& ready;
    Gauge& away;
    Gauge& packs;
    Gauge& own_bytes;
    Gauge& index_bytes;
    Gauge& queued_bytes;
    Gauge& objects;
    Gauge& requests;
    Gauge& failures;
    Gauge& late;
    Gauge& damaged;
    Gauge& packs_merged;
    Gauge& packs_failed;
    Gauge& packs_unread;
    Gauge& packs_left_out;
  };
  OfBucket Make(const std::string& bucket);

  Metrics* metrics_;
  std::map<const BucketMount*, OfBucket> buckets_;
};

}  // namespace kvcast
