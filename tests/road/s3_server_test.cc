// A bucket tier on a real S3 server, which tools/s3_server starts.
#include <gtest/gtest.h>

#include <cstdlib>

#include "kvcast/base/random.h"
#include "kvcast/io/s3_node_test.h"

namespace kvcast {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::string Told(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

S3Options RealServer(bool path_style) {
  S3Options options;
  options.endpoint = Told("KVCAST_S3_ENDPOINT");
  options.bucket = Told("KVCAST_S3_BUCKET");
  options.path_style = path_style;
  options.credentials.configured =
      S3Credentials{Told("KVCAST_S3_ACCESS_KEY"), Told("KVCAST_S3_SECRET_KEY"), ""};
  return options;
}

// A server, with a bucket that is there.
class S3Server : public ::testing::Test {
 protected:
  void SetUp() override {
    if (Told("KVCAST_S3_ENDPOINT").empty()) {
      GTEST_SKIP() << "to be run by tools/s3_server run";
    }
    // To put nothing under no key is to make the bucket.
    const auto made = S3Ask(**S3Bucket::Open(RealServer(true)), S3Put("", ""));
    ASSERT_FALSE(made.error.has_value()) << made.error->message;
  }
};

TEST_F(S3Server, TakesAndGivesBackBytesInBothStyles) {
  for (const bool path_style : {true, false}) {
    const auto bucket = *S3Bucket::Open(RealServer(path_style));
    const std::string start = path_style ? "style/path/" : "style/virtual host/";
    std::string text(3 << 20, '\0');
    Random random(1);
    random.Fill(std::as_writable_bytes(std::span(text)));
    for (int i = 0; i < 3; ++i) {
      const auto put = S3Ask(*bucket, S3Put(start + "key ü+" + std::to_string(i), text));
      ASSERT_FALSE(put.error.has_value()) << put.error->message;
    }
    const auto got = S3Ask(*bucket, S3Get(start + "key ü+1", 1000000, 2000000));
    ASSERT_FALSE(got.error.has_value()) << got.error->message;
    EXPECT_EQ(got.bytes.ToString(), text.substr(1000000, 2000000));
    const auto listed = S3Ask(*bucket, S3Request(BucketRequest::Kind::kList, start));
    ASSERT_FALSE(listed.error.has_value()) << listed.error->message;
    ASSERT_EQ(listed.entries.size(), 3u);
    EXPECT_EQ(listed.entries[2].key, start + "key ü+2");
    EXPECT_EQ(listed.entries[2].bytes, text.size());
    const auto gone = S3Ask(*bucket, S3Request(BucketRequest::Kind::kDelete, start + "key ü+1"));
    ASSERT_FALSE(gone.error.has_value()) << gone.error->message;
    EXPECT_EQ(S3Ask(*bucket, S3Get(start + "key ü+1", 0, 1)).error->kind,
              BucketError::Kind::kNotFound);
    EXPECT_EQ(S3Ask(*bucket, S3Get(start + "key ü+0", 3 << 20, 1)).error->kind,
              BucketError::Kind::kDamaged);
  }
}

TEST_F(S3Server, ListsPageByPage) {
  const auto bucket = *S3Bucket::Open(RealServer(true));
  constexpr size_t kKeys = 1100;
  size_t done = 0;
  for (size_t i = 0; i < kKeys; ++i) {
    BucketRequest request = S3Put("many/" + std::to_string(10000 + i), "x");
    request.token = i + 1;
    request.deadline = Now() + seconds(120);
    bucket->Submit(std::move(request));
  }
  const Instant end = Now() + seconds(120);
  while (done < kKeys && Now() < end) {
    pollfd poll{bucket->descriptor(), POLLIN, 0};
    ::poll(&poll, 1, 1000);
    while (auto completion = bucket->Next()) {
      ASSERT_FALSE(completion->error.has_value()) << completion->error->message;
      ++done;
    }
  }
  ASSERT_EQ(done, kKeys);
  std::set<std::string> keys;
  std::string continuation;
  size_t pages = 0;
  do {
    BucketRequest request = S3Request(BucketRequest::Kind::kList, "many/");
    request.continuation = continuation;
    const auto page = S3Ask(*bucket, std::move(request));
    ASSERT_FALSE(page.error.has_value()) << page.error->message;
    for (const auto& entry : page.entries) {
      keys.insert(entry.key);
    }
    continuation = page.continuation;
    ++pages;
  } while (!continuation.empty());
  EXPECT_EQ(keys.size(), kKeys);
  EXPECT_EQ(pages, 2u);
}

TEST_F(S3Server, AWrongSecretIsToldClearly) {
  S3Options options = RealServer(true);
  options.credentials.configured->secret_key = "wrong";
  const auto wrong = S3Ask(**S3Bucket::Open(options), S3Get("key", 0, 1));
  ASSERT_TRUE(wrong.error.has_value());
  EXPECT_EQ(wrong.error->kind, BucketError::Kind::kAuth);
  EXPECT_NE(wrong.error->message.find("SignatureDoesNotMatch"), std::string::npos);
  EXPECT_NE(wrong.error->message.find("Check the access key"), std::string::npos);
  EXPECT_EQ(wrong.error->message.find("wrong"), std::string::npos);

  S3Options absent = RealServer(true);
  absent.bucket = "no-such-bucket";
  const auto missing = S3Ask(**S3Bucket::Open(absent), S3Get("key", 0, 1));
  ASSERT_TRUE(missing.error.has_value());
  EXPECT_EQ(missing.error->kind, BucketError::Kind::kOther);
  EXPECT_NE(missing.error->message.find("NoSuchBucket"), std::string::npos);
}

// The loss of a node: another one, that knows nothing, finds all that was acknowledged.
TEST_F(S3Server, AFreshNodeFindsWhatALostOnePut) {
  const TrackName track = *TrackName::Of(*TrackNamespace::Of({"space"}), "track");
  const auto object_of = [](uint64_t number) {
    Object object;
    object.location = {number / 16, number % 16};
    std::string payload(100000 + number * 7, '\0');
    Random random(number);
    random.Fill(std::as_writable_bytes(std::span(payload)));
    object.payload = Bytes::Of(payload);
    return object;
  };
  BucketTierOptions options;
  options.prefix = "nodes";
  options.node.bytes.fill(std::byte{1});
  options.seed = static_cast<uint64_t>(Now().time_since_epoch().count());
  options.pack_bytes = 8 << 20;
  options.linger = milliseconds(100);
  options.get_patience = seconds(10);
  constexpr uint64_t kObjects = 320;
  {
    S3Node node(RealServer(true), options);
    ASSERT_TRUE(node.Until([&] { return node.tier.ready(); }));
    for (uint64_t i = 0; i < kObjects; ++i) {
      ASSERT_TRUE(node.tier.Put(track, object_of(i), i, Now()).ok());
    }
    ASSERT_TRUE(node.Until([&] { return node.written.size() == kObjects; }));
    EXPECT_GE(node.tier.packs().packs.size(), 4u);
    EXPECT_LE(node.tier.packs().packs.size(), 8u);
  }
  options.node.bytes.fill(std::byte{2});
  S3Node fresh(RealServer(false), options);
  ASSERT_TRUE(fresh.Until([&] { return fresh.tier.ready(); }));
  ASSERT_EQ(fresh.tier.index().object_count(), kObjects);
  std::map<TierTicket, uint64_t> tickets;
  for (uint64_t i = 0; i < kObjects; ++i) {
    tickets[*fresh.tier.Get(track, object_of(i).location, Now())] = i;
  }
  ASSERT_TRUE(fresh.Until([&] { return fresh.reads.size() == kObjects; }));
  for (const auto& [ticket, number] : tickets) {
    ASSERT_TRUE(fresh.reads.at(ticket).has_value()) << number;
    EXPECT_EQ(fresh.reads.at(ticket)->object.payload, object_of(number).payload);
    EXPECT_EQ(fresh.reads.at(ticket)->received_us, number);
  }
  EXPECT_EQ(fresh.tier.counts().damaged, 0u);
  EXPECT_LT(fresh.tier.counts().requests, 40u);
}

TEST_F(S3Server, OldPacksAreDeletedWhenABudgetIsSpent) {
  const TrackName track = *TrackName::Of(*TrackNamespace::Of({"space"}), "track");
  BucketTierOptions options;
  options.prefix = "budget";
  options.node.bytes.fill(std::byte{3});
  options.pack_bytes = 1 << 20;
  options.linger = milliseconds(1);
  options.bytes_max = 5 << 20;
  S3Node node(RealServer(true), options);
  ASSERT_TRUE(node.Until([&] { return node.tier.ready(); }));
  for (uint64_t i = 0; i < 10; ++i) {
    Object object;
    object.location = {i, 0};
    object.payload = Bytes::Of(std::string(900000, static_cast<char>('a' + i)));
    const auto ticket = node.tier.Put(track, object, 0, Now());
    ASSERT_TRUE(ticket.ok());
    ASSERT_TRUE(node.Until([&] { return node.written.contains(*ticket); }));
  }
  ASSERT_TRUE(node.Until([&] { return node.tier.idle(); }));
  EXPECT_GE(node.tier.counts().packs_removed, 4u);
  const auto listed =
      S3Ask(**S3Bucket::Open(RealServer(true)), S3Request(BucketRequest::Kind::kList, "budget/"));
  uint64_t bytes = 0;
  for (const auto& entry : listed.entries) {
    bytes += entry.bytes;
  }
  EXPECT_EQ(bytes, node.tier.packs().own_bytes);
  EXPECT_LE(bytes, options.bytes_max);
}

}  // namespace
}  // namespace kvcast
