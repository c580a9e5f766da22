#include "kvcast/io/s3_credentials.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "kvcast/io/scratch_directory.h"

namespace kvcast {
namespace {

constexpr std::string_view kText =
    "# mine\n[default]\naws_access_key_id = A\naws_secret_access_key=S = x\n\n[ci]\r\n"
    "aws_access_key_id=B\r\naws_secret_access_key=T\r\naws_session_token=U\r\nregion=x\n[empty]\n";

TEST(S3Credentials, AreFoundByProfile) {
  EXPECT_EQ(*ParseS3Credentials(kText, "default"), (S3Credentials{"A", "S = x", ""}));
  EXPECT_EQ(*ParseS3Credentials(kText, "ci"), (S3Credentials{"B", "T", "U"}));
  EXPECT_EQ(ParseS3Credentials(kText, "empty").error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(ParseS3Credentials(kText, "other").error().code(), ErrorCode::kNotFound);
}

TEST(S3Credentials, ComeFromConfigurationThenEnvironmentThenFile) {
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  const auto path = scratch.path() / "credentials";
  std::ofstream(path) << kText;
  S3CredentialSource source;
  source.file = path;
  source.profile = "ci";
  ::setenv("AWS_ACCESS_KEY_ID", "E", 1);
  ::setenv("AWS_SECRET_ACCESS_KEY", "F", 1);
  ::setenv("AWS_SESSION_TOKEN", "G", 1);
  EXPECT_EQ(*source.Find(), (S3Credentials{"E", "F", "G"}));
  source.configured = S3Credentials{"C", "D", ""};
  EXPECT_EQ(*source.Find(), *source.configured);
  ::unsetenv("AWS_ACCESS_KEY_ID");
  ::unsetenv("AWS_SECRET_ACCESS_KEY");
  ::unsetenv("AWS_SESSION_TOKEN");
  source.configured.reset();
  EXPECT_EQ(*source.Find(), (S3Credentials{"B", "T", "U"}));
  source.file = scratch.path() / "absent";
  const std::string said = source.Find().error().message();
  EXPECT_NE(said.find("AWS_ACCESS_KEY_ID"), std::string::npos);
  EXPECT_NE(said.find("credentials=FILE"), std::string::npos);
  EXPECT_EQ(said.find("configuration"), std::string::npos) << "keys never stand there";
}

}  // namespace
}  // namespace kvcast
