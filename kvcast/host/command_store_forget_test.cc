// kvcast store forget, on a directory that a tier has written.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "kvcast/base/json.h"
#include "kvcast/catalog/block_key.h"
#include "kvcast/host/command.h"
#include "kvcast/host/command_outcome_test.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/driven_disk.h"
#include "kvcast/io/scratch_directory.h"
#include "kvcast/relay/grant.h"

namespace kvcast {
namespace {

Digest ForgetKeyOf(std::string_view prefix, uint64_t group) {
  return Sha256::Of(std::string(prefix) + std::to_string(group));
}

class StoreForget : public testing::Test {
 protected:
  // A cache of three blocks, called by its last.
  void Put(DiskTier& tier, std::string_view scope, std::string_view prefix) {
    const Digest last = ForgetKeyOf(prefix, 2);
    const std::string_view hash(reinterpret_cast<const char*>(last.bytes.data()), Digest::kBytes);
    const TrackName track =
        *TrackName::Of(*TrackNamespace::Of({relay::kServiceField, scope, hash, "g"}), "BF16");
    ASSERT_TRUE(tier.Describe(track, {}, Now()).ok());
    for (uint64_t group = 0; group < 3; ++group) {
      Object object;
      object.location = {group, 0};
      object.payload = Bytes::Of("block");
      object.properties = BlockKeyProperties(ForgetKeyOf(prefix, group));
      ASSERT_TRUE(tier.Put(track, object, 1'700'000'000'000'000, Now()).ok());
      ASSERT_TRUE(tier.EndGroup(track, {group, 1}, Now()).ok());
    }
  }
  void SetUp() override {
    DiskTierOptions options;
    options.bytes_max = 64 << 20;
    options.segment_bytes = 1 << 20;
    options.key_property = kBlockKeyProperty;
    const auto disk =
        *DrivenDisk::Open(store_, options, std::make_unique<OldestFirst>(), {}, Log());
    Put(disk->tier(), "acme/llama@0", "a");
    Put(disk->tier(), "acme/qwen@0", "b");
    Put(disk->tier(), "globex/llama@0", "a");
    while (!disk->tier().idle()) {
      disk->Turn(std::chrono::seconds(1));
    }
  }
  CommandOutcome Forget(std::vector<const char*> scope) {
    scope.insert(scope.begin(), {"store", "forget", store_.c_str()});
    return RunKvcast(scope);
  }
  // Groups, over all tracks.
  size_t Left() {
    const CommandOutcome outcome = RunKvcast({"store", "ls", store_.c_str(), "--json"});
    EXPECT_EQ(outcome.status, kExitOk) << outcome.err;
    const Json listed = *ParseJson(outcome.out);
    size_t groups = 0;
    for (const Json& track : listed) {
      groups += track.at("groups").size();
    }
    return groups;
  }

  ScratchDirectory scratch_ = *ScratchDirectory::Make();
  std::string store_ = (scratch_ / "store").string();
};

TEST_F(StoreForget, TellsProgramsWhatItRemoved) {
  const CommandOutcome outcome = Forget({"--tenant", "acme", "--json"});
  ASSERT_EQ(outcome.status, kExitOk) << outcome.err;
  EXPECT_EQ(*ParseJson(outcome.out),
            (Json{{"tracks", 2}, {"blocks", 0}, {"tenant", "acme"}, {"store", store_}}));
}

TEST_F(StoreForget, RemovesATenantForGood) {
  ASSERT_EQ(Left(), 9u);
  const CommandOutcome outcome = Forget({"--tenant", "acme"});
  ASSERT_EQ(outcome.status, kExitOk) << outcome.err;
  EXPECT_EQ(outcome.out.find("forgot 2 tracks of tenant acme"), 0u) << outcome.out;
  EXPECT_EQ(Left(), 3u);
  EXPECT_EQ(RunKvcast({"store", "verify", store_.c_str()}).status, kExitOk);
  EXPECT_EQ(Forget({"--tenant", "acme"}).out.find("forgot 0 tracks"), 0u);
}

TEST_F(StoreForget, RemovesAModelAPrefixOrABlock) {
  EXPECT_EQ(Forget({"--tenant", "acme", "--model", "qwen"}).status, kExitOk);
  EXPECT_EQ(Left(), 6u);
  const std::string block = ForgetKeyOf("a", 1).ToHex();
  EXPECT_EQ(Forget({"--tenant", "acme", "--prefix", block.c_str()}).status, kExitOk);
  EXPECT_EQ(Left(), 5u);
  const std::string prefix = ForgetKeyOf("a", 2).ToHex();
  EXPECT_EQ(Forget({"--tenant", "acme", "--prefix", prefix.c_str()}).status, kExitOk);
  EXPECT_EQ(Left(), 3u);
}

TEST_F(StoreForget, MakesNoStoreWhereThereIsNone) {
  const std::string none = (scratch_ / "none").string();
  EXPECT_EQ(RunKvcast({"store", "forget", none.c_str(), "--tenant", "acme"}).status, kExitFailed);
  EXPECT_FALSE(std::filesystem::exists(none));
  EXPECT_NE(Forget({"--tenant", "A/b"}).status, kExitOk);
  EXPECT_NE(Forget({"--tenant", "acme", "--prefix", "12"}).status, kExitOk);
  EXPECT_NE(Forget({}).status, kExitOk);
  EXPECT_EQ(Left(), 9u);
}

}  // namespace
}  // namespace kvcast
