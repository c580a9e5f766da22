// What a node holds that passes on what others hold.
#include <gtest/gtest.h>

#include "kvcast/catalog/node_greeting.h"
#include "kvcast/client/client_pair_test.h"
#include "kvcast/client/passed_on_catalog_test.h"

namespace kvcast {
namespace {

// An edge tells what its origin holds, too, and may lose it any time.
class PublishAtAnEdge : public testing::Test {
 protected:
  // The catalogs of a scripted node are those of the node whose id is all zeros.
  static moqt::SessionPair::Options At(const std::string& greeting) {
    moqt::SessionPair::Options options;
    options.greeting = greeting;
    return options;
  }
  void ListElsewhere(ClientPair& pair, const NodeId& writer) {
    pair.Run();
    PassedOnCatalog other(pair.pair().server(), writer);
    pair.Run();
    other.List(TestKind().TrackOf(blocks_.back(), {std::byte{1}}).Name(), blocks_);
    pair.Run();
    ASSERT_EQ(pair.client().Find(blocks_).block_count(), kBlocks);
  }

  const std::vector<BlockHash> blocks_ = TestBlocks(kBlocks);
  const EngineMemory memory_{kBlocks, /*seed=*/1};
  const std::string greeting_ = NodeGreeting("kvcast/1", NodeId{});
  const NodeId origin_{std::byte{7}};
};

TEST_F(PublishAtAnEdge, SendsWhatOnlyTheOriginHolds) {
  ClientPair pair(At(greeting_));
  ListElsewhere(pair, origin_);
  const OperationId publish = pair.Publish(memory_, blocks_);
  pair.Run();
  ASSERT_TRUE(pair.Published(publish).has_value());
  EXPECT_FALSE(pair.Published(publish)->fault.has_value()) << pair.Published(publish)->reason;
  EXPECT_EQ(pair.Published(publish)->skipped, 0u);
  EXPECT_EQ(pair.Published(publish)->listed, kBlocks);
  const OperationId again = pair.Publish(memory_, blocks_, /*generation=*/3);
  pair.Run();
  EXPECT_EQ(pair.Published(again)->skipped, kBlocks);
}

TEST_F(PublishAtAnEdge, WaitsForTheEdgesOwnWord) {
  ClientPair pair(At(greeting_));
  pair.node().script.never_list = true;
  const OperationId publish = pair.Publish(memory_, blocks_);
  pair.Run();
  ListElsewhere(pair, origin_);
  EXPECT_FALSE(pair.Published(publish).has_value());
}

// Shards of a node list apart, under ids that differ in the last byte.
TEST_F(PublishAtAnEdge, SendsNothingThatAnotherShardOfTheNodeHolds) {
  ClientPair pair(At(greeting_));
  NodeId shard{};
  shard.back() = std::byte{2};
  ListElsewhere(pair, shard);
  const OperationId publish = pair.Publish(memory_, blocks_);
  pair.Run();
  EXPECT_EQ(pair.Published(publish)->skipped, kBlocks);
}

// A relay that does not say who it is keeps no catalog of its own.
TEST_F(PublishAtAnEdge, OfNobodyKnownTakesEverybodysWord) {
  for (const std::string greeting : {"", "another/1.0"}) {
    ClientPair pair(At(greeting));
    ListElsewhere(pair, origin_);
    const OperationId publish = pair.Publish(memory_, blocks_);
    pair.Run();
    EXPECT_EQ(pair.Published(publish)->skipped, kBlocks);
  }
}

}  // namespace
}  // namespace kvcast
