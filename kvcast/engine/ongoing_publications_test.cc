#include "kvcast/engine/ongoing_publications.h"

#include <gtest/gtest.h>

#include <thread>

#include "kvcast/engine/node_connection.h"
#include "kvcast/engine/scripted_server_test.h"

namespace kvcast {
namespace {

constexpr size_t kPublishedBlocks = 6;
constexpr size_t kListedBeforeTheLoss = 2;
constexpr Duration kNeverHang = std::chrono::seconds(60);
constexpr Generation kGeneration = {std::byte{1}};

// A prompt that is published while it is computed: a node lists its first two blocks, and is lost.
class OngoingPublication : public testing::Test {
 protected:
  void Open(const std::vector<NodeAddress>& addresses, Duration patience = kNeverHang) {
    ClientOptions options{TestKind()};
    options.publish_patience = patience;
    node_ = *NodeConnection::Open(addresses, options, kNeverHang);
  }
  void Begin(NodeConnection::PublishCall call = {}) {
    call.generation = kGeneration;
    live_ = *node_->BeginPublish(blocks_, source_.Pages(), call);
    live_->Ready(kListedBeforeTheLoss);
    const std::array rungs = {call.rung.value_or(Rung::kBf16)};
    while (node_->Find(blocks_, 0, rungs).block_count() < kListedBeforeTheLoss) {
      std::this_thread::yield();
    }
  }
  // REQUIRES: there is no other node.
  void Lose(ScriptedServer& server) {
    server.Leave();
    while (!node_->lost()) {
      std::this_thread::yield();
    }
  }
  static TrackName TrackAt(Rung rung, const std::vector<BlockHash>& blocks) {
    return TestKind(rung).TrackOf(blocks.back(), kGeneration).Name();
  }
  // What a node has got of the track.
  ScriptedNode::Groups GroupsAt(ScriptedServer& server, Rung rung = Rung::kBf16) const {
    ScriptedNode::Groups groups;
    server.WithNode([&](ScriptedNode& node) { groups = node.tracks().at(TrackAt(rung, blocks_)); });
    return groups;
  }
  void ExpectPublished(const PublishReport& report, size_t blocks = kPublishedBlocks) const {
    EXPECT_FALSE(report.fault.has_value()) << report.reason;
    EXPECT_EQ(report.blocks, blocks);
    EXPECT_EQ(report.skipped + report.listed, blocks);
    const EngineMemory target(kPublishedBlocks, 2);
    const LoadReport loaded = *node_->Load(node_->Find(blocks_), blocks_, target.Pages(),
                                           {.deadline = Now() + kNeverHang});
    ASSERT_EQ(loaded.loaded(), blocks) << loaded.reason;
    for (size_t block = 0; block < blocks; ++block) {
      EXPECT_EQ(target.Block(block), source_.Block(block)) << block;
    }
  }

  const std::vector<BlockHash> blocks_ = TestBlocks(kPublishedBlocks);
  const EngineMemory source_{kPublishedBlocks, 1};
  std::unique_ptr<NodeConnection> node_;
  std::unique_ptr<LivePublication> live_;
};

TEST_F(OngoingPublication, GoesOnAtTheNextNodeUnderTheSameName) {
  ScriptedServer first;
  ScriptedServer next;
  Open({first.address(), next.address()});
  Begin();
  EXPECT_EQ(GroupsAt(first).size(), kListedBeforeTheLoss);
  first.Leave();
  live_->Ready(kPublishedBlocks);
  const PublishReport report = live_->Finish(Now() + kNeverHang);
  ExpectPublished(report);
  EXPECT_EQ(report.sent, kPublishedBlocks);  // The next node held none of it.
  EXPECT_EQ(GroupsAt(next).size(), kPublishedBlocks);
}

// What the node has told that it holds has arrived.
TEST_F(OngoingPublication, SendsNothingTwiceToANodeThatIsBack) {
  bool is_back = false;
  ScriptedServer server({}, [&](ScriptedNode& node) {
    if (std::exchange(is_back, true)) {
      node.Hold(source_, blocks_, 0, kListedBeforeTheLoss);
    }
  });
  Open({server.address()});
  Begin();
  uint64_t prompt_bytes = 0;
  for (const auto& [group, objects] : GroupsAt(server)) {
    for (const Object& object : objects) {
      prompt_bytes += object.payload.size() * kPublishedBlocks / kListedBeforeTheLoss;
    }
  }
  server.Leave();
  server.Return();
  live_->Ready(kPublishedBlocks);
  const PublishReport report = live_->Finish(Now() + kNeverHang);
  ExpectPublished(report);
  EXPECT_EQ(report.skipped, kListedBeforeTheLoss);
  EXPECT_EQ(report.sent, kPublishedBlocks - kListedBeforeTheLoss);
  EXPECT_EQ(report.bytes, prompt_bytes);
  for (const auto& [group, objects] : GroupsAt(server)) {
    EXPECT_EQ(objects.size(), kTestBlockTokens) << group;
  }
}

// What a lossless rung is coded by suits the blocks that were there when it began: by then other
// blocks are, and would have other bytes under the same name.
TEST_F(OngoingPublication, IsCodedAsItWasBefore) {
  ScriptedServer first;
  ScriptedServer next;
  Open({first.address(), next.address()});
  Begin({.rung = Rung::kBf16Lossless});
  const ScriptedNode::Groups before = GroupsAt(first, Rung::kBf16Lossless);
  Properties told_before;
  first.WithNode([&](ScriptedNode& node) { told_before = node.published_properties(); });
  first.Leave();
  live_->Ready(kPublishedBlocks);
  const PublishReport report = live_->Finish(Now() + kNeverHang);
  EXPECT_FALSE(report.fault.has_value()) << report.reason;
  const ScriptedNode::Groups after = GroupsAt(next, Rung::kBf16Lossless);
  ASSERT_EQ(after.size(), kPublishedBlocks);
  for (const auto& [group, objects] : before) {
    ASSERT_EQ(after.at(group).size(), objects.size()) << group;
    for (size_t i = 0; i < objects.size(); ++i) {
      EXPECT_EQ(after.at(group)[i].payload, objects[i].payload) << group << ", " << i;
    }
  }
  next.WithNode([&](ScriptedNode& node) { EXPECT_EQ(node.published_properties(), told_before); });
}

// Also where somebody waits for it, and the node had not even answered.
TEST_F(OngoingPublication, GoesOnWhileItsCallerWaits) {
  NodeScript silent;
  silent.silent_on_publish = true;
  ScriptedServer first(silent);
  ScriptedServer next;
  Open({first.address(), next.address()});
  std::optional<PublishReport> report;
  std::thread publisher([&] {
    report = *node_->Publish(blocks_, source_.Pages(), {.deadline = Now() + kNeverHang});
  });
  bool asked = false;
  while (!asked) {
    first.WithNode([&](ScriptedNode& node) { asked = node.publishes() == 1; });
  }
  first.Leave();
  publisher.join();
  ExpectPublished(*report);
}

TEST_F(OngoingPublication, IsAsFarAsItsEngineWhenANodeIsThere) {
  ScriptedServer server;
  Open({server.address()});
  Begin();
  Lose(server);
  live_->Ready(kPublishedBlocks - 1);
  live_->Close();
  EXPECT_FALSE(live_->Wait(Now()).has_value());
  server.Return();
  ExpectPublished(*live_->Wait(Now() + kNeverHang), kPublishedBlocks - 1);
}

TEST_F(OngoingPublication, EndsAsLostIfNoNodeIsThereInTime) {
  ScriptedServer server;
  Open({server.address()}, std::chrono::milliseconds(500));
  Begin({.tag = 7});
  Lose(server);
  const PublishReport report = live_->Finish();
  EXPECT_EQ(report.fault, PublishFault::kNodeLost);
  EXPECT_NE(report.reason.find("No other node was there in time."), std::string::npos)
      << report.reason;
  EXPECT_EQ(report.listed, kListedBeforeTheLoss);  // By who is gone.
}

TEST_F(OngoingPublication, WaitsForNoNodeLongerThanToItsDeadline) {
  ScriptedServer server;
  Open({server.address()});
  Begin();
  Lose(server);
  const PublishReport report = live_->Finish(Now());
  EXPECT_EQ(report.fault, PublishFault::kPatienceOver);
  EXPECT_EQ(report.reason, "The deadline passed.");
}

TEST_F(OngoingPublication, IsGivenUpWhileItWaitsForANode) {
  ScriptedServer server;
  Open({server.address()});
  Begin();
  Lose(server);
  live_.reset();
  server.Return();
  while (node_->lost()) {
    std::this_thread::yield();
  }
  server.WithNode([&](ScriptedNode& node) { EXPECT_EQ(node.publishes(), 0u); });
}

}  // namespace
}  // namespace kvcast
