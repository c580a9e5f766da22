#include <gtest/gtest.h>
#include <pthread.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "kvcast/base/json.h"
#include "kvcast/host/command.h"
#include "kvcast/host/command_outcome_test.h"
#include "kvcast/host/local_node_test.h"
#include "kvcast/io/file.h"
#include "kvcast/io/scratch_directory.h"

namespace kvcast {
namespace {

// A short run of a small model, bounded by its requests and not by a clock.
CommandOutcome RunBenchOf(std::vector<std::string> words) {
  for (const char* word : {"--model", "tinylm", "--block-tokens", "16", "--prompt-tokens", "64",
                           "--system-tokens", "16", "--seconds", "300"}) {
    words.emplace_back(word);
  }
  std::vector<const char*> arguments = {"bench"};
  for (const std::string& word : words) {
    arguments.push_back(word.c_str());
  }
  return RunKvcast(std::move(arguments));
}

Json MeasuredBy(const CommandOutcome& outcome) {
  EXPECT_EQ(outcome.status, kExitOk) << outcome.err;
  const Result<Json> json = ParseJson(outcome.out);
  EXPECT_TRUE(json.ok()) << outcome.out;
  return json.ok() ? *json : Json();
}

// One engine of each kind, so that a prompt is published before its conversation goes on.
TEST(BenchCommand, LoadsWhatWasPublishedBeforeExactly) {
  const Json report = MeasuredBy(RunBenchOf(
      {"--ram", "64MiB", "--publishers", "1", "--readers", "1", "--requests", "150", "--json"}));
  ASSERT_EQ(report["measurements"].size(), 3U);
  EXPECT_GT(report["node_ram_bytes"], 0);
  for (const Json& each : report["measurements"]) {
    EXPECT_EQ(each["requests"], 150);
    EXPECT_EQ(each["blocks_wrong"], 0);
    EXPECT_EQ(each["blocks_failed"], 0);
    EXPECT_EQ(each["trouble"], "");
    EXPECT_GT(each["hit_ratio"], 0.1);
    EXPECT_LE(each["blocks_loaded"], each["blocks_seen_before"]);
    EXPECT_EQ(each["blocks_loaded"].get<int>() + each["blocks_computed"].get<int>(),
              each["blocks_asked"].get<int>());
    EXPECT_GT(each["blocks_published"], 0);
    EXPECT_GT(each["published_bytes_per_s"], 0);
    EXPECT_GT(each["load"]["count"], 0);
    EXPECT_GE(each["load"]["p99_s"], each["load"]["p50_s"]);
    EXPECT_GT(each["node_cpu_s_per_gb"], 0);
    EXPECT_GT(each["client_cpu_s_per_gb"], 0);
  }
  const Json& plain = report["measurements"][0];
  const Json& lossless = report["measurements"][1];
  EXPECT_EQ(plain["rungs"], Json({"BF16"}));
  EXPECT_TRUE(plain["error"].is_null());
  EXPECT_LT(lossless["published_wire_bytes_per_s"], lossless["published_bytes_per_s"]);
  EXPECT_LT(report["measurements"][2]["error"], 0.05);  // Int8.
}

TEST(BenchCommand, UsesTheNodeThatItIsToldOf) {
  const LocalNode node;
  const Json report = MeasuredBy(
      RunBenchOf({"--node", node.flag(), "--requests", "60", "--rung", "BF16-lossless", "--json"}));
  ASSERT_EQ(report["measurements"].size(), 1U);
  EXPECT_TRUE(report["node_ram_bytes"].is_null());
  EXPECT_TRUE(report["measurements"][0]["node_cpu_s_per_gb"].is_null());
  EXPECT_EQ(report["measurements"][0]["requests"], 60);
  EXPECT_GT(report["measurements"][0]["blocks_loaded"], 0);
  EXPECT_EQ(report["measurements"][0]["blocks_wrong"], 0);
}

TEST(BenchCommand, LetsLoadsChooseAmongRungsThatArePublishedTogether) {
  const Json report =
      MeasuredBy(RunBenchOf({"--ram", "64MiB", "--requests", "40", "--rung", "Int4", "--rung",
                             "BF16", "--together", "--deadline", "60000", "--json"}));
  ASSERT_EQ(report["measurements"].size(), 1U);
  const Json& measured = report["measurements"][0];
  EXPECT_EQ(measured["rungs"], Json({"BF16", "Int4"}));
  const Json& at = measured["blocks_loaded_at"];
  EXPECT_EQ(at["BF16"].get<int>() + at["Int4"].get<int>(), measured["blocks_loaded"].get<int>());
  EXPECT_GT(measured["blocks_loaded"], 0);
  EXPECT_EQ(measured["blocks_wrong"], 0);
}

// Rungs that need constants get them from what is published.
TEST(BenchCommand, MeasuresEveryRung) {
  std::vector<std::string> words = {"--ram", "64MiB",        "--requests", "12",    "--readers",
                                    "1",     "--publishers", "1",          "--json"};
  for (const char* rung : {"FP8", "FP4", "Int4", "AC", "KTC-fine", "KTC-medium", "KTC-coarse"}) {
    words.insert(words.end(), {"--rung", rung});
  }
  const Json report = MeasuredBy(RunBenchOf(words));
  ASSERT_EQ(report["measurements"].size(), 7U);
  for (const Json& each : report["measurements"]) {
    EXPECT_GT(each["blocks_loaded"], 0) << each;
    EXPECT_EQ(each["blocks_wrong"], 0) << each;
    EXPECT_LT(each["error"], 0.5) << each;
  }
}

TEST(BenchCommand, AsksForThePromptsOfATrace) {
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  const std::string trace = (scratch / "trace.jsonl").string();
  std::string lines;
  for (int i = 0; i < 20; ++i) {  // The first block of all of them is one.
    lines += "{\"hash_ids\": [0, " + std::to_string(i + 1) + "]}\n";
  }
  ASSERT_TRUE(WriteFileAtomically(trace, AsBytes(lines)).ok());
  const Json report =
      MeasuredBy(RunBenchOf({"--trace", trace, "--trace-tokens", "32", "--rung", "BF16", "--ram",
                             "64MiB", "--readers", "1", "--publishers", "1", "--json"}));
  const Json& measured = report["measurements"][0];
  EXPECT_EQ(measured["requests"], 20);
  EXPECT_EQ(measured["blocks_asked"], 80);
  EXPECT_EQ(measured["blocks_seen_before"], 38);
  EXPECT_GE(measured["blocks_loaded"], 30);  // All but the first few, which ran side by side.
  EXPECT_EQ(report["trace"], trace);
}

TEST(BenchCommand, RefusesATraceWhoseBlocksAreNoWholeNumberOfOurs) {
  const CommandOutcome outcome = RunBenchOf({"--trace", "t.jsonl", "--trace-tokens", "24"});
  EXPECT_EQ(outcome.status, kExitUsage);
  EXPECT_NE(outcome.err.find("24 tokens"), std::string::npos) << outcome.err;
}

TEST(BenchCommand, MeasuresPublishingAlone) {
  const CommandOutcome outcome =
      RunBenchOf({"--readers", "0", "--requests", "20", "--rung", "BF16", "--ram", "64MiB"});
  EXPECT_EQ(outcome.status, kExitOk) << outcome.err;
  EXPECT_NE(outcome.out.find("published, KV"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find("hit ratio"), std::string::npos) << outcome.out;
}

TEST(BenchCommand, PrintsATableForPeople) {
  const CommandOutcome outcome = RunBenchOf({"--requests", "30", "--ram", "64MiB"});
  EXPECT_EQ(outcome.status, kExitOk) << outcome.err;
  for (const char* part :
       {"the shape of tinylm: 6 layers, 2 KV heads of 64 values in BF16",
        "one of its own in this process, with 64 MiB", "BF16-lossless", "hit ratio", "find, p50",
        "load, p50", "publish, p50", "CPU of the node, s/GB", "blocks that were wrong"}) {
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << " in\n" << outcome.out;
  }
}

TEST(BenchCommand, SaysWhatToDoWhereItCannotWork) {
  EXPECT_EQ(RunBenchOf({"--rung", "FP16"}).status, kExitFailed);
  const CommandOutcome large = RunKvcast({"bench", "--model", "Llama-3-70B", "--readers", "256"});
  EXPECT_EQ(large.status, kExitFailed);
  EXPECT_NE(large.err.find("fewer --readers"), std::string::npos) << large.err;
  EXPECT_EQ(RunBenchOf({"--node", "127.0.0.1:1", "--ram", "64MiB"}).status, kExitUsage);
}

// The node goes while it is being measured: what was measured is told all the same.
TEST(BenchCommand, TellsWhatItHasWhenTheNodeIsLost) {
  LocalNode node;
  std::thread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    node.Stop();
  });
  const CommandOutcome outcome =
      RunBenchOf({"--node", node.flag(), "--requests", "20000", "--rung", "BF16", "--json"});
  killer.join();
  EXPECT_EQ(outcome.status, kExitFailed);
  EXPECT_NE(outcome.err.find("kvcast: node 127.0.0.1"), std::string::npos) << outcome.err;
}

// Ctrl-C, as this thread gets it.
TEST(BenchCommand, EndsWithItsReportWhenInterrupted) {
  sigset_t signals;
  sigset_t before;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &signals, &before);
  std::thread stopper([own = ::pthread_self()] {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    ::pthread_kill(own, SIGINT);  // NOLINT(bugprone-bad-signal-to-kill-thread)
  });
  const CommandOutcome outcome = RunBenchOf({"--requests", "20000", "--ram", "64MiB", "--json"});
  stopper.join();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  const Json report = MeasuredBy(outcome);
  EXPECT_EQ(report["interrupted"], true);
  EXPECT_EQ(report["measurements"].size(), 1U);
}

}  // namespace
}  // namespace kvcast
