#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "kvcast/base/json.h"
#include "kvcast/base/source_folder_test.h"
#include "kvcast/host/command.h"
#include "kvcast/host/command_outcome_test.h"
#include "kvcast/host/request_trace.h"
#include "kvcast/io/scratch_directory.h"

namespace kvcast {
namespace {

class StoreReplay : public testing::Test {
 protected:
  const char* Write(std::string_view text) {
    std::ofstream(file_) << text;
    return file_.c_str();
  }

  const ScratchDirectory scratch_ = *ScratchDirectory::Make();
  const std::filesystem::path file_ = scratch_ / "trace.jsonl";
};

// Two prompts by turns, with room for one of them.
constexpr std::string_view kTwoPrompts =
    "{\"timestamp\": 0, \"hash_ids\": [1, \"a\", 3]}\n"
    "{\"hash_ids\": [1, \"b\", 5], \"note\": {}}\r\n"
    "\n"
    "{\"hash_ids\": [1, \"a\", 3]}\n"
    "{\"hash_ids\": []}\n"
    "{\"hash_ids\": [1, \"b\", 5]}";

TEST_F(StoreReplay, TellsHitsByPolicyAndRoom) {
  const CommandOutcome outcome =
      RunKvcast({"store", "replay", Write(kTwoPrompts), "--capacity-percent", "60,100", "--policy",
                 "lru,oracle"});
  EXPECT_EQ(outcome.status, kExitOk) << outcome.err;
  EXPECT_NE(outcome.out.find("5 requests for 12 blocks, 5 of them distinct"), std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("policy      60 %   100 %\n"
                             "lru        25.00   58.33\n"
                             "oracle     41.67   58.33\n"),
            std::string::npos)
      << outcome.out;
}

TEST_F(StoreReplay, PrintsAListAsJson) {
  const CommandOutcome outcome = RunKvcast({"store", "replay", Write(kTwoPrompts), "--json",
                                            "--capacity-percent", "60", "--policy", "lru,default"});
  ASSERT_EQ(outcome.status, kExitOk) << outcome.err;
  const Json json = *ParseJson(outcome.out);
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[0]["policy"], "lru");
  EXPECT_EQ(json[0]["capacity_percent"], 60);
  EXPECT_EQ(json[0]["hit_percent"], 25.0);
  EXPECT_EQ(json[1]["policy"], "default");
  EXPECT_EQ(json[0].size(), 3u);
}

TEST_F(StoreReplay, ComparesThreePoliciesAtFiveSizesUnlessTold) {
  const CommandOutcome outcome = RunKvcast({"store", "replay", Write(kTwoPrompts), "--json"});
  ASSERT_EQ(outcome.status, kExitOk) << outcome.err;
  EXPECT_EQ(ParseJson(outcome.out)->size(), 15u);
}

TEST_F(StoreReplay, NamesFileAndLineOfWhatIsWrong) {
  const std::map<std::string, std::string> faults = {
      {"{\"hash_ids\": [1]}\n{\"hash_ids\": [1", "line 2: byte 15: "},
      {"\n\n[1, 2]\n", "line 3: A request is an object"},
      {"{\"ids\": [1]}", "line 1: "},
      {"{\"hash_ids\": 7}", "line 1: byte 1: "},
      {"{\"hash_ids\": [1, 2.5]}", "line 1: byte 17: A block's name is an integer or a string."},
      {"{\"hash_ids\": [1, null]}", "line 1: byte 17: "},
      {"", "no request"},
      {"{\"hash_ids\": []}\n", "no request"},
  };
  for (const auto& [text, fault] : faults) {
    const CommandOutcome outcome = RunKvcast({"store", "replay", Write(text)});
    EXPECT_EQ(outcome.status, kExitFailed) << text;
    EXPECT_NE(outcome.err.find(file_.string() + ": "), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find(fault), std::string::npos) << text << "\n" << outcome.err;
    EXPECT_EQ(outcome.out, "");
  }
}

TEST_F(StoreReplay, RefusesWhatMakesNoSense) {
  const char* const trace = Write(kTwoPrompts);
  EXPECT_EQ(RunKvcast({"store", "replay"}).status, kExitUsage);
  EXPECT_EQ(RunKvcast({"store"}).status, kExitUsage);
  EXPECT_EQ(RunKvcast({"store", "replay", trace, "--policy", "lru,best"}).status, kExitUsage);
  EXPECT_EQ(RunKvcast({"store", "replay", trace, "--capacity-percent", "0"}).status, kExitUsage);
  EXPECT_EQ(RunKvcast({"store", "replay", trace, "--capacity-percent", "101"}).status, kExitUsage);
  EXPECT_EQ(RunKvcast({"store", "replay", trace, "--admission", "some"}).status, kExitUsage);
  EXPECT_EQ(RunKvcast({"store", "replay", "/nonexistent.jsonl"}).status, kExitFailed);
}

TEST(ParseRequestTrace, ANumberAndATextAreDifferentNames) {
  const auto trace = ParseRequestTrace("{\"hash_ids\": [7, \"7\", 7, -7]}");
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace->requests[0], (std::vector<uint64_t>{0, 1, 0, 2}));
  EXPECT_EQ(trace->distinct_count, 3u);
  EXPECT_EQ(trace->block_count, 4u);
}

// What is promised of the default on a trace of a real service, with the others' known figures.
TEST(StoreReplayOfARealTrace, TheDefaultIsAheadOfBoth) {
  const std::string folder = std::string(kSourceFolder) + "/../shared/traces";  // Skipped without.
  const std::string trace = folder + "/conversation_trace.jsonl";
  if (!std::filesystem::exists(trace)) {
    GTEST_SKIP() << "There is no " << trace << ".";
  }
  const CommandOutcome outcome =
      RunKvcast({"store", "replay", trace.c_str(), "--json", "--capacity-percent", "2,5"});
  ASSERT_EQ(outcome.status, kExitOk) << outcome.err;
  std::map<std::string, std::map<double, double>> hits;
  const Json rows = *ParseJson(outcome.out);
  for (const Json& row : rows) {
    hits[row["policy"]][row["capacity_percent"]] = row["hit_percent"];
  }
  EXPECT_NEAR(hits["lru"][2], 7.9, 0.1);
  EXPECT_NEAR(hits["lru"][5], 19.6, 0.1);
  EXPECT_NEAR(hits["s3fifo"][2], 11.4, 0.1);
  EXPECT_NEAR(hits["s3fifo"][5], 19.5, 0.1);
  EXPECT_GT(hits["default"][2], hits["s3fifo"][2] + 1);
  EXPECT_GT(hits["default"][5], hits["lru"][5] + 1);
}

}  // namespace
}  // namespace kvcast
