#include "kvcast/host/resting_bucket.h"

#include <gtest/gtest.h>

#include "kvcast/host/command.h"
#include "kvcast/host/command_outcome_test.h"
#include "kvcast/io/file.h"
#include "kvcast/io/s3_fault_server_test.h"
#include "kvcast/io/s3_node_test.h"
#include "kvcast/io/scratch_directory.h"

namespace kvcast {
namespace {

// A bucket with one pack, of one object.
class RestingBucketTest : public testing::Test {
 protected:
  void SetUp() override {
    flag_.server.endpoint = server_.endpoint();
    flag_.server.bucket = "packs";
    flag_.server.path_style = true;
    flag_.server.credentials.configured = S3Credentials{"access", "secret", ""};
    flag_.prefix = "kv";
    BucketTierOptions options;
    options.prefix = flag_.prefix;
    S3Node node(flag_.server, options);
    ASSERT_TRUE(node.Until([&] { return node.tier.ready(); }));
    Object object;
    object.payload = Bytes::Of("payload");
    const auto put = node.tier.Put(track_, object, 17, Now());
    ASSERT_TRUE(put.ok());
    node.tier.Flush(Now());
    ASSERT_TRUE(node.Until([&] { return node.written.contains(*put); }));
    key_ = node.tier.packs().packs.begin()->second.key;
    raw_ = *S3Bucket::Open(flag_.server);
  }

  S3FaultServer server_;
  BucketFlag flag_;
  const TrackName track_ = *TrackName::Of(*TrackNamespace::Of({"service"}), "track");
  std::string key_;
  std::unique_ptr<S3Bucket> raw_;
};

TEST_F(RestingBucketTest, VerifySaysWhatAPackCostsThatCannotBeRead) {
  const auto bucket = RestingBucket::Open(flag_);
  ASSERT_TRUE(bucket.ok()) << bucket.error().ToString();
  ASSERT_FALSE(S3Ask(*raw_, S3Request(BucketRequest::Kind::kDelete, key_)).error.has_value());
  const auto verdict = (*bucket)->Verify([](uint64_t, uint64_t) {});
  ASSERT_TRUE(verdict.ok());
  ASSERT_EQ(verdict->damage.size(), 1u);
  EXPECT_TRUE(verdict->damage[0].what.starts_with("cannot be read: "));
  EXPECT_EQ(verdict->unlisted, 1u);
}

// Whoever lists it is told that there may be more, whoever verifies it what there is.
TEST_F(RestingBucketTest, APackThatCameDamagedIsNamedAndVerifiedAllTheSame) {
  std::string pack = server_.objects().begin()->second;
  pack.back() = static_cast<char>(pack.back() ^ 1);
  ASSERT_FALSE(S3Ask(*raw_, S3Put(key_, pack)).error.has_value());
  const auto bucket = RestingBucket::Open(flag_);
  ASSERT_TRUE(bucket.ok()) << bucket.error().ToString();
  ASSERT_EQ((*bucket)->Unlisted().size(), 1u);
  EXPECT_EQ((*bucket)->Unlisted()[0].file, key_);
  EXPECT_TRUE((*bucket)->Read(track_, {0, 0}).ok());
  const auto verdict = (*bucket)->Verify([](uint64_t, uint64_t) {});
  ASSERT_TRUE(verdict.ok());
  EXPECT_EQ(verdict->unlisted, 0u);
  EXPECT_EQ(verdict->records, 1u);
  EXPECT_TRUE(verdict->losses.empty());
  for (const StoreDamage& damage : verdict->damage) {
    EXPECT_NE(damage.offset, 0u) << damage.what;
  }
}

// Else what is listed would be taken for all that there is.
TEST_F(RestingBucketTest, WhatListsABucketSaysByItsStatusThatAPackCouldNotBeRead) {
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  const std::string keys = (scratch.path() / "keys").string();
  ASSERT_TRUE(WriteFileAtomically(keys, AsBytes("[default]\naws_access_key_id = access\n"
                                                "aws_secret_access_key = secret\n"))
                  .ok());
  const std::string where =
      "s3://packs/kv,endpoint=" + server_.endpoint() + ",style=path,credentials=" + keys;
  EXPECT_EQ(RunKvcast({"store", "stat", where.c_str()}).status, kExitOk);
  std::string pack = server_.objects().begin()->second;
  pack.back() = static_cast<char>(pack.back() ^ 1);
  ASSERT_FALSE(S3Ask(*raw_, S3Put(key_, pack)).error.has_value());
  for (const char* command : {"ls", "stat"}) {
    const CommandOutcome outcome = RunKvcast({"store", command, where.c_str()});
    EXPECT_EQ(outcome.status, kExitFailed) << command;
    EXPECT_NE(outcome.err.find(key_ + " is left out"), std::string::npos) << outcome.err;
  }
}

}  // namespace
}  // namespace kvcast
