#include "kvcast/client/catalog_view.h"

#include <gtest/gtest.h>

#include "kvcast/catalog/writer.h"

namespace kvcast {
namespace {

TrackNamespace Scope() {
  return *TrackNamespace::Of({"service", "somebody/model@0011223344556677"});
}
TrackName Named(const std::string& name) { return *TrackName::Of(Scope(), name); }
NodeId NodeNumber(uint8_t number) { return NodeId{std::byte{number}}; }

class ViewOfNodes : public testing::Test {
 protected:
  std::unique_ptr<CatalogFeed> Follow(uint8_t node, CatalogWriter& writer) {
    std::unique_ptr<CatalogFeed> feed = *view_.MakeFeed()({Scope(), NodeNumber(node), {}});
    for (const Object& object : writer.TakeObjects()) {
      EXPECT_TRUE(feed->OnObject(object.location, object.payload).ok());
    }
    return feed;
  }

  CatalogView view_;
};

TEST_F(ViewOfNodes, TracksStandByNameAndThenByNode) {
  CatalogWriter one;
  CatalogWriter two;
  ASSERT_TRUE(one.Add(Named("b"), 0, Sha256::Of("x"), 10).ok());
  ASSERT_TRUE(one.Add(Named("b"), 1, Sha256::Of("y"), 11).ok());
  ASSERT_TRUE(two.Add(Named("b"), 0, Sha256::Of("x"), 10).ok());
  ASSERT_TRUE(two.Add(Named("a"), 4, Sha256::Of("z"), 12).ok());
  const auto second = Follow(2, two);
  const auto first = Follow(1, one);
  const std::vector<HeldTrack> tracks = view_.Tracks();
  ASSERT_EQ(tracks.size(), 3u);
  EXPECT_EQ(*tracks[0].name, Named("a"));
  EXPECT_EQ(*tracks[1].name, Named("b"));
  EXPECT_EQ(tracks[1].node, NodeNumber(1));
  EXPECT_EQ(tracks[1].groups->size(), 2u);
  EXPECT_EQ(tracks[2].node, NodeNumber(2));
}

TEST_F(ViewOfNodes, ANodeThatGoesTakesAlongWhatItHeld) {
  CatalogWriter writer;
  ASSERT_TRUE(writer.Add(Named("a"), 0, Sha256::Of("x"), 10).ok());
  auto feed = Follow(1, writer);
  const std::vector<ViewChange> came = view_.TakeChanges();
  ASSERT_EQ(came.size(), 1u);
  EXPECT_TRUE(came[0].change.added);
  feed.reset();
  const std::vector<ViewChange> gone = view_.TakeChanges();
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_FALSE(gone[0].change.added);
  EXPECT_EQ(gone[0].node, NodeNumber(1));
  EXPECT_TRUE(view_.Tracks().empty());
}

}  // namespace
}  // namespace kvcast
