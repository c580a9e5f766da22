#include "kvcast/host/command_line.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "kvcast/base/json.h"
#include "kvcast/host/command.h"
#include "kvcast/host/command_outcome_test.h"

namespace kvcast {
namespace {

TEST(CommandLine, HelpTeaches) {
  const CommandOutcome help = RunKvcast({"--help"});
  EXPECT_EQ(help.status, kExitOk);
  EXPECT_EQ(help.err, "");
  for (const char* part : {"KV caches", "This machine:", "kvcast doctor", "kvcast version",
                           "docs/README.md", "Exit status"}) {
    EXPECT_NE(help.out.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(RunKvcast({"help"}).out, help.out);
}

TEST(CommandLine, EveryCommandHasHelpWithAnExample) {
  for (const char* command : {"serve", "doctor", "version"}) {
    const CommandOutcome help = RunKvcast({command, "--help"});
    EXPECT_EQ(help.status, kExitOk);
    EXPECT_NE(help.out.find("Examples:\n  kvcast "), std::string::npos) << command;
    EXPECT_EQ(RunKvcast({"help", command}).out, help.out);
  }
}

// Somebody who types the name alone wants to know what to type next.
TEST(CommandLine, WithoutArgumentsShowsHelpAndFails) {
  const CommandOutcome outcome = RunKvcast({});
  EXPECT_EQ(outcome.status, kExitUsage);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, RunKvcast({"--help"}).out);
}

TEST(CommandLine, SuggestsTheCommandThatWasMeant) {
  const CommandOutcome outcome = RunKvcast({"docter"});
  EXPECT_EQ(outcome.status, kExitUsage);
  EXPECT_EQ(outcome.err,
            "kvcast: There is no command 'docter'. Did you mean 'doctor'? 'kvcast --help' lists "
            "them.\n");
  EXPECT_EQ(RunKvcast({"publish"}).err,
            "kvcast: There is no command 'publish'. 'kvcast --help' lists them.\n");
}

TEST(CommandLine, SuggestsTheOptionThatWasMeant) {
  const CommandOutcome outcome = RunKvcast({"version", "--hepl"});
  EXPECT_EQ(outcome.status, kExitUsage);
  EXPECT_EQ(outcome.err,
            "kvcast: 'kvcast version' does not take '--hepl'. Did you mean '--help'? See 'kvcast "
            "version --help'.\n");
  EXPECT_EQ(RunKvcast({"--versoin"}).err,
            "kvcast: 'kvcast' does not take '--versoin'. Did you mean '--version'? See 'kvcast "
            "--help'.\n");
}

TEST(CommandLine, PrintsTheVersionAlone) {
  const CommandOutcome outcome = RunKvcast({"--version"});
  EXPECT_EQ(outcome.status, kExitOk);
  EXPECT_EQ(outcome.out.find("kvcast "), 0u);
  EXPECT_EQ(outcome.out.find('\n'), outcome.out.size() - 1);
}

TEST(VersionCommand, NamesWhatAReportOfAProblemNeeds) {
  const CommandOutcome outcome = RunKvcast({"version"});
  EXPECT_EQ(outcome.status, kExitOk);
  EXPECT_EQ(outcome.out.find(RunKvcast({"--version"}).out), 0u);
  for (const char* part : {"build", "ngtcp2", "GnuTLS", "liburing"}) {
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part;
  }
}

TEST(VersionCommand, TellsProgramsTheSame) {
  const CommandOutcome outcome = RunKvcast({"version", "--json"});
  EXPECT_EQ(outcome.status, kExitOk) << outcome.err;
  const Json json = *ParseJson(outcome.out);
  EXPECT_EQ("kvcast " + json["version"].get<std::string>() + "\n", RunKvcast({"--version"}).out);
  EXPECT_FALSE(json["compiler"].get<std::string>().empty());
  EXPECT_FALSE(json["libraries"][0]["version"].get<std::string>().empty());
}

}  // namespace
}  // namespace kvcast
