#include "kvcast/host/doctor_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "kvcast/base/json.h"
#include "kvcast/host/command.h"
#include "kvcast/host/command_outcome_test.h"
#include "kvcast/host/doctor.h"
#include "kvcast/host/text_layout.h"

namespace kvcast {
namespace {

const std::vector<Section> kSections = {
    {"Network",
     {{"UDP segmentation (GSO)", Verdict::kGood, "one call sends many", "It is fast."},
      {"Receive buffer",
       Verdict::kCouldBeBetter,
       "4 MiB of 8 MiB",
       "Bursts wait here.",
       "Raise it.",
       {"sysctl -w a=b"},
       {"echo 'a = b' >> c"}}}},
    {"Kernel", {{"io_uring", Verdict::kMissing, "refused", "Disks are slow.", "Allow it."}}},
};

MachineFacts SomeMachine() {
  MachineFacts facts;
  facts.system = "Linux 6.1 (x86_64)";
  facts.cpu->model = "Some Processor";
  facts.cpu->cores = 4;
  facts.memory->total_bytes = uint64_t{8} << 30;
  facts.libraries = {{"GnuTLS", "3.7.9", ""}};
  return facts;
}

TEST(DoctorReport, ListsAllAndThenWhatWouldHelp) {
  const std::string report = DoctorReport(SomeMachine(), kSections, /*coloured=*/false);
  EXPECT_EQ(report.substr(report.find(" on ")),
            " on Linux 6.1 (x86_64), Some Processor, 4 cores, 8 GiB\n"
            "with GnuTLS 3.7.9\n"
            "\n"
            "Network\n"
            "  good             UDP segmentation (GSO)  one call sends many\n"
            "  could be better  Receive buffer          4 MiB of 8 MiB\n"
            "\n"
            "Kernel\n"
            "  missing          io_uring                refused\n"
            "\n"
            "What would help\n"
            "\n"
            "  Kernel, io_uring: refused.\n"
            "    Disks are slow.\n"
            "    Allow it.\n"
            "\n"
            "  Network, Receive buffer: 4 MiB of 8 MiB.\n"
            "    Bursts wait here.\n"
            "    Raise it.\n"
            "      now:      sysctl -w a=b\n"
            "      for good: echo 'a = b' >> c\n"
            "\n"
            "2 things to improve; kvcast works as it is. Each is explained in "
            "docs/guides/doctor.md.\n");
}

TEST(DoctorReport, SaysSoWhenAllIsGood) {
  const std::vector<Section> good = {{"Network", {kSections[0].findings[0]}}};
  const std::string report = DoctorReport(SomeMachine(), good, /*coloured=*/false);
  EXPECT_EQ(report.find("What would help"), std::string::npos);
  EXPECT_NE(report.find("\nAll is good: there is nothing to do.\n"), std::string::npos);
}

TEST(DoctorReport, SaysSoWhenKvcastCannotWork) {
  const std::vector<Section> blocked = {
      {"Disk", {{"Disk", Verdict::kBlocking, "read-only.", "It must be written.", "Name one."}}}};
  const std::string report = DoctorReport(SomeMachine(), blocked, /*coloured=*/false);
  EXPECT_NE(report.find("kvcast cannot work like this"), std::string::npos);
  EXPECT_NE(report.find("  Disk: read-only.\n"), std::string::npos);
}

// What is copied out of a report must not carry a terminal's codes, unless it is on a terminal.
TEST(DoctorReport, IsColouredOnlyWhenAsked) {
  EXPECT_EQ(DoctorReport(SomeMachine(), kSections, false).find('\033'), std::string::npos);
  EXPECT_NE(DoctorReport(SomeMachine(), kSections, true).find("\033[33m"), std::string::npos);
}

TEST(DoctorJson, CarriesFindingsAndFacts) {
  const auto json = ParseJson(DoctorJson(SomeMachine(), kSections));
  ASSERT_TRUE(json.ok());
  EXPECT_EQ((*json)["usable"], true);
  EXPECT_EQ((*json)["findings"].size(), 3u);
  EXPECT_EQ((*json)["findings"][1]["verdict"], "could be better");
  EXPECT_EQ((*json)["findings"][1]["commands"][0], "sysctl -w a=b");
  EXPECT_EQ((*json)["facts"]["cpu"]["cores"], 4);
  EXPECT_TRUE((*json)["facts"]["disk"].is_null());
}

TEST(DoctorJson, SaysWhichProbeCouldNotRun) {
  MachineFacts facts = SomeMachine();
  facts.udp = Error(ErrorCode::kMachine, "refused");
  const auto json = ParseJson(DoctorJson(facts, kSections));
  ASSERT_TRUE(json.ok());
  EXPECT_EQ((*json)["facts"]["udp"]["error"], "refused");
}

TEST(DoctorCommand, ExaminesThisMachine) {
  const CommandOutcome outcome = RunKvcast({"doctor", "--skip-disk"});
  EXPECT_EQ(outcome.status, kExitOk) << outcome.out;
  EXPECT_EQ(outcome.err, "");
  EXPECT_NE(outcome.out.find("io_uring"), std::string::npos);
  EXPECT_EQ(outcome.out.find("Disk"), std::string::npos);
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(line.size() <= kTextColumns || line.starts_with("      ")) << line;
  }
}

TEST(DoctorCommand, PrintsJson) {
  const CommandOutcome outcome = RunKvcast({"doctor", "--skip-disk", "--json"});
  EXPECT_EQ(outcome.status, kExitOk);
  EXPECT_TRUE(ParseJson(outcome.out).ok());
}

// The one thing that was asked for does not work, and a script has to see it.
TEST(DoctorCommand, WantsADiskThatHasAName) {
  EXPECT_EQ(RunKvcast({"doctor", "--disk", ""}).status, 2);
}

TEST(DoctorCommand, FailsWhenTheNamedDiskCannotBeUsed) {
  const CommandOutcome outcome = RunKvcast({"doctor", "--disk", "/nonexistent/kvcast"});
  EXPECT_EQ(outcome.status, kExitFailed);
  EXPECT_EQ(outcome.err.find("kvcast: It cannot work on this machine."), 0u);
  EXPECT_NE(outcome.out.find("/nonexistent/kvcast"), std::string::npos);
}

TEST(DoctorCommand, RefusesOptionsThatContradict) {
  const CommandOutcome outcome = RunKvcast({"doctor", "--skip-disk", "--disk", "/tmp"});
  EXPECT_EQ(outcome.status, kExitUsage);
  EXPECT_EQ(outcome.err.find("kvcast: "), 0u);
}

}  // namespace
}  // namespace kvcast
