#include "kvcast/client/pace_book.h"

#include <gtest/gtest.h>

#include "kvcast/catalog/node_greeting.h"
#include "kvcast/client/client_pair_test.h"

namespace kvcast {
namespace {

// A client with a session to a node.
class PaceBooks : public testing::Test {
 protected:
  ClientPair To(const std::string& greeting) {
    moqt::SessionPair::Options options;
    options.greeting = greeting;
    ClientOptions client{TestKind()};
    client.paces = paces_;
    return ClientPair(options, {}, client);
  }
  static std::string Greeting(uint8_t node) {
    return NodeGreeting("kvcast/1", NodeId{std::byte{node}});
  }
  void Load(ClientPair& pair) {
    const EngineMemory source(kBlocks, 1);
    const EngineMemory target(kBlocks, 2);
    pair.node().Hold(source, blocks_, 0, kBlocks);
    pair.Run();
    const OperationId load = pair.Load(target, blocks_);
    pair.Run();
    ASSERT_EQ(pair.Loaded(load)->loaded(), kBlocks);
  }

  const std::vector<BlockHash> blocks_ = TestBlocks(kBlocks);
  const std::shared_ptr<PaceBook> paces_ = std::make_shared<PaceBook>();
};

TEST_F(PaceBooks, AreKeptByNodeOverAllSessionsWithIt) {
  {
    ClientPair first = To(Greeting(1));
    first.Run();
    EXPECT_FALSE(first.client().pace().known());
    Load(first);
    EXPECT_TRUE(first.client().pace().known());
  }
  ClientPair again = To(Greeting(1));
  again.Run();
  EXPECT_TRUE(again.client().pace().known());
  EXPECT_EQ(again.client().pace().expected_bytes(), 0u);
  ClientPair other = To(Greeting(2));
  other.Run();
  EXPECT_FALSE(other.client().pace().known());
}

// Of who does not say who it is nothing can be known the next time.
TEST_F(PaceBooks, KeepNothingOfANodeWithoutAName) {
  {
    ClientPair first = To("");
    first.Run();
    Load(first);
    EXPECT_TRUE(first.client().pace().known());
  }
  ClientPair again = To("");
  again.Run();
  EXPECT_FALSE(again.client().pace().known());
  EXPECT_EQ(paces_->size(), 0u);
}

// What was asked for, and never came, is not on its way for ever.
TEST_F(PaceBooks, KnowOfNothingUnderWayInASessionThatIsLost) {
  {
    ClientPair first = To(Greeting(1));
    first.node().script.silent_on_fetch = true;
    const EngineMemory source(kBlocks, 1);
    const EngineMemory target(kBlocks, 2);
    first.node().Hold(source, blocks_, 0, kBlocks);
    first.Run();
    (void)first.Load(target, blocks_);
    first.Run();
    EXPECT_GT(first.client().pace().expected_bytes(), 0u);
    first.pair().server().Close(moqt::SessionCode::kInternalError, "broken");
    first.Run();
  }
  EXPECT_EQ(paces_->Of(NodeId{std::byte{1}})->expected_bytes(), 0u);
}

TEST_F(PaceBooks, AreBounded) {
  const std::shared_ptr<NodePace> used = paces_->Of(NodeId{std::byte{1}});
  for (size_t i = 2; i < 1000; ++i) {
    NodeId node{};
    node[0] = static_cast<std::byte>(i);
    node[1] = static_cast<std::byte>(i >> 8);
    (void)paces_->Of(node);
    EXPECT_LE(paces_->size(), PaceBook::kNodesMax);
  }
  EXPECT_EQ(paces_->Of(NodeId{std::byte{1}}), used);
}

}  // namespace
}  // namespace kvcast
