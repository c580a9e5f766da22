#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "kvcast/base/bytes.h"
#include "kvcast/base/json.h"
#include "kvcast/host/command.h"
#include "kvcast/host/command_outcome_test.h"
#include "kvcast/io/file.h"
#include "kvcast/io/scratch_directory.h"

namespace kvcast {
namespace {

// The lines that say something.
std::string WithoutComments(const std::string& text) {
  std::string lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    if (text[at] != '#' && end > at) {
      lines += text.substr(at, end - at + 1);
    }
    at = end + 1;
  }
  return lines;
}

TEST(ConfigCommand, PrintsAFileThatSaysTheSame) {
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  const std::string file = (scratch / "node.toml").string();
  const CommandOutcome first = RunKvcast({"config", "--ram", "512MiB", "--disk", "/a,bytes=1GiB",
                                          "--no-prefault", "--reserve", "acme=1MiB"});
  ASSERT_EQ(first.status, kExitOk) << first.err;
  EXPECT_NE(first.out.find("# From --ram.\nram = \"512MiB\"\n"), std::string::npos) << first.out;
  ASSERT_TRUE(WriteFileAtomically(file, AsBytes(first.out)).ok());
  const CommandOutcome again = RunKvcast({"config", "--config", file.c_str()});
  EXPECT_EQ(again.status, kExitOk) << again.err;
  EXPECT_EQ(WithoutComments(again.out), WithoutComments(first.out));
}

TEST(ConfigCommand, TellsProgramsEveryKeyAndWhoHasSetIt) {
  const CommandOutcome outcome =
      RunKvcast({"config", "--json", "--ram", "512MiB", "--disk", "/a,bytes=1GiB", "--no-prefault",
                 "--reserve", "acme=1MiB"});
  ASSERT_EQ(outcome.status, kExitOk) << outcome.err;
  const Json json = *ParseJson(outcome.out);
  EXPECT_EQ(json["memory"]["ram"], "512MiB");
  EXPECT_EQ(json["origins"]["memory.ram"], "--ram");
  EXPECT_EQ(json["memory"]["prefault"], false);
  EXPECT_EQ(json["disk"], Json::array({{{"directory", "/a"}, {"bytes", "1GiB"}}}));
  EXPECT_EQ(json["bucket"], Json::array());
  EXPECT_EQ(json["reserve.memory"]["acme"], "1MiB");
  EXPECT_TRUE(json["limits"].is_object());
}

TEST(ConfigCommand, ShowsNoKeyOfABucketAndTakesNoneTyped) {
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  const std::string file = (scratch / "node.toml").string();
  ASSERT_TRUE(WriteFileAtomically(file, AsBytes("[[bucket]]\nurl = \"s3://caches\"\n"
                                                "access_key = \"AKIA1\"\n"
                                                "secret_key = \"hush\"\n"))
                  .ok());
  const CommandOutcome text = RunKvcast({"config", "--config", file.c_str()});
  const CommandOutcome json = RunKvcast({"config", "--json", "--config", file.c_str()});
  for (const CommandOutcome& shown : {text, json}) {
    ASSERT_EQ(shown.status, kExitOk) << shown.err;
    EXPECT_EQ(shown.out.find("hush"), std::string::npos) << shown.out;
    EXPECT_EQ(shown.out.find("AKIA1"), std::string::npos) << shown.out;
  }
  EXPECT_NE(text.out.find("# secret_key is said there"), std::string::npos) << text.out;
  const Json bucket = (*ParseJson(json.out))["bucket"][0];
  EXPECT_TRUE(bucket.contains("secret_key"));
  EXPECT_TRUE(bucket["secret_key"].is_null());
  const CommandOutcome typed = RunKvcast({"config", "--bucket", "s3://caches,secret_key=hush"});
  EXPECT_EQ(typed.status, kExitUsage);
  EXPECT_NE(typed.err.find("secret_key is not typed"), std::string::npos) << typed.err;
  EXPECT_EQ(typed.err.find("hush"), std::string::npos) << typed.err;
}

TEST(ConfigCommand, FlagsHaveTheLastWord) {
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  const std::string file = (scratch / "node.toml").string();
  ASSERT_TRUE(
      WriteFileAtomically(file, AsBytes("[memory]\nram = \"1GiB\"\n[[disk]]\ndirectory = \"/a\"\n"))
          .ok());
  const CommandOutcome outcome =
      RunKvcast({"config", "--config", file.c_str(), "--ram", "2GiB", "--disk", "/b"});
  EXPECT_NE(outcome.out.find("ram = \"2GiB\""), std::string::npos);
  EXPECT_NE(outcome.out.find("directory = \"/b\""), std::string::npos);
  EXPECT_EQ(outcome.out.find("directory = \"/a\""), std::string::npos);
  const CommandOutcome from_file = RunKvcast({"config", "--config", file.c_str()});
  EXPECT_NE(from_file.out.find("# From " + file + ":2.\nram = "), std::string::npos)
      << from_file.out;
}

TEST(ConfigCommand, SaysWhatIsWrongWithAFile) {
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  const std::string file = (scratch / "node.toml").string();
  ASSERT_TRUE(WriteFileAtomically(file, AsBytes("[memory]\nrma = 5\n")).ok());
  for (const char* command : {"config", "serve"}) {
    const CommandOutcome outcome = RunKvcast({command, "--config", file.c_str()});
    EXPECT_EQ(outcome.status, kExitUsage);
    EXPECT_NE(outcome.err.find(file + ":2: There is no 'rma'"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("'ram'"), std::string::npos) << outcome.err;
  }
  const CommandOutcome absent = RunKvcast({"config", "--config", "absent.toml"});
  EXPECT_NE(absent.status, kExitOk);
  EXPECT_NE(absent.err.find("absent.toml"), std::string::npos) << absent.err;
}

}  // namespace
}  // namespace kvcast
