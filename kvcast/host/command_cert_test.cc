#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "kvcast/base/json.h"
#include "kvcast/host/command.h"
#include "kvcast/host/command_outcome_test.h"
#include "kvcast/io/certificate.h"
#include "kvcast/io/file.h"
#include "kvcast/io/scratch_directory.h"

namespace kvcast {
namespace {

class CertCommandTest : public testing::Test {
 protected:
  CommandOutcome Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "cert");
    std::vector<const char*> words;
    for (const std::string& argument : arguments) {
      words.push_back(argument.c_str());
    }
    return RunKvcast(words);
  }
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  std::string Text(const std::string& name) const { return *ReadFile(folder_ / name, 1 << 20); }
  CertificateFacts Facts(const std::string& name) const { return *ReadCertificate(Text(name)); }
  unsigned ModeOf(const std::string& name) const {
    struct stat status {};
    EXPECT_EQ(::stat(Path(name).c_str(), &status), 0) << name;
    return status.st_mode & 0777;
  }

  ScratchDirectory scratch_ = *ScratchDirectory::Make();
  std::filesystem::path folder_ = scratch_ / "certs";
};

TEST_F(CertCommandTest, AnAuthorityThenANodeThenAClient) {
  const CommandOutcome authority = Run({"authority", folder_});
  ASSERT_EQ(authority.status, kExitOk) << authority.err;
  EXPECT_TRUE(Facts("authority.pem").is_authority);
  EXPECT_EQ(ModeOf("authority.key"), 0600U);
  EXPECT_NE(authority.out.find("kvcast cert node " + folder_.string()), std::string::npos)
      << authority.out;

  const CommandOutcome node =
      Run({"node", folder_, "--name", "node7.example", "--name", "192.0.2.7"});
  ASSERT_EQ(node.status, kExitOk) << node.err;
  const CertificateFacts facts = Facts("node7.example.pem");
  EXPECT_EQ(facts.hosts, (std::vector<std::string>{"node7.example", "192.0.2.7"}));
  EXPECT_EQ(facts.issuer, Facts("authority.pem").subject);
  EXPECT_EQ(ModeOf("node7.example.key"), 0600U);
  for (const std::string& part :
       {facts.fingerprint.ToHex(), "--cert " + Path("node7.example.pem"),
        "--key " + Path("node7.example.key"), "--node-ca " + Path("authority.pem")}) {
    EXPECT_NE(node.out.find(part), std::string::npos) << part << " in " << node.out;
  }

  const CommandOutcome client = Run({"client", folder_, "--name", "engine-3"});
  ASSERT_EQ(client.status, kExitOk) << client.err;
  EXPECT_FALSE(Facts("engine-3.pem").for_servers);
  EXPECT_NE(client.out.find("--client-ca " + Path("authority.pem")), std::string::npos);
}

TEST_F(CertCommandTest, NothingIsOverwrittenUnlessAsked) {
  ASSERT_EQ(Run({"authority", folder_}).status, kExitOk);
  const std::string before = Text("authority.pem") + Text("authority.key");
  const CommandOutcome again = Run({"authority", folder_});
  EXPECT_EQ(again.status, kExitFailed);
  EXPECT_NE(again.err.find("--replace"), std::string::npos) << again.err;
  EXPECT_EQ(Text("authority.pem") + Text("authority.key"), before);

  ASSERT_EQ(Run({"node", folder_, "--name", "a"}).status, kExitOk);
  ASSERT_TRUE(std::filesystem::remove(folder_ / "a.pem"));
  EXPECT_EQ(Run({"node", folder_, "--name", "a"}).status, kExitFailed);  // Its key is there.
  EXPECT_EQ(Run({"node", folder_, "--name", "a", "--replace"}).status, kExitOk);

  EXPECT_EQ(Run({"authority", folder_, "--replace"}).status, kExitOk);
  EXPECT_NE(Text("authority.pem") + Text("authority.key"), before);
}

TEST_F(CertCommandTest, ANodeNeedsAnAuthorityAndANameThatCanBe) {
  const CommandOutcome early = Run({"node", folder_, "--name", "a"});
  EXPECT_EQ(early.status, kExitFailed);
  EXPECT_NE(early.err.find("kvcast cert authority"), std::string::npos) << early.err;
  ASSERT_EQ(Run({"authority", folder_}).status, kExitOk);
  EXPECT_EQ(Run({"node", folder_}).status, kExitUsage);
  EXPECT_EQ(Run({"node", folder_, "--name", "a:4433"}).status, kExitUsage);
  EXPECT_EQ(Run({"node", folder_, "--name", "authority"}).status, kExitFailed);
  EXPECT_EQ(Run({"node", folder_, "--name", "a", "--days", "0"}).status, kExitUsage);
}

TEST_F(CertCommandTest, OnlyAnAuthoritySigns) {
  ASSERT_EQ(Run({"authority", folder_}).status, kExitOk);
  ASSERT_EQ(Run({"node", folder_, "--name", "a"}).status, kExitOk);
  std::filesystem::rename(folder_ / "a.pem", folder_ / "authority.pem");
  const CommandOutcome outcome = Run({"node", folder_, "--name", "b"});
  EXPECT_EQ(outcome.status, kExitFailed);
  EXPECT_NE(outcome.err.find("no authority's"), std::string::npos) << outcome.err;
}

// A name is not a way out of the folder.
TEST_F(CertCommandTest, FilesStayInTheFolder) {
  ASSERT_EQ(Run({"authority", folder_}).status, kExitOk);
  ASSERT_EQ(Run({"client", folder_, "--name", "../out"}).status, kExitOk);
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "out.pem"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "_.._out.pem"));
}

TEST_F(CertCommandTest, ANodeDoesNotOutliveItsAuthority) {
  ASSERT_EQ(Run({"authority", folder_, "--days", "3"}).status, kExitOk);
  ASSERT_EQ(Run({"node", folder_, "--name", "a", "--days", "300"}).status, kExitOk);
  EXPECT_EQ(Facts("a.pem").until, Facts("authority.pem").until);
}

TEST_F(CertCommandTest, ShowSaysWhatACertificateIsFor) {
  ASSERT_EQ(Run({"authority", folder_, "--name", "lab"}).status, kExitOk);
  ASSERT_EQ(Run({"node", folder_, "--name", "a.example"}).status, kExitOk);
  const CommandOutcome shown = Run({"show", Path("a.example.pem")});
  ASSERT_EQ(shown.status, kExitOk) << shown.err;
  for (const char* part : {"CN=lab", "a.example", "servers and clients", "fingerprint"}) {
    EXPECT_NE(shown.out.find(part), std::string::npos) << part << " in " << shown.out;
  }
  const Json json = *ParseJson(Run({"show", Path("authority.pem"), "--json"}).out);
  EXPECT_EQ(json["authority"], true);
  EXPECT_EQ(json["fingerprint"], Facts("authority.pem").fingerprint.ToHex());
  const CommandOutcome absent = Run({"show", Path("absent.pem")});
  EXPECT_EQ(absent.status, kExitFailed);
  EXPECT_NE(absent.err.find("absent.pem"), std::string::npos) << absent.err;
}

TEST_F(CertCommandTest, SlipsAreAnsweredOneLevelDownToo) {
  const CommandOutcome part = Run({"nod"});
  EXPECT_EQ(part.status, kExitUsage);
  EXPECT_NE(part.err.find("Did you mean 'node'?"), std::string::npos) << part.err;
  const CommandOutcome option = Run({"authority", folder_, "--dayz", "3"});
  EXPECT_EQ(option.status, kExitUsage);
  EXPECT_NE(option.err.find("Did you mean '--days'?"), std::string::npos) << option.err;
  EXPECT_NE(option.err.find("kvcast cert authority --help"), std::string::npos) << option.err;
}

}  // namespace
}  // namespace kvcast
