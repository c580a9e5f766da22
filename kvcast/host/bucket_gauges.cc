#include "kvcast/host/bucket_gauges.h"

namespace kvcast {

BucketGauges::OfBucket BucketGauges::Make(const std::string& bucket) {
  const auto gauge = [&](const char* name, const char* help) -> Gauge& {
    return metrics_->gauge(name, help, {{"bucket", bucket}});
  };
  return {
      gauge("kvcast_bucket_ready", "1 once the bucket has been read."),
      gauge("kvcast_bucket_away", "1 while the bucket is left alone because it fails."),
      gauge("kvcast_bucket_packs", "Packs that are known, of all nodes."),
      gauge("kvcast_bucket_own_bytes", "Bytes of this node's packs."),
      gauge("kvcast_bucket_index_bytes", "Memory that the bucket's index takes."),
      gauge("kvcast_bucket_queued_bytes", "Bytes that wait to be in the bucket."),
      gauge("kvcast_bucket_objects", "Objects in the bucket."),
      gauge("kvcast_bucket_requests", "Requests that were sent."),
      gauge("kvcast_bucket_failures", "Requests that failed, whether or not tried again."),
      gauge("kvcast_bucket_late_reads", "Reads that were given up because they took too long."),
      gauge("kvcast_bucket_damaged_records", "Records that did not pass their checks."),
      gauge("kvcast_bucket_packs_merged", "Small packs of this node that larger ones replaced."),
      gauge("kvcast_bucket_packs_failed", "Packs that could not be put."),
      gauge("kvcast_bucket_packs_unread", "Packs that could not be read."),
      gauge("kvcast_bucket_packs_left_out",
            "Packs whose contents the index has no room for: they are not found here.")};
}

void BucketGauges::Show(const BucketMount& bucket) {
  auto found = buckets_.find(&bucket);
  if (found == buckets_.end()) {
    found = buckets_.emplace(&bucket, Make(bucket.options().where)).first;
  }
  const BucketTier& tier = bucket.tier();
  const BucketTierCounts counts = tier.counts();
  const auto set = [](Gauge& gauge, uint64_t value) { gauge.Set(static_cast<int64_t>(value)); };
  set(found->second.ready, tier.ready() ? 1 : 0);
  set(found->second.away, tier.away() ? 1 : 0);
  set(found->second.packs, tier.packs().counted);
  set(found->second.own_bytes, tier.packs().own_bytes);
  set(found->second.index_bytes, tier.index_bytes());
  set(found->second.queued_bytes, tier.queued_bytes());
  set(found->second.objects, tier.index().object_count());
  set(found->second.requests, counts.requests);
  set(found->second.failures, counts.failures);
  set(found->second.late, counts.late);
  set(found->second.damaged, counts.damaged);
  set(found->second.packs_merged, counts.packs_merged);
  set(found->second.packs_failed, counts.packs_failed);
  set(found->second.packs_unread, counts.unread);
  set(found->second.packs_left_out, counts.left_out + counts.forgotten);
}

}  // namespace kvcast
