#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "kvcast/host/command.h"
#include "kvcast/host/command_outcome_test.h"
#include "kvcast/host/environment_variable_test.h"
#include "kvcast/host/local_node_test.h"

namespace kvcast {
namespace {

std::string Url(const LocalNode& node) { return "moqt://" + node.flag(); }

TEST(InteropCommand, ListsItsTests) {
  const CommandOutcome outcome = RunKvcast({"interop", "--list"});
  EXPECT_EQ(outcome.status, kExitOk);
  EXPECT_EQ(outcome.out,
            "setup-only\nannounce-only\npublish-namespace-done\nsubscribe-error\n"
            "announce-subscribe\nsubscribe-before-announce\n");
}

TEST(InteropCommand, ATestThatPassesIsOk) {
  const LocalNode node;
  const std::string url = Url(node);
  for (const char* test : {"setup-only", "subscribe-error"}) {
    const CommandOutcome outcome = RunKvcast({"interop", "-r", url.c_str(), "-t", test});
    EXPECT_EQ(outcome.status, kExitOk) << outcome.out;
    EXPECT_EQ(outcome.out.rfind("TAP version 14\n", 0), 0U) << outcome.out;
    EXPECT_NE(outcome.out.find("\n1..1\nok 1 - " + std::string(test) + "\n  ---\n"),
              std::string::npos)
        << outcome.out;
    EXPECT_NE(outcome.out.find("\n  connection_id: "), std::string::npos) << outcome.out;
  }
}

TEST(InteropCommand, ARelayThatIsNotThereFails) {
  const CommandOutcome outcome = RunKvcast(
      {"interop", "-r", "moqt://127.0.0.1:9", "-t", "setup-only", "--tls-disable-verify"});
  EXPECT_EQ(outcome.status, kExitFailed);
  EXPECT_NE(outcome.out.find("not ok 1 - setup-only"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("  message: "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.err.find("warning: the relay's certificate is not checked"), std::string::npos);
}

TEST(InteropCommand, WhatCannotBeTriedHasFailedInTheReportToo) {
  for (const char* url : {"moqt://", "nowhere"}) {
    const CommandOutcome outcome = RunKvcast({"interop", "-r", url});
    EXPECT_EQ(outcome.status, kExitFailed);
    EXPECT_NE(outcome.out.find("\n1..6\nnot ok 1 - setup-only\n"), std::string::npos)
        << outcome.out;
    EXPECT_NE(outcome.out.find("  message: "), std::string::npos) << outcome.out;
  }
}

TEST(InteropCommand, ACommandLineThatIsNotUnderstoodHasAStatusThatRunnersKnow) {
  EXPECT_EQ(RunKvcast({"interop", "--no-such-option"}).status, kExitFailed);
  EXPECT_EQ(RunKvcast({"interop", "stray"}).status, kExitFailed);
}

TEST(InteropCommand, APinnedCertificateIsNotToBeIgnored) {
  const LocalNode node;
  const std::string url = Url(node);
  const CommandOutcome outcome =
      RunKvcast({"interop", "-r", url.c_str(), "-t", "setup-only", "--tls-disable-verify"});
  EXPECT_EQ(outcome.status, kExitFailed);
  EXPECT_NE(outcome.out.find("not ok 1 - setup-only"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.err.find("choose"), std::string::npos) << outcome.err;
}

TEST(InteropCommand, WhatIsNotSupportedIsSkippedAndSaid) {
  const CommandOutcome web = RunKvcast({"interop", "-r", "https://localhost:4443/moq"});
  EXPECT_EQ(web.status, 127);
  EXPECT_NE(web.out.find("\n1..6\nok 1 - setup-only # SKIP "), std::string::npos) << web.out;
  EXPECT_NE(web.out.find("WebTransport"), std::string::npos) << web.out;
  const CommandOutcome test = RunKvcast({"interop", "-t", "join-mid-group"});
  EXPECT_EQ(test.status, 127);
  EXPECT_NE(test.out.find("\n1..1\nok 1 - join-mid-group # SKIP "), std::string::npos) << test.out;
}

TEST(InteropCommand, TheEnvironmentStandsForOptionsThatAreNotGiven) {
  const LocalNode node;
  const EnvironmentVariable relay("RELAY_URL", "moqt://" + node.address().host_and_port);
  const EnvironmentVariable test("TESTCASE", "setup-only");
  EXPECT_EQ(RunKvcast({"interop"}).status, kExitFailed);  // Its certificate is checked.
  const EnvironmentVariable verify("TLS_DISABLE_VERIFY", "1");
  const EnvironmentVariable verbose("VERBOSE", "1");
  const CommandOutcome outcome = RunKvcast({"interop"});
  EXPECT_EQ(outcome.status, kExitOk) << outcome.out;
  EXPECT_NE(outcome.out.find("ok 1 - setup-only"), std::string::npos);
  EXPECT_NE(outcome.err.find("running setup-only"), std::string::npos);
  const CommandOutcome given = RunKvcast({"interop", "--test", "subscribe-error"});
  EXPECT_NE(given.out.find("ok 1 - subscribe-error"), std::string::npos) << given.out;
}

}  // namespace
}  // namespace kvcast
