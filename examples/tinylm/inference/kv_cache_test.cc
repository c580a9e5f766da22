#include "examples/tinylm/inference/kv_cache.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "examples/tinylm/inference/model_test.h"

namespace kvcast::tinylm {
namespace {

KvCache CacheOf(uint32_t page_tokens, uint32_t pages) {
  return *KvCache::Of(ModelWeights().config, page_tokens, pages);
}

TEST(KvCache, GivesPagesOutOnceAndTakesThemBack) {
  KvCache cache = CacheOf(16, 4);
  Sequence a;
  Sequence b;
  ASSERT_TRUE(cache.Reserve(a, 17).ok());
  ASSERT_TRUE(cache.Reserve(b, 32).ok());
  std::vector<uint32_t> pages = a.pages;
  pages.insert(pages.end(), b.pages.begin(), b.pages.end());
  std::ranges::sort(pages);
  EXPECT_EQ(pages, (std::vector<uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(cache.Reserve(a, 33).error().code(), ErrorCode::kTooLarge);
  EXPECT_EQ(a.pages.size(), 2u);
  cache.Release(b);
  EXPECT_TRUE(b.pages.empty());
  EXPECT_TRUE(cache.Reserve(a, 64).ok());
  EXPECT_TRUE(cache.Reserve(a, 1).ok()) << "never takes a page away";
  EXPECT_EQ(a.pages.size(), 4u);
}

TEST(KvCache, HasPagesAndTokensInThem) {
  EXPECT_FALSE(KvCache::Of(ModelWeights().config, 0, 4).ok());
  EXPECT_FALSE(KvCache::Of(ModelWeights().config, 16, 0).ok());
}

// An engine's heads of a token lie side by side, tokens of a page one after another.
TEST(KvCache, LaysPagesOutAsItSays) {
  const KvCache cache = CacheOf(16, 3);
  const KvCache& pages = cache;
  const std::byte* const base = pages.At(2, Plane::kValue, 1, 0, 0);
  EXPECT_EQ(pages.At(2, Plane::kValue, 1, 0, 1) - base, 64 * 2);
  EXPECT_EQ(pages.At(2, Plane::kValue, 1, 1, 0) - base, 2 * 64 * 2);
  EXPECT_EQ(pages.At(2, Plane::kValue, 2, 0, 0) - base, 16 * 2 * 64 * 2);
  EXPECT_EQ(pages.page_count(), 3u);
}

TEST(KvCache, KeepsItsMemoryWhenItMoves) {
  KvCache cache = CacheOf(16, 2);
  std::byte* const at = cache.At(5, Plane::kKey, 1, 15, 1);
  *at = std::byte{7};
  const KvCache moved = std::move(cache);
  EXPECT_EQ(moved.At(5, Plane::kKey, 1, 15, 1), at);
  EXPECT_EQ(*at, std::byte{7});
}

}  // namespace
}  // namespace kvcast::tinylm
