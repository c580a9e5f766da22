#include "kvcast/relay/upstream_peers.h"

#include <gtest/gtest.h>

namespace kvcast::relay {
namespace {

TrackNamespace Fields(std::initializer_list<std::string_view> fields) {
  return *TrackNamespace::Of(fields);
}

TEST(UpstreamPeers, AreAskedInTheOrderOfPreferenceOnceTheyAreThere) {
  UpstreamPeers peers({{"a", {Fields({"x"})}}, {"b", {Fields({"x"})}}});
  EXPECT_TRUE(peers.Covers(Fields({"x", "y"})));
  EXPECT_FALSE(peers.Covers(Fields({"y"})));
  EXPECT_TRUE(peers.For(Fields({"x", "y"})).empty());
  peers.Connect(1, 10);
  EXPECT_EQ(peers.For(Fields({"x", "y"})), (std::vector<PeerId>{10}));
  peers.Connect(0, 11);
  EXPECT_EQ(peers.For(Fields({"x", "y"})), (std::vector<PeerId>{11, 10}));
  peers.Disconnect(11);
  EXPECT_EQ(peers.For(Fields({"x"})), (std::vector<PeerId>{10}));
  EXPECT_FALSE(peers.Has(11));
}

// What one site keeps is not asked of another because the first is away.
TEST(UpstreamPeers, TheLongestPrefixDecidesWhetherItIsThereOrNot) {
  UpstreamPeers peers({{"all", {TrackNamespace()}}, {"some", {Fields({"x", "y"})}}});
  peers.Connect(0, 10);
  EXPECT_EQ(peers.For(Fields({"x"})), (std::vector<PeerId>{10}));
  EXPECT_TRUE(peers.For(Fields({"x", "y", "z"})).empty());
  peers.Connect(1, 11);
  EXPECT_EQ(peers.For(Fields({"x", "y", "z"})), (std::vector<PeerId>{11}));
}

TEST(UpstreamPeers, AreKnownWhenAnotherSessionHasTakenTheirPlaceUntilTheyHaveGone) {
  UpstreamPeers peers({{"first", {Fields({"x"})}}, {"second", {Fields({"y"})}}});
  EXPECT_FALSE(peers.Connect(0, 10).has_value());
  EXPECT_EQ(peers.Connect(0, 11), PeerId{10});
  EXPECT_EQ(peers.For(Fields({"x"})), (std::vector<PeerId>{11}));
  EXPECT_EQ(peers.LeavingFor(Fields({"x"})), (std::vector<PeerId>{10}));
  EXPECT_TRUE(peers.LeavingFor(Fields({"y"})).empty());
  EXPECT_FALSE(peers.Has(10));
  peers.Disconnect(10);
  EXPECT_TRUE(peers.LeavingFor(Fields({"x"})).empty());
  EXPECT_EQ(peers.For(Fields({"x"})), (std::vector<PeerId>{11}));
}

TEST(UpstreamPeers, AreAskedForWhatTheyMayHaveOfAPrefix) {
  const UpstreamPeers peers({{"all", {TrackNamespace()}}, {"some", {Fields({"x", "y"})}}});
  EXPECT_EQ(peers.Within(0, Fields({"x"})), (std::vector{Fields({"x"})}));
  EXPECT_EQ(peers.Within(1, Fields({"x"})), (std::vector{Fields({"x", "y"})}));
  EXPECT_EQ(peers.Within(1, Fields({"x", "y", "z"})), (std::vector{Fields({"x", "y", "z"})}));
  EXPECT_TRUE(peers.Within(0, Fields({"x", "y", "z"})).empty());
  EXPECT_TRUE(peers.Within(1, Fields({"z"})).empty());
}

}  // namespace
}  // namespace kvcast::relay
