#include "kvcast/kv/cache_track.h"

#include <gtest/gtest.h>

namespace kvcast {
namespace {

Result<ModelScope> ScopeOf(std::string_view field) {
  return ModelScope::Parse(*TrackNamespace::Of({"moq://kvcache.moq.arpa/v1/", field}));
}

std::optional<uint64_t> ScopeOffset(std::string_view field) {
  return ScopeOf(field).error().offset();
}

TEST(ModelScope, SaysWhereAFieldIsWrong) {
  EXPECT_TRUE(ScopeOf("acme/m@0123456789abcdef").ok());
  EXPECT_EQ(ScopeOffset("acme"), 0u);
  EXPECT_EQ(ScopeOffset("acme/m@0123"), 7u);
  EXPECT_EQ(ScopeOffset("ACME/m@0123456789abcdef"), 0u);
  EXPECT_EQ(ScopeOffset("acme/m m@0123456789abcdef"), 5u);
}

TEST(CacheTrack, SaysWhereItsSliceIsWrong) {
  const ModelScope scope = *ScopeOf("acme/m@0123456789abcdef");
  const CacheTrack track{scope, Sha256::Of("prefix"), {}, Rung::kBf16, {}};
  const auto offset = [&](std::string_view name) {
    return CacheTrack::Parse(*TrackName::Of(track.Name().space(), name)).error().offset();
  };
  EXPECT_EQ(offset("BF16;h=2-1"), 7u);
  EXPECT_EQ(offset("BF16;l=0-1;h=x"), 14u - 1);
  EXPECT_EQ(offset("BF16;x"), 4u);
}

}  // namespace
}  // namespace kvcast
