// A bucket that refuses, hangs, damages, loses its answers and lists what was.
#include <gtest/gtest.h>

#include "kvcast/store/bucket_tier_fixture_test.h"

namespace kvcast {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(BucketOutage, DamageOnTheWayCostsASecondRead) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.Start();
  ASSERT_TRUE(node.Put(kBucketTrack, BucketObject({0, 0}, "kv")).ok());
  const auto ticket = node.tier->Get(kBucketTrack, {0, 0}, node.now);
  bucket.faults().flip = 1;
  node.Step();
  bucket.faults().flip = 0;
  node.Run();
  EXPECT_EQ(node.reads.at(*ticket)->object.payload.ToString(), "kv");
  EXPECT_EQ(node.tier->counts().damaged, 0u);
}

TEST(BucketOutage, AnOldListingDoesNoHarm) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.Start();
  ASSERT_TRUE(node.Put(kBucketTrack, BucketObject({0, 0}, "a")).ok());
  BucketNode other(bucket, 2);
  other.Start();  // Its listing is the one that stays.
  ASSERT_TRUE(node.Put(kBucketTrack, BucketObject({1, 0}, "b")).ok());
  bucket.faults().stale_list = 1;
  // What it lacks is not lost to who has it already,
  node.Wait(minutes(3));
  EXPECT_EQ(node.Payload(kBucketTrack, {1, 0}), "b");
  // and comes when it is shown.
  other.Start();
  EXPECT_FALSE(other.Payload(kBucketTrack, {1, 0}).has_value());
  bucket.faults().stale_list = 0;
  other.Wait(minutes(2));
  EXPECT_EQ(other.Payload(kBucketTrack, {1, 0}), "b");
  // What it shows and is gone is a miss, and then forgotten.
  bucket.faults().stale_list = 1;
  bucket.objects().clear();
  EXPECT_FALSE(other.Payload(kBucketTrack, {0, 0}).has_value());
  EXPECT_EQ(other.tier->counts().packs_gone, 1u);
  EXPECT_EQ(other.tier->PresenceOf(kBucketTrack, {0, 0}), Presence::kUnknown);
  other.Start();
  EXPECT_TRUE(other.tier->ready());
  EXPECT_EQ(other.tier->index().object_count(), 0u);
}

// Another node has deleted it, or a rule of the bucket: nobody tells, and nobody may ever ask for
// it.
TEST(BucketOutage, APackThatSomebodyElseHasDeletedIsForgottenThoughNobodyReadsIt) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.Start();
  ASSERT_TRUE(node.Put(kBucketTrack, BucketObject({0, 0}, "a")).ok());
  ASSERT_TRUE(node.Put(kBucketTrack, BucketObject({1, 0}, "b")).ok());
  BucketNode other(bucket, 2);
  other.Start();
  bucket.objects().erase(bucket.objects().begin());
  for (BucketNode* const one : {&node, &other}) {
    one->Wait(minutes(4));
    EXPECT_EQ(one->tier->packs().packs.size(), 1u);
    EXPECT_EQ(one->tier->index().object_count(), 1u);
    EXPECT_EQ(one->tier->counts().packs_gone, 1u);
    EXPECT_EQ(one->evicted.size(), 1u);
  }
}

// It was acknowledged when it was there.
TEST(BucketOutage, APutIsNotTakenForDoneByAPackThatAListingNoLongerShows) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.Start();
  ASSERT_TRUE(node.Put(kBucketTrack, BucketObject({0, 0}, "kv")).ok());
  bucket.objects().clear();
  node.Wait(node.options.survey_every + seconds(1));
  ASSERT_TRUE(node.Put(kBucketTrack, BucketObject({0, 0}, "kv")).ok());
  EXPECT_EQ(bucket.objects().size(), 1u);
  node.Wait(minutes(4));
  EXPECT_EQ(node.Payload(kBucketTrack, {0, 0}), "kv");
}

TEST(BucketOutage, AMissIsAnsweredInTimeWhenTheBucketHangs) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.Start();
  ASSERT_TRUE(node.Put(kBucketTrack, BucketObject({0, 0}, "kv")).ok());
  bucket.faults().dead = true;
  const Instant asked = node.now;
  const auto ticket = node.tier->Get(kBucketTrack, {0, 0}, node.now);
  node.Run();
  EXPECT_FALSE(node.reads.contains(*ticket));
  node.Wait(milliseconds(200));
  ASSERT_TRUE(node.reads.contains(*ticket));
  EXPECT_FALSE(node.reads.at(*ticket).has_value());
  EXPECT_EQ(node.now - asked, milliseconds(200));
  EXPECT_EQ(node.tier->counts().late, 1u);
}

TEST(BucketOutage, ABucketThatIsAwayIsAskedOnceASecond) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.Start();
  ASSERT_TRUE(node.Put(kBucketTrack, BucketObject({0, 0}, "kv")).ok());
  bucket.faults().dead = true;
  Instant opened{};
  const Instant died = node.now;
  while (opened == Instant() && node.now < died + seconds(10)) {
    (void)node.tier->Get(kBucketTrack, {0, 0}, node.now);
    node.Wait(milliseconds(100));
    opened = node.tier->away() ? node.now : Instant();
  }
  EXPECT_LE(opened - died, seconds(3));
  const uint64_t before = bucket.request_count();
  uint64_t refused = 0;
  for (int i = 0; i < 6000; ++i) {
    const auto ticket = node.tier->Get(kBucketTrack, {0, 0}, node.now);
    ASSERT_TRUE(ticket.has_value());
    node.TakeEvents();
    refused += node.reads.contains(*ticket) ? 1u : 0u;
    node.Wait(milliseconds(100));
  }
  EXPECT_LE(bucket.request_count() - before, 601u);
  EXPECT_GT(bucket.request_count() - before, 300u);
  EXPECT_GT(refused, 3000u);
  bucket.faults().dead = false;
  node.Wait(seconds(2));
  (void)node.Get(kBucketTrack, {0, 0});
  EXPECT_EQ(node.Payload(kBucketTrack, {0, 0}), "kv");
  EXPECT_FALSE(node.tier->away());
}

TEST(BucketOutage, UploadsQueueWithinABoundAndNothingIsAcknowledgedMeanwhile) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.options.queue_bytes_max = 200 << 10;
  node.Start();
  bucket.faults().dead = true;
  size_t taken = 0;
  Result<TierTicket> last(TierTicket{0});
  for (uint64_t i = 0; i < 1000 && last.ok(); ++i) {
    last = node.tier->Put(kBucketTrack, BucketObject({0, i}, std::string(5000, 'x')), 0, node.now);
    taken += last.ok() ? 1u : 0u;
    node.Wait(milliseconds(10));
    EXPECT_LE(node.tier->queued_bytes(), node.options.queue_bytes_max + 6000);
  }
  ASSERT_FALSE(last.ok());
  EXPECT_EQ(last.error().code(), ErrorCode::kTooLarge);
  EXPECT_TRUE(node.written.empty());
  node.Wait(seconds(60));
  EXPECT_TRUE(node.written.empty());
  EXPECT_TRUE(node.failed.empty());
  bucket.faults().dead = false;
  node.Wait(seconds(30));
  EXPECT_EQ(node.written.size(), taken);
  BucketNode fresh(bucket, 2);
  fresh.Start();
  EXPECT_EQ(fresh.tier->index().object_count(), taken);
}

TEST(BucketOutage, WhatCannotBePutForTooLongFailsWithTheBucketsWords) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.Start();
  bucket.faults().refuse = 1;
  const auto put = node.Put(kBucketTrack, BucketObject({0, 0}, "kv"));
  ASSERT_FALSE(put.ok());
  EXPECT_EQ(put.error().code(), ErrorCode::kMachine);
  EXPECT_NE(put.error().message().find("Connection refused."), std::string::npos);
  EXPECT_EQ(node.tier->queued_bytes(), 0u);
  bucket.faults().refuse = 0;
  node.Wait(seconds(2));
  EXPECT_TRUE(node.Put(kBucketTrack, BucketObject({0, 0}, "kv")).ok());
}

TEST(BucketOutage, APackThatWasGivenUpAndArrivedIsTakenBack) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.options.survey_every = seconds(7);
  node.Start();
  bucket.faults().lost_reply = 1;
  ASSERT_FALSE(node.Put(kBucketTrack, BucketObject({0, 0}, "kv")).ok());
  ASSERT_EQ(bucket.objects().size(), 1u);
  node.Wait(minutes(5));
  EXPECT_FALSE(node.Payload(kBucketTrack, {0, 0}).has_value());
  bucket.faults().lost_reply = 0;
  node.Wait(seconds(30));
  EXPECT_TRUE(bucket.objects().empty());
  EXPECT_TRUE(node.tier->idle());
  EXPECT_FALSE(node.Payload(kBucketTrack, {0, 0}).has_value());
  ASSERT_TRUE(node.Put(kBucketTrack, BucketObject({0, 0}, "kv")).ok());
  EXPECT_EQ(node.Payload(kBucketTrack, {0, 0}), "kv");
}

TEST(BucketOutage, AStartWaitsForTheBucket) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  bucket.faults().dead = true;
  node.Start();
  node.Wait(minutes(10));
  EXPECT_FALSE(node.tier->ready());
  EXPECT_EQ(node.tier->Put(kBucketTrack, BucketObject({0, 0}, "kv"), 0, node.now).error().code(),
            ErrorCode::kMachine);
  bucket.faults().dead = false;
  node.Wait(seconds(15));
  EXPECT_TRUE(node.tier->ready());
}

// A server may find nothing in what it looked through for a page, and there is more all the same.
TEST(BucketOutage, AnEmptyPageIsNotTheEndOfAListing) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.Start();
  for (uint64_t group = 0; group < 8; ++group) {
    ASSERT_TRUE(node.Put(kBucketTrack, BucketObject({group, 0}, "kv")).ok());
  }
  bucket.faults().empty_pages = true;
  BucketNode fresh(bucket, 2);
  fresh.Start();
  ASSERT_TRUE(fresh.tier->ready());
  EXPECT_EQ(fresh.tier->index().object_count(), 8u);
}

TEST(BucketOutage, AListingWithoutAnEndIsAnError) {
  MemoryBucket bucket(1);
  bucket.faults().endless_pages = true;
  BucketNode node(bucket);
  node.Start();
  node.Wait(seconds(10));
  EXPECT_FALSE(node.tier->ready());
  bucket.faults().endless_pages = false;
  node.Wait(seconds(10));
  EXPECT_TRUE(node.tier->ready());
}

TEST(BucketBreaker, OpensAfterFailuresInARowOrOneThatLasts) {
  const Instant start{std::chrono::hours(1)};
  BucketBreaker breaker;
  for (int i = 0; i < 4; ++i) {
    breaker.OnFailure(start);
    EXPECT_TRUE(breaker.Allow(start));
  }
  breaker.OnSuccess();
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(breaker.open());
    breaker.OnFailure(start);
  }
  EXPECT_TRUE(breaker.open());
  EXPECT_FALSE(breaker.Allow(start + milliseconds(999)));
  EXPECT_TRUE(breaker.Allow(start + milliseconds(1000)));
  EXPECT_FALSE(breaker.Allow(start + milliseconds(1001)));
  breaker.OnSuccess();
  EXPECT_TRUE(breaker.Allow(start + milliseconds(1001)));
  breaker.OnFailure(start + seconds(2));
  EXPECT_TRUE(breaker.Allow(start + seconds(2)));
  EXPECT_FALSE(breaker.Allow(start + seconds(5)));
}

TEST(RetryDelay, GrowsUpToABoundAndNeverAlike) {
  Random random(1);
  Duration longest{};
  for (uint32_t attempt = 0; attempt < 100; ++attempt) {
    const Duration full = attempt < 7 ? milliseconds(100) * (1 << attempt) : Duration(seconds(10));
    const Duration delay = RetryDelay(attempt, milliseconds(100), seconds(10), random);
    EXPECT_LE(delay, std::min<Duration>(full, seconds(10)));
    EXPECT_GE(delay, std::min<Duration>(full, seconds(10)) / 2);
    longest = std::max(longest, delay);
  }
  EXPECT_GT(longest, seconds(9));
}

// An object without a payload takes memory while it waits.
TEST(BucketOutage, EmptyObjectsThatWaitAreCounted) {
  MemoryBucket bucket(1);
  BucketNode node(bucket);
  node.options.queue_bytes_max = 100'000;
  node.Start();
  bucket.faults().dead = true;
  uint64_t taken = 0;
  while (node.tier->Put(kBucketTrack, BucketObject({0, taken}, ""), 0, node.now).ok()) {
    ASSERT_LT(++taken, 200u);
  }
  EXPECT_GT(taken, 50u);
  bucket.faults().dead = false;
  node.Wait(seconds(60));
  EXPECT_EQ(node.tier->queued_bytes(), 0u);
}

// Whoever lists what there is has to know what he does not see.
TEST(BucketOutage, NamesThePacksThatCouldNotBeRead) {
  MemoryBucket bucket(1);
  BucketNode first(bucket);
  first.Start();
  ASSERT_TRUE(first.Put(kBucketTrack, BucketObject({0, 0}, "kv")).ok());
  BucketNode node(bucket, 2);
  node.tier = std::make_unique<BucketTier>(node.options);
  ASSERT_TRUE(node.Step());  // The listing.
  bucket.faults().refuse = 1;
  node.Wait(minutes(2));
  ASSERT_TRUE(node.tier->ready());
  EXPECT_EQ(node.tier->index().object_count(), 0u);
  ASSERT_EQ(node.tier->passed_over().size(), 1u);
  EXPECT_EQ(node.tier->passed_over().front().key, bucket.objects().begin()->first);
  EXPECT_TRUE(node.tier->passed_over().front().why.starts_with("cannot be read: "));
  bucket.faults().refuse = 0;
  node.Wait(minutes(2));
  EXPECT_TRUE(node.tier->passed_over().empty());
  EXPECT_EQ(node.Payload(kBucketTrack, {0, 0}), "kv");
}

}  // namespace
}  // namespace kvcast
