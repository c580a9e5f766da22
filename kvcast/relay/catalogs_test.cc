#include "kvcast/relay/catalogs.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kvcast/relay/cache_names_test.h"

namespace kvcast::relay {
namespace {

class CatalogsTest : public testing::Test {
 protected:
  bool List(std::string_view scope, uint64_t group = 0) {
    const TrackName track = CacheOf(scope, "p");
    return catalogs_.List(track, group, Sha256::Of(track.Render() + std::to_string(group)), 100);
  }
  void Unlist(std::string_view scope, uint64_t group = 0) {
    catalogs_.Unlist(CacheOf(scope, "p"), group);
  }
  // The tenants and models of catalogs that have come, with + before them, and those that have
  // gone, with -.
  std::string Changes() {
    std::string all;
    for (const CatalogChange& change : catalogs_.TakeChanges()) {
      if (change.is_new || change.is_over) {
        all += (all.empty() ? "" : " ") + std::string(change.is_new ? "+" : "-") +
               std::string(change.track.space().field(1));
      }
      for (const Object& object : change.objects) {
        epoch_ = object.location.group;
      }
    }
    return all;
  }

  Limits limits_ = [] {
    Limits limits;
    limits.scopes_max = 4;
    return limits;
  }();
  Catalogs catalogs_{NodeId(), BootId(), limits_};
  uint64_t epoch_ = 0;  // Of the last object that has come.
};

TEST_F(CatalogsTest, OneTenantLeavesRoomForOthers) {
  size_t listed = 0;
  for (int i = 0; i < 10; ++i) {
    listed += List("acme/" + std::to_string(i)) ? 1u : 0u;
  }
  EXPECT_EQ(listed, 2u);
  EXPECT_TRUE(List("globex/llama"));
  EXPECT_FALSE(List("globex/qwen"));
  EXPECT_TRUE(List("hooli/llama"));
  EXPECT_FALSE(List("initech/llama"));
  EXPECT_TRUE(List("acme/0", 1));  // Those that are there go on.
  EXPECT_EQ(catalogs_.block_count(), 5u);
}

TEST_F(CatalogsTest, WhatIsEmptyStaysUntilOthersNeedItsRoom) {
  EXPECT_TRUE(List("acme/a") && List("acme/b"));
  EXPECT_EQ(Changes(), "+acme/a +acme/b");
  Unlist("acme/a");
  Unlist("acme/b");
  EXPECT_EQ(Changes(), "");
  EXPECT_TRUE(List("acme/b"));
  EXPECT_EQ(Changes(), "");
  EXPECT_TRUE(List("acme/c") && List("globex/a"));
  EXPECT_EQ(Changes(), "+acme/c +globex/a");
  EXPECT_TRUE(List("hooli/a"));
  EXPECT_EQ(Changes(), "-acme/a +hooli/a");
  EXPECT_EQ(catalogs_.catalog_count(), 4u);
  EXPECT_EQ(catalogs_.Below({}).size(), 4u);
}

// Its name has had objects before, and none of them is said to be another.
TEST_F(CatalogsTest, WhatComesAgainBeginsWithALaterEpoch) {
  EXPECT_TRUE(List("acme/a"));
  EXPECT_EQ(Changes(), "+acme/a");
  EXPECT_EQ(epoch_, 0u);
  for (int round = 1; round < 4; ++round) {
    Unlist("acme/a");
    EXPECT_EQ(Changes(), "");
    for (const char* scope : {"b/1", "c/1", "d/1", "e/1"}) {
      EXPECT_TRUE(List(scope));
    }
    EXPECT_NE(Changes().find("-acme/a"), std::string::npos);
    for (const char* scope : {"b/1", "c/1", "d/1", "e/1"}) {
      Unlist(scope);
    }
    EXPECT_EQ(Changes(), "");
    EXPECT_TRUE(List("acme/a"));
    EXPECT_NE(Changes().find("+acme/a"), std::string::npos);
    EXPECT_EQ(epoch_, static_cast<uint64_t>(round));
  }
}

// What nobody has heard of need not be told of.
TEST_F(CatalogsTest, WhatGoesBeforeItWasToldIsNotTold) {
  for (int i = 0; i < 100; ++i) {
    const std::string scope = "acme/" + std::to_string(i);
    EXPECT_TRUE(List(scope));
    Unlist(scope);
  }
  EXPECT_EQ(catalogs_.catalog_count(), 4u);
  EXPECT_EQ(catalogs_.block_count(), 0u);
  EXPECT_EQ(Changes().find('-'), std::string::npos);
}

}  // namespace
}  // namespace kvcast::relay
