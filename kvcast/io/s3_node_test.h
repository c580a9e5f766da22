#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "kvcast/base/check_sum.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/s3_bucket.h"
#include "kvcast/store/bucket_tier.h"

namespace kvcast {

inline BucketRequest S3Request(BucketRequest::Kind kind, const std::string& key,
                               Duration patience = std::chrono::seconds(20)) {
  BucketRequest request;
  request.kind = kind;
  request.key = key;
  request.deadline = Now() + patience;
  return request;
}
inline BucketRequest S3Put(const std::string& key, const std::string& text) {
  BucketRequest request = S3Request(BucketRequest::Kind::kPut, key);
  request.bytes = Bytes::Of(text);
  request.checksum = Crc32c(request.bytes);
  return request;
}
inline BucketRequest S3Get(const std::string& key, uint64_t offset, uint64_t length) {
  BucketRequest request = S3Request(BucketRequest::Kind::kGet, key);
  request.offset = offset;
  request.length = length;
  return request;
}

// Asks, and waits for what comes of it.
inline BucketCompletion S3Ask(S3Bucket& bucket, BucketRequest request) {
  static BucketToken token = 0;
  request.token = ++token;
  const Instant patience = request.deadline + std::chrono::seconds(20);
  bucket.Submit(std::move(request));
  while (Now() < patience) {
    if (auto completion = bucket.Next()) {
      EXPECT_EQ(completion->token, token);
      return *std::move(completion);
    }
    pollfd poll{bucket.descriptor(), POLLIN, 0};
    ::poll(&poll, 1, 1000);
  }
  ADD_FAILURE() << "no answer";
  return {};
}

// A bucket tier on a server.
class S3Node {
 public:
  S3Node(const S3Options& server, const BucketTierOptions& options)
      : bucket(*S3Bucket::Open(server)), tier(options) {}

  void Turn(Duration most) {
    for (BucketRequest& request : tier.TakeRequests(Now())) {
      bucket->Submit(std::move(request));
    }
    Duration wait = most;
    if (const auto due = tier.deadline()) {
      wait = std::clamp(*due - Now(), Duration(0), most);
    }
    pollfd poll{bucket->descriptor(), POLLIN, 0};
    ::poll(&poll, 1, static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(wait).count()));
    while (auto completion = bucket->Next()) {
      tier.OnCompletion(*std::move(completion), Now());
    }
    tier.OnTime(Now());
    TakeEvents();
  }
  bool Until(const std::function<bool()>& done, Duration patience = std::chrono::seconds(60)) {
    const Instant end = Now() + patience;
    while (!done() && Now() < end) {
      Turn(std::chrono::milliseconds(50));
    }
    return done();
  }
  std::optional<StoredObject> Get(const TrackName& track, Location location) {
    const auto ticket = tier.Get(track, location, Now());
    if (!ticket) {
      return std::nullopt;
    }
    EXPECT_TRUE(Until([&] { return reads.contains(*ticket); }));
    return reads[*ticket];
  }
  void TakeEvents() {
    while (auto event = tier.Next()) {
      if (auto* done = std::get_if<TierWritten>(&*event)) {
        (done->error ? failed : written).insert(done->ticket);
      } else if (auto* read = std::get_if<TierRead>(&*event)) {
        reads[read->ticket] = std::move(read->found);
      }
    }
  }

  std::unique_ptr<S3Bucket> bucket;
  BucketTier tier;
  std::set<TierTicket> written;
  std::set<TierTicket> failed;
  std::map<TierTicket, std::optional<StoredObject>> reads;
};

}  // namespace kvcast
