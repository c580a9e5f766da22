#include "kvcast/catalog/node_greeting.h"

#include <gtest/gtest.h>

namespace kvcast {
namespace {

NodeId TestNode() {
  NodeId node{};
  node.front() = std::byte{0xab};
  node.back() = std::byte{0x0c};
  return node;
}

TEST(NodeGreeting, SaysWhichNodeItIsBehindTheProgram) {
  EXPECT_EQ(NodeGreeting("kvcast/1.2.3", TestNode()),
            "kvcast/1.2.3 node/ab00000000000000000000000000000c");
  EXPECT_EQ(NodeIn(NodeGreeting("kvcast/1.2.3", TestNode())), TestNode());
  EXPECT_EQ(NodeIn(NodeGreeting("", TestNode())), TestNode());
}

TEST(NodeGreeting, OfWhoIsNoNodeSaysNothing) {
  for (const char* other :
       {"", "kvcast/1.2.3", "imquic 0.0.2/alpha", "node/ab00000000000000000000000000000c",
        "kvcast node/", "kvcast node/ab00", "kvcast node/AB00000000000000000000000000000C",
        "kvcast node/zb00000000000000000000000000000c",
        "kvcast node/ab00000000000000000000000000000c0",
        "kvcast node/ab00000000000000000000000000000c "}) {
    EXPECT_EQ(NodeIn(other), std::nullopt) << other;
  }
}

TEST(NodeGreeting, ShardsAreOfTheirNode) {
  NodeId shard = TestNode();
  shard.back() ^= std::byte{3};
  EXPECT_TRUE(IsOfNode(shard, TestNode()));
  EXPECT_TRUE(IsOfNode(TestNode(), shard));
  NodeId other = TestNode();
  other.front() ^= std::byte{1};
  EXPECT_FALSE(IsOfNode(other, TestNode()));
}

}  // namespace
}  // namespace kvcast
