#include "kvcast/engine/ongoing_loads.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <thread>

#include "kvcast/engine/node_connection.h"
#include "kvcast/engine/scripted_server_test.h"

namespace kvcast {
namespace {

constexpr size_t kPromptBlocks = 6;
constexpr size_t kBlocksBeforeTheLoss = 2;
constexpr Duration kNoLimit = std::chrono::seconds(60);  // Only so as not to hang.

// A load of a prompt at a node that gives two blocks, and then nothing more.
class OngoingLoad : public testing::Test {
 protected:
  void Stall(ScriptedNode& node) {
    node.Hold(source_, blocks_, 0, kPromptBlocks);
    node.script.alter = [](std::vector<moqt::FetchItem>& items) {
      std::erase_if(items, [](const moqt::FetchItem& item) {
        const auto* const object = std::get_if<Object>(&item);
        return object == nullptr || object->location.group >= kBlocksBeforeTheLoss;
      });
    };
    node.script.never_end = true;
  }
  void Begin(const std::vector<NodeAddress>& addresses, NodeConnection::LoadCall call = {}) {
    node_ = *NodeConnection::Open(addresses, TestKind(), kNoLimit);
    const CacheMatch match = node_->Find(blocks_);
    ASSERT_EQ(match.block_count(), kPromptBlocks);
    call.deadline = std::min(call.deadline, Now() + kNoLimit);
    load_ = *node_->BeginLoad(match, blocks_, target_.Pages(), call);
    while (load_->loaded() < kBlocksBeforeTheLoss) {
      std::this_thread::yield();
    }
  }
  LoadReport End() { return *load_->Wait(Instant::max()); }
  void ExpectLoaded(size_t blocks) const {
    for (size_t block = 0; block < blocks; ++block) {
      EXPECT_EQ(target_.Block(block), source_.Block(block)) << block;
    }
  }
  void ExpectEnded(BlockOutcome outcome, const std::string& reason) {
    const LoadReport report = End();
    EXPECT_EQ(report.loaded(), kBlocksBeforeTheLoss);
    ASSERT_EQ(report.outcomes.size(), kPromptBlocks);
    EXPECT_EQ(report.fault(), outcome) << report.reason;
    EXPECT_NE(report.reason.find(reason), std::string::npos) << report.reason;
    EXPECT_EQ(report.outcomes.back(), BlockOutcome::kAfterGap);
  }
  bool IsReadable() const {
    pollfd waits{node_->descriptor(), POLLIN, 0};
    return ::poll(&waits, 1, 0) == 1;
  }

  const std::vector<BlockHash> blocks_ = TestBlocks(kPromptBlocks);
  const EngineMemory source_{kPromptBlocks, 1};
  EngineMemory target_{kPromptBlocks, 2};
  ScriptedServer stalling_{{}, [this](ScriptedNode& node) { Stall(node); }};
  std::unique_ptr<NodeConnection> node_;
  std::unique_ptr<LiveLoad> load_;
};

TEST_F(OngoingLoad, GoesOnAtTheNextNode) {
  ScriptedServer next({},
                      [&](ScriptedNode& node) { node.Hold(source_, blocks_, 0, kPromptBlocks); });
  Begin({stalling_.address(), next.address()});
  stalling_.Leave();
  const LoadReport report = End();
  EXPECT_TRUE(report.complete()) << report.reason;
  EXPECT_EQ(report.outcomes.size(), kPromptBlocks);
  ExpectLoaded(kPromptBlocks);
  // What has arrived is not fetched again.
  uint64_t asked_from = 0;
  uint64_t prompt_bytes = 0;
  next.WithNode([&](ScriptedNode& node) {
    asked_from = node.fetches().at(0).range.first.group;
    for (const auto& [group, objects] : node.tracks().begin()->second) {
      for (const Object& object : objects) {
        prompt_bytes += object.payload.size();
      }
    }
  });
  EXPECT_EQ(asked_from, kBlocksBeforeTheLoss);
  EXPECT_EQ(report.bytes, prompt_bytes);
}

TEST_F(OngoingLoad, GoesOnAtTheSameNodeWhenThatIsBack) {
  bool is_back = false;
  ScriptedServer server({}, [&](ScriptedNode& node) {
    if (std::exchange(is_back, true)) {
      node.Hold(source_, blocks_, 0, kPromptBlocks);
    } else {
      Stall(node);
    }
  });
  Begin({server.address()});
  server.Leave();
  server.Return();
  const LoadReport report = End();
  EXPECT_TRUE(report.complete()) << report.reason;
  ExpectLoaded(kPromptBlocks);
}

TEST_F(OngoingLoad, HasTheSameRoomAtTheNextNode) {
  ScriptedServer next({},
                      [&](ScriptedNode& node) { node.Hold(source_, blocks_, 0, kPromptBlocks); });
  Begin({stalling_.address(), next.address()}, {.room = kBlocksBeforeTheLoss});
  load_->Room(kBlocksBeforeTheLoss + 1);  // Asked for where it never comes,
  stalling_.Leave();
  while (load_->loaded() < kBlocksBeforeTheLoss + 1) {  // and then at the next.
    std::this_thread::yield();
  }
  EXPECT_FALSE(load_->Wait(Now()).has_value());
  load_->Room(kPromptBlocks);
  EXPECT_TRUE(End().complete());
  ExpectLoaded(kPromptBlocks);
}

TEST_F(OngoingLoad, EndsWithWhatTheNextNodeHolds) {
  ScriptedServer next({}, [&](ScriptedNode& node) { node.Hold(source_, blocks_, 0, 4); });
  Begin({stalling_.address(), next.address()});
  stalling_.Leave();
  const LoadReport report = End();
  EXPECT_EQ(report.loaded(), 4u);
  ASSERT_EQ(report.outcomes.size(), kPromptBlocks);
  EXPECT_EQ(report.fault(), BlockOutcome::kNotHeld);
  EXPECT_EQ(report.reason, "The node that took over does not hold it.");
  ExpectLoaded(4);
}

TEST_F(OngoingLoad, EndsWhereTheNextNodeHoldsNothing) {
  ScriptedServer next;
  Begin({stalling_.address(), next.address()});
  stalling_.Leave();
  ExpectEnded(BlockOutcome::kNotHeld, "The node that took over does not hold it.");
}

TEST_F(OngoingLoad, EndsAsLostIfNoNodeIsThereSoon) {
  Begin({stalling_.address()});
  stalling_.Leave();
  ExpectEnded(BlockOutcome::kNodeLost, "No other node was there in time.");
  ExpectLoaded(kBlocksBeforeTheLoss);
}

TEST_F(OngoingLoad, WaitsForNoNodeLongerThanForItsDeadline) {
  Begin({stalling_.address()}, {.deadline = Now() + OngoingLoads::kGoOnWithin * 3 / 4});
  stalling_.Leave();
  ExpectEnded(BlockOutcome::kTooLate, "No other node was there in time.");
}

TEST_F(OngoingLoad, WaitsForNoNodeLongerThanComputingTakes) {
  const Duration for_each = OngoingLoads::kGoOnWithin / kPromptBlocks;
  Begin({stalling_.address()}, {.compute_per_block = for_each});
  stalling_.Leave();
  ExpectEnded(BlockOutcome::kComputingFaster, "No other node was there in time.");
}

TEST_F(OngoingLoad, IsCancelledWhileItWaitsForANode) {
  Begin({stalling_.address()});
  stalling_.Leave();
  while (!node_->lost()) {
    std::this_thread::yield();
  }
  load_->Cancel();
  ExpectEnded(BlockOutcome::kCancelled, "It was cancelled.");
}

TEST_F(OngoingLoad, TellsHowFarItIsByADescriptor) {
  Begin({stalling_.address()}, {.tag = 7});
  EXPECT_TRUE(IsReadable());
  EXPECT_EQ(node_->NextNews(), 7u);
  EXPECT_FALSE(IsReadable());
  EXPECT_EQ(node_->NextNews(), std::nullopt);
  EXPECT_FALSE(load_->Wait(Instant{}).has_value());
  load_->Cancel();
  while (!IsReadable()) {
    std::this_thread::yield();
  }
  EXPECT_EQ(End().fault(), BlockOutcome::kCancelled);
  EXPECT_FALSE(IsReadable());  // There is nothing more to say of it.
  EXPECT_EQ(node_->NextNews(), std::nullopt);
}

}  // namespace
}  // namespace kvcast
