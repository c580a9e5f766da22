#include "kvcast/host/bucket_flag.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace kvcast {
namespace {

class BucketFlagTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name :
         {"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"}) {
      unsetenv(name);
    }
  }
};

TEST_F(BucketFlagTest, ABucketAloneIsAmazons) {
  const BucketFlag flag = *BucketFlag::Parse("s3://caches");
  EXPECT_EQ(flag.server.bucket, "caches");
  EXPECT_EQ(flag.prefix, "");
  EXPECT_EQ(flag.server.endpoint, "https://s3.us-east-1.amazonaws.com");
  EXPECT_EQ(flag.server.region, "us-east-1");
  EXPECT_FALSE(flag.server.path_style);
  EXPECT_FALSE(flag.bytes.has_value());
  EXPECT_EQ(flag.admission, "all");
  EXPECT_EQ(flag.patience, std::chrono::seconds(2));
  EXPECT_TRUE(flag.server.credentials.environment);
}

TEST_F(BucketFlagTest, EverythingCanBeSaid) {
  const BucketFlag flag = *BucketFlag::Parse(
      "s3://caches/a/b/,endpoint=http://"
      "localhost:9000,region=eu-central-1,style=host,bytes=1TiB,"
      "admit=second,patience=500ms,credentials=/etc/keys,profile=kvcast,ca=/etc/ca.pem");
  EXPECT_EQ(flag.prefix, "a/b");
  EXPECT_EQ(flag.ToString(), "s3://caches/a/b");
  EXPECT_EQ(flag.server.endpoint, "http://localhost:9000");
  EXPECT_EQ(flag.server.region, "eu-central-1");
  EXPECT_FALSE(flag.server.path_style);
  EXPECT_EQ(flag.bytes, uint64_t{1} << 40);
  EXPECT_EQ(flag.admission, "second");
  EXPECT_EQ(flag.patience, std::chrono::milliseconds(500));
  EXPECT_EQ(flag.server.credentials.file, "/etc/keys");
  EXPECT_EQ(flag.server.credentials.profile, "kvcast");
  EXPECT_FALSE(flag.server.credentials.environment);
  EXPECT_EQ(flag.server.ca_file, "/etc/ca.pem");
}

// Names in a server's own domain are seldom there for each bucket.
TEST_F(BucketFlagTest, AServerOfOnesOwnIsAskedByPath) {
  EXPECT_TRUE(BucketFlag::Parse("s3://b,endpoint=http://localhost:9000")->server.path_style);
}

TEST_F(BucketFlagTest, KeysComeFromAConfigurationAndAreNeverTyped) {
  using Words = std::vector<std::pair<std::string, std::string>>;
  const Words all = {{"access_key", "AK"}, {"secret_key", "S,=K"}, {"session_token", "T"}};
  const auto flag = BucketFlag::Of(SaidWords("s3://b", all));
  ASSERT_TRUE(flag.ok()) << flag.error().ToString();
  EXPECT_EQ(flag->server.credentials.configured, (S3Credentials{"AK", "S,=K", "T"}));
  for (const Words& wrong :
       {Words{{"access_key", "AK"}}, Words{{"secret_key", "SECRET"}},
        Words{{"access_key", "AK"}, {"secret_key", "SECRET"}, {"credentials", "FILE"}}}) {
    const auto refused = BucketFlag::Of(SaidWords("s3://b", wrong));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().ToString().find("SECRET"), std::string::npos);
  }
  const auto typed = BucketFlag::Parse("s3://b,access_key=AK,secret_key=SECRET");
  ASSERT_FALSE(typed.ok());
  EXPECT_NE(typed.error().ToString().find("not typed"), std::string::npos);
  EXPECT_EQ(typed.error().ToString().find("SECRET"), std::string::npos);
}

TEST_F(BucketFlagTest, AmazonsRegionsInChinaHaveADomainOfTheirOwn) {
  EXPECT_EQ(BucketFlag::Parse("s3://b,region=cn-north-1")->server.endpoint,
            "https://s3.cn-north-1.amazonaws.com.cn");
  EXPECT_EQ(BucketFlag::Parse("s3://b,region=ca-central-1")->server.endpoint,
            "https://s3.ca-central-1.amazonaws.com");
}

TEST_F(BucketFlagTest, WhatIsNotSaidComesFromTheEnvironment) {
  setenv("AWS_DEFAULT_REGION", "us-west-2", 1);
  EXPECT_EQ(BucketFlag::Parse("s3://b")->server.endpoint, "https://s3.us-west-2.amazonaws.com");
  setenv("AWS_REGION", "eu-west-1", 1);
  setenv("AWS_ENDPOINT_URL", "http://localhost:1", 1);
  EXPECT_EQ(BucketFlag::Parse("s3://b")->server.region, "eu-west-1");
  EXPECT_EQ(BucketFlag::Parse("s3://b")->server.endpoint, "http://localhost:1");
  setenv("AWS_ENDPOINT_URL_S3", "http://localhost:2", 1);
  EXPECT_EQ(BucketFlag::Parse("s3://b")->server.endpoint, "http://localhost:2");
  EXPECT_EQ(BucketFlag::Parse("s3://b,endpoint=http://localhost:3")->server.endpoint,
            "http://localhost:3");
}

TEST_F(BucketFlagTest, WhatSaysNothingIsRefusedAndNamed) {
  for (const char* text : {"s3://", "s3:///prefix", "b", "s3://b,style=round", "s3://b,bytes=many",
                           "s3://b,admit=none", "s3://b,patience=2", "s3://b,patience=0s",
                           "s3://b,patience=31s", "s3://b,colour=red", "s3://b,",
                           "s3://b,region=", "s3://b/..", "s3://b/a/../c", "s3://b/./a"}) {
    const auto flag = BucketFlag::Parse(text);
    ASSERT_FALSE(flag.ok()) << text;
    EXPECT_EQ(flag.error().code(), ErrorCode::kInvalid);
    EXPECT_NE(flag.error().message().find("s3://BUCKET"), std::string::npos);
  }
  EXPECT_NE(BucketFlag::Parse("s3://b,style=round").error().message().find("style=round"),
            std::string::npos);
}

}  // namespace
}  // namespace kvcast
