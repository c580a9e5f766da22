#include "kvcast/io/s3_bucket.h"

#include <gtest/gtest.h>

#include "kvcast/base/random.h"
#include "kvcast/io/s3_fault_server_test.h"
#include "kvcast/io/s3_node_test.h"
#include "kvcast/io/s3_transfer.h"

namespace kvcast {
namespace {

using Kind = BucketError::Kind;
using Fault = S3FaultServer::Fault;
using std::chrono::milliseconds;
using std::chrono::seconds;

S3Options FaultyServer(const S3FaultServer& server) {
  S3Options options;
  options.endpoint = server.endpoint();
  options.bucket = "packs";
  options.path_style = true;
  options.credentials.configured = S3Credentials{"access", "secret", "session"};
  return options;
}

TEST(S3Bucket, PutsReadsListsAndDeletes) {
  S3FaultServer server;
  const auto bucket = *S3Bucket::Open(FaultyServer(server));
  std::string text(300000, 'x');
  Random random(1);
  random.Fill(std::as_writable_bytes(std::span(text)));
  EXPECT_FALSE(S3Ask(*bucket, S3Put("a/b c", text)).error.has_value());
  EXPECT_EQ(server.objects().begin()->first, "/packs/a/b%20c");
  EXPECT_EQ(server.Header("x-amz-content-sha256"), Sha256::Of(text).ToHex());
  EXPECT_FALSE(server.Header("x-amz-checksum-crc32c").empty());
  EXPECT_EQ(server.Header("x-amz-security-token"), "session");
  EXPECT_NE(server.Header("authorization").find("AWS4-HMAC-SHA256 Credential=access/"),
            std::string::npos);

  const auto got = S3Ask(*bucket, S3Get("a/b c", 1000, 290000));
  ASSERT_FALSE(got.error.has_value()) << got.error->message;
  EXPECT_EQ(got.bytes.ToString(), text.substr(1000, 290000));

  const auto listed = S3Ask(*bucket, S3Request(BucketRequest::Kind::kList, "a/"));
  ASSERT_EQ(listed.entries.size(), 1u);
  EXPECT_EQ(listed.entries[0].bytes, text.size());

  EXPECT_FALSE(S3Ask(*bucket, S3Request(BucketRequest::Kind::kDelete, "a/b c")).error.has_value());
  const auto gone = S3Ask(*bucket, S3Get("a/b c", 0, 1));
  ASSERT_TRUE(gone.error.has_value());
  EXPECT_EQ(gone.error->kind, Kind::kNotFound);
}

TEST(S3Bucket, TellsWhatWentWrong) {
  S3FaultServer server;
  const auto bucket = *S3Bucket::Open(FaultyServer(server));
  ASSERT_FALSE(S3Ask(*bucket, S3Put("key", std::string(100000, 'x'))).error.has_value());
  const std::vector<std::pair<Fault, std::vector<Kind>>> expected = {
      {Fault::kSlowDown, {Kind::kThrottled}},
      {Fault::kForbidden, {Kind::kAuth}},
      {Fault::kErrorInOk, {Kind::kOther}},
      {Fault::kShortBody, {Kind::kDamaged}},
      // What a reset cuts off is noticed as one or the other.
      {Fault::kResetInBody, {Kind::kUnreachable, Kind::kDamaged}},
      {Fault::kTooMuch, {Kind::kDamaged}},
      {Fault::kGarbage, {Kind::kOther, Kind::kUnreachable, Kind::kDamaged}},
  };
  for (const auto& [fault, kinds] : expected) {
    server.Set(fault);
    const auto got = S3Ask(*bucket, S3Get("key", 0, 50000));
    ASSERT_TRUE(got.error.has_value()) << static_cast<int>(fault);
    EXPECT_NE(std::ranges::find(kinds, got.error->kind), kinds.end())
        << static_cast<int>(fault) << ": " << got.error->message;
    EXPECT_NE(got.error->message.find("GET http://127.0.0.1"), std::string::npos);
  }
  server.Set(Fault::kErrorInOk);
  for (const BucketRequest& request :
       {S3Put("other", "x"), S3Request(BucketRequest::Kind::kList, "")}) {
    const auto completion = S3Ask(*bucket, request);
    ASSERT_TRUE(completion.error.has_value());
    EXPECT_EQ(completion.error->kind, Kind::kOther);
    EXPECT_NE(completion.error->message.find("InternalError"), std::string::npos);
  }
  server.Set(Fault::kNone);
  EXPECT_FALSE(S3Ask(*bucket, S3Get("key", 0, 50000)).error.has_value());
  EXPECT_EQ(S3Ask(*bucket, S3Get("key", 99999, 2)).error->kind, Kind::kDamaged);
}

// What stands between us and the server may answer as if all were well.
TEST(S3Bucket, OnlyWhatS3AnswersIsTakenForDone) {
  S3FaultServer server;
  const auto bucket = *S3Bucket::Open(FaultyServer(server));
  for (const Fault fault : {Fault::kPage, Fault::kTaggedPage, Fault::kCutError, Fault::kAccepted,
                            Fault::kNoTag, Fault::kOtherSum}) {
    server.Set(fault);
    const auto put = S3Ask(*bucket, S3Put("key", std::string(1000, 'x')));
    ASSERT_TRUE(put.error.has_value()) << static_cast<int>(fault);
    EXPECT_EQ(put.error->kind, Kind::kOther);
    EXPECT_TRUE(server.objects().empty());
  }
  server.Set(Fault::kNone);
  EXPECT_FALSE(S3Ask(*bucket, S3Put("key", std::string(1000, 'x'))).error.has_value());
}

TEST(S3Bucket, ARequestEndsByItsDeadline) {
  S3FaultServer server;
  const auto bucket = *S3Bucket::Open(FaultyServer(server));
  server.Set(Fault::kHang);
  const auto completion =
      S3Ask(*bucket, S3Request(BucketRequest::Kind::kList, "", milliseconds(200)));
  ASSERT_TRUE(completion.error.has_value());
  EXPECT_EQ(completion.error->kind, Kind::kTimeout);
}

TEST(S3Bucket, AServerThatIsNotThereIsUnreachable) {
  S3Options options;
  {
    const S3FaultServer server;  // Whose port nobody has any more.
    options = FaultyServer(server);
  }
  const auto bucket = *S3Bucket::Open(options);
  const auto completion = S3Ask(*bucket, S3Request(BucketRequest::Kind::kList, ""));
  ASSERT_TRUE(completion.error.has_value());
  EXPECT_EQ(completion.error->kind, Kind::kUnreachable);
}

TEST(S3Bucket, OptionsThatMakeNoSenseAreRefused) {
  S3Options good;
  good.endpoint = "https://s3.example.org";
  good.bucket = "packs";
  good.credentials.configured = S3Credentials{"a", "b", ""};
  ASSERT_TRUE(S3Bucket::Open(good).ok());
  EXPECT_EQ((*S3Bucket::Open(good))->address(), "https://packs.s3.example.org");
  for (const char* endpoint : {"", "s3.example.org", "ftp://x", "https://", "http://x/y"}) {
    S3Options bad = good;
    bad.endpoint = endpoint;
    EXPECT_EQ(S3Bucket::Open(bad).error().code(), ErrorCode::kInvalid) << endpoint;
  }
  for (const char* name : {"", "Packs", "a/b", "x"}) {
    S3Options bad = good;
    bad.bucket = name;
    EXPECT_EQ(S3Bucket::Open(bad).error().code(), ErrorCode::kInvalid) << name;
  }
}

BucketTierOptions SmallPacks() {
  BucketTierOptions options;
  options.prefix = "kv";
  options.node.bytes.fill(std::byte{1});
  options.seed = 7;
  options.pack_bytes = 1 << 20;
  options.linger = milliseconds(1);
  options.get_patience = milliseconds(200);
  return options;
}

const TrackName kS3Track = *TrackName::Of(*TrackNamespace::Of({"space"}), "track");

Object S3Object(uint64_t number) {
  Object object;
  object.location = {number, 0};
  object.payload = Bytes::Of(std::string(1000 + number, 'k'));
  return object;
}

// Every kind of outage: nothing wrong is returned, every get is answered, nothing acknowledged is
// lost, and when it is over all is as before.
TEST(S3BucketTier, SurvivesEveryKindOfOutage) {
  S3FaultServer server;
  BucketTierOptions options = SmallPacks();
  uint64_t next = 0;
  std::vector<uint64_t> acknowledged;
  S3Node node(FaultyServer(server), options);
  ASSERT_TRUE(node.Until([&] { return node.tier.ready(); }));
  const auto put = [&] {
    const auto ticket = node.tier.Put(kS3Track, S3Object(next), 0, Now());
    EXPECT_TRUE(ticket.ok());
    return std::pair(*ticket, next++);
  };
  const auto first = put();
  ASSERT_TRUE(node.Until([&] { return node.written.contains(first.first); }));
  acknowledged.push_back(first.second);
  for (const Fault fault : {Fault::kSlowDown, Fault::kHang, Fault::kResetInBody, Fault::kShortBody,
                            Fault::kWrongByte, Fault::kErrorInOk, Fault::kGarbage, Fault::kTooMuch,
                            Fault::kForbidden, Fault::kPage, Fault::kAccepted, Fault::kNoTag}) {
    server.Set(fault);
    // Damage and resets hurt what is read only.
    const auto [ticket, number] = put();
    for (int i = 0; i < 6; ++i) {
      const auto found = node.Get(kS3Track, {acknowledged.front(), 0});
      if (found) {
        EXPECT_EQ(found->object.payload, S3Object(acknowledged.front()).payload);
      }
      node.Turn(milliseconds(20));
    }
    server.Set(Fault::kNone);
    ASSERT_TRUE(node.Until([&, mine = ticket] { return node.written.contains(mine); }))
        << static_cast<int>(fault);
    acknowledged.push_back(number);
    // Somebody has to ask whether it is back.
    ASSERT_TRUE(node.Until([&] {
      (void)node.tier.Get(kS3Track, {acknowledged.front(), 0}, Now());
      return !node.tier.away();
    }));
    // Twice damaged, it was given up as damaged, and can be put again.
    const auto again = node.tier.Put(kS3Track, S3Object(acknowledged.front()), 0, Now());
    ASSERT_TRUE(again.ok());
    ASSERT_TRUE(node.Until([&] { return node.written.contains(*again); }));
  }
  EXPECT_TRUE(node.failed.empty());
  options.node.bytes.fill(std::byte{2});
  S3Node fresh(FaultyServer(server), options);
  ASSERT_TRUE(fresh.Until([&] { return fresh.tier.ready(); }));
  for (const uint64_t number : acknowledged) {
    std::optional<StoredObject> found;
    // The machine may be slow; a miss is not a loss.
    for (int i = 0; i < 50 && !found; ++i) {
      found = fresh.Get(kS3Track, {number, 0});
    }
    ASSERT_TRUE(found.has_value()) << number;
    EXPECT_EQ(found->object.payload, S3Object(number).payload);
  }
}

TEST(S3BucketTier, AnEmptyListingDoesNoHarm) {
  S3FaultServer server;
  BucketTierOptions options = SmallPacks();
  S3Node node(FaultyServer(server), options);
  ASSERT_TRUE(node.Until([&] { return node.tier.ready(); }));
  const auto ticket = node.tier.Put(kS3Track, S3Object(1), 0, Now());
  ASSERT_TRUE(node.Until([&] { return node.written.contains(*ticket); }));
  server.Set(Fault::kStaleListing);
  options.node.bytes.fill(std::byte{2});
  options.survey_every = milliseconds(50);
  S3Node fresh(FaultyServer(server), options);
  ASSERT_TRUE(fresh.Until([&] { return fresh.tier.ready(); }));
  EXPECT_FALSE(fresh.Get(kS3Track, {1, 0}).has_value());
  server.Set(Fault::kNone);
  EXPECT_TRUE(fresh.Until([&] {
    return fresh.tier.PresenceOf(kS3Track, {1, 0}) == Presence::kExists;
  }));
}

TEST(S3Transfer, EscapesAsSignaturesWantIt) {
  EXPECT_EQ(S3Escaped("a b/c~d+%\xc3\xa9", true), "a%20b/c~d%2B%25%C3%A9");
  EXPECT_EQ(S3Escaped("a/b", false), "a%2Fb");
}

}  // namespace
}  // namespace kvcast
