// Tokens, from the command that makes them to the node that takes them.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <string>

#include "kvcast/base/json.h"
#include "kvcast/host/command.h"
#include "kvcast/host/command_outcome_test.h"
#include "kvcast/host/local_node_test.h"
#include "kvcast/host/token_file.h"
#include "kvcast/io/file.h"
#include "kvcast/io/scratch_directory.h"

namespace kvcast {
namespace {

class TokenCommandTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return (scratch_ / name).string(); }
  // Makes one for a tenant, kept in files, and returns where the token is.
  std::string Make(const std::string& tenant, const std::string& may = "publish,read") {
    const std::string out = Path(tenant + ".token");
    const std::string tokens = Path("tokens");
    const CommandOutcome made =
        RunKvcast({"token", "new", "--tenant", tenant.c_str(), "--may", may.c_str(), "--tokens",
                   tokens.c_str(), "--out", out.c_str()});
    EXPECT_EQ(made.status, kExitOk) << made.err;
    EXPECT_EQ(made.out.find(*ReadToken(out)), std::string::npos) << made.out;
    return out;
  }

  ScratchDirectory scratch_ = *ScratchDirectory::Make();
};

TEST_F(TokenCommandTest, ShowsATokenOnceAndTheLineForTheNode) {
  const CommandOutcome made =
      RunKvcast({"token", "new", "--tenant", "acme", "--may", "read", "--expires", "30d"});
  ASSERT_EQ(made.status, kExitOk) << made.err;
  const size_t token = made.out.find("kvcast_");
  ASSERT_NE(token, std::string::npos) << made.out;
  const size_t line = made.out.find("{\"token\"");
  ASSERT_NE(line, std::string::npos) << made.out;
  const TokenFile file = *TokenFile::Parse(made.out.substr(line));
  const relay::TokenTable::Entry* const entry = file.tokens.Find(made.out.substr(token, 71));
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->grant.may, relay::Grant::kRead);
  EXPECT_TRUE(entry->grant.until_us.has_value());
}

TEST_F(TokenCommandTest, TellsProgramsTheTokenUnlessItIsInAFile) {
  const Json shown = *ParseJson(RunKvcast({"token", "new", "--tenant", "acme", "--json"}).out);
  const TokenFile file = *TokenFile::Parse(shown["line"].get<std::string>());
  EXPECT_NE(file.tokens.Find(shown["token"].get<std::string>()), nullptr);
  EXPECT_TRUE(shown["token_file"].is_null());
  EXPECT_TRUE(shown["tokens_file"].is_null());

  const std::string out = Path("t");
  const std::string tokens = Path("tokens");
  const CommandOutcome kept = RunKvcast({"token", "new", "--tenant", "acme", "--out", out.c_str(),
                                         "--tokens", tokens.c_str(), "--json"});
  const Json told = *ParseJson(kept.out);
  EXPECT_TRUE(told["token"].is_null());
  EXPECT_EQ(told["token_file"], out);
  EXPECT_EQ(told["tokens_file"], tokens);
  EXPECT_EQ(kept.out.find(*ReadToken(out)), std::string::npos);
}

TEST_F(TokenCommandTest, KeepsATokenForItsOwnerAlone) {
  const std::string out = Make("acme");
  struct stat status {};
  ASSERT_EQ(::stat(out.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  Make("globex");
  EXPECT_EQ(TokenFile::Read(Path("tokens"))->tokens.size(), 2u);
}

TEST_F(TokenCommandTest, RefusesWhatCannotBe) {
  for (const std::vector<const char*>& wrong : std::vector<std::vector<const char*>>{
           {"token", "new"},
           {"token", "new", "--tenant", "Acme"},
           {"token", "new", "--tenant", "acme", "--may", "everything"},
           {"token", "new", "--tenant", "acme", "--expires", "soon"}}) {
    EXPECT_NE(RunKvcast(wrong).status, kExitOk);
  }
}

TEST_F(TokenCommandTest, OpensANodeToItsHolderAndToNobodyElse) {
  const std::string plain = Make("_plain");
  const std::string acme = Make("acme");
  const LocalNode node(size_t{64} << 20, TokenFile::Read(Path("tokens"))->tokens);
  const std::string relay = node.flag();
  const auto list = [&](const char* prefix, std::vector<const char*> more) {
    std::vector<const char*> words = {"moq", "ls", relay.c_str(), prefix, "--timeout", "5"};
    words.insert(words.end(), more.begin(), more.end());
    return RunKvcast(words);
  };
  EXPECT_EQ(list("demo", {"--token-file", plain.c_str()}).status, kExitOk);
  const CommandOutcome nobody = list("demo", {});
  EXPECT_EQ(nobody.status, kExitFailed);
  EXPECT_NE(nobody.err.find("--token-file"), std::string::npos) << nobody.err;
  ASSERT_TRUE(WriteFileAtomically(Path("guess"), AsBytes("kvcast_guess\n")).ok());
  const std::string guess = Path("guess");
  const CommandOutcome guessed = list("demo", {"--token-file", guess.c_str()});
  EXPECT_EQ(guessed.status, kExitFailed);
  EXPECT_NE(guessed.err.find("does not know the token"), std::string::npos) << guessed.err;
  EXPECT_EQ(guessed.err.find("kvcast_guess"), std::string::npos) << guessed.err;
  // As if nothing were there.
  const CommandOutcome other = list("demo", {"--token-file", acme.c_str()});
  EXPECT_EQ(other.status, kExitOk) << other.err;
  EXPECT_EQ(other.out, list("demo", {"--token-file", plain.c_str()}).out);
}

}  // namespace
}  // namespace kvcast
