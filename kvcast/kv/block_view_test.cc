#include "kvcast/kv/block_view.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

namespace kvcast {
namespace {

constexpr uint32_t kPages = 5;
constexpr uint32_t kPageTokens = 4;

const BlockShape& TwoLayers() {
  static const BlockShape shape({{2, 3, 3}, {4, 2, 5}}, 1);
  return shape;
}

// An engine's memory, of zeros: tests compare where values lie, or look for what they wrote.
class Engine {
 public:
  Engine(const BlockShape& shape, PageOrder order, KvPlacement placement)
      : shape_(shape), format_{order, placement, kPageTokens, 2} {
    for (const LayerShape& layer : shape.layers()) {
      const size_t token = size_t{kPages} * kPageTokens * layer.kv_heads * 2;
      const bool apart = placement == KvPlacement::kApart;
      keys_.emplace_back(token * (apart ? layer.key_size : layer.key_size + layer.value_size));
      values_.emplace_back(apart ? token * layer.value_size : 0);
    }
    for (size_t i = 0; i < keys_.size(); ++i) {
      memory_.push_back({keys_[i], values_[i]});
    }
  }
  Result<PagedCache> Cache() const { return PagedCache::Of(shape_, format_, memory_); }
  std::vector<LayerMemory>& memory() { return memory_; }

  // Where the layout itself, written out once more, says that a value is.
  std::byte* Place(size_t layer, Plane plane, uint32_t page, uint32_t token, uint32_t head) {
    const LayerShape& shape = shape_.layers()[layer];
    const size_t size = shape.size(plane);
    const size_t within = format_.order == PageOrder::kNhd ? (token * shape.kv_heads + head) * size
                                                           : (head * kPageTokens + token) * size;
    const size_t key_page = size_t{kPageTokens} * shape.kv_heads * shape.key_size;
    const size_t value_page = size_t{kPageTokens} * shape.kv_heads * shape.value_size;
    const bool key = plane == Plane::kKey;
    switch (format_.placement) {
      case KvPlacement::kApart:
        return (key ? keys_ : values_)[layer].data() +
               2 * (page * (key ? key_page : value_page) + within);
      case KvPlacement::kPlanesFirst:
        return keys_[layer].data() +
               2 * ((key ? 0 : kPages * key_page) + page * (key ? key_page : value_page) + within);
      case KvPlacement::kPagesFirst:
        return keys_[layer].data() +
               2 * (page * (key_page + value_page) + (key ? 0 : key_page) + within);
    }
    return nullptr;
  }

 private:
  BlockShape shape_;
  PageFormat format_;
  std::vector<std::vector<std::byte>> keys_;
  std::vector<std::vector<std::byte>> values_;
  std::vector<LayerMemory> memory_;
};

TEST(BlockView, FindsEveryRowInEveryLayout) {
  const uint32_t table[] = {3, 0, 4, 1};
  for (const PageOrder order : {PageOrder::kNhd, PageOrder::kHnd}) {
    for (const KvPlacement placement :
         {KvPlacement::kApart, KvPlacement::kPlanesFirst, KvPlacement::kPagesFirst}) {
      Engine engine(TwoLayers(), order, placement);
      const PagedCache cache = *engine.Cache();
      ASSERT_EQ(cache.page_count(), kPages);
      const BlockView view = *BlockView::Of(cache, table, 6, 8);
      for (uint32_t token = 0; token < 8; ++token) {
        for (size_t layer = 0; layer < 2; ++layer) {
          for (const Plane plane : {Plane::kKey, Plane::kValue}) {
            const LayerShape& shape = TwoLayers().layers()[layer];
            for (uint32_t head = 0; head < shape.kv_heads; ++head) {
              const std::span<const std::byte> row = view.Row(token, layer, plane, head);
              const uint32_t at = 6 + token;
              ASSERT_EQ(row.data(), engine.Place(layer, plane, table[at / 4], at % 4, head));
              ASSERT_EQ(row.size(), shape.size(plane) * 2u);
            }
          }
        }
      }
    }
  }
}

// As engines keep models that mix layers with a window and without: a table of pages for each kind,
// and pages of another size.
TEST(BlockView, FindsLayersByTheTableThatNamesTheirPages) {
  const BlockShape shape({{2, 3, 3}, {4, 2, 5}, {2, 3, 3}}, 1);
  const PageFormat formats[] = {{PageOrder::kNhd, KvPlacement::kApart, 4, 2},
                                {PageOrder::kHnd, KvPlacement::kPagesFirst, 8, 2}};
  std::vector<std::byte> keys(size_t{5} * 4 * 2 * 3 * 2);
  std::vector<std::byte> values(keys.size());
  std::vector<std::byte> window(size_t{3} * 8 * 4 * 7 * 2);
  std::vector<std::byte> more_keys(keys.size());
  std::vector<std::byte> more_values(keys.size());
  std::vector<LayerMemory> memory = {
      {keys, values, 0}, {window, {}, 1}, {more_keys, more_values, 0}};
  const PagedCache cache = *PagedCache::OfTables(shape, formats, memory);
  EXPECT_EQ(cache.page_count(0), 5u);
  EXPECT_EQ(cache.page_count(1), 3u);

  const std::vector<uint32_t> first = {3, 0, 4, 1};
  const std::vector<uint32_t> second = {2, 1};
  const std::span<const uint32_t> tables[] = {first, second};
  const BlockView view = *BlockView::OfTables(cache, tables, 6, 8);
  // Token 5 of the block is token 11: page 4 of the first table, its token 3; page 1 of the second,
  // its token 3.
  EXPECT_EQ(view.Row(5, 0, Plane::kKey, 1).data(), &keys[((4 * 4 + 3) * 2 + 1) * 3 * 2]);
  EXPECT_EQ(view.Row(5, 2, Plane::kValue, 0).data(), &more_values[(4 * 4 + 3) * 2 * 3 * 2]);
  const size_t page = size_t{8} * 4 * 7 * 2;
  EXPECT_EQ(view.Row(5, 1, Plane::kKey, 2).data(), &window[page + (2 * 8 + 3) * 2 * 2]);
  EXPECT_EQ(view.Row(5, 1, Plane::kValue, 3).data(),
            &window[page + 8 * 4 * 2 * 2 + (3 * 8 + 3) * 5 * 2]);
  const BlockView of_window = *BlockView::OfTables(cache, tables, 6, 8, {IndexRange{1, 1}, {}});
  EXPECT_EQ(of_window.Row(5, 0, Plane::kKey, 2).data(), view.Row(5, 1, Plane::kKey, 2).data());

  EXPECT_FALSE(BlockView::Of(cache, first, 6, 8).ok());         // One table of two.
  EXPECT_FALSE(BlockView::OfTables(cache, tables, 9, 8).ok());  // The second ends before.
  const std::vector<uint32_t> absent = {2, 3};                  // Of pages 0 to 2.
  const std::span<const uint32_t> beyond[] = {first, absent};
  EXPECT_FALSE(BlockView::OfTables(cache, beyond, 6, 8).ok());
  memory[1].table = 2;
  EXPECT_FALSE(PagedCache::OfTables(shape, formats, memory).ok());
  memory[1].table = 0;  // Whose pages it does not hold.
  EXPECT_FALSE(PagedCache::OfTables(shape, formats, memory).ok());
}

TEST(BlockView, OfASliceCountsItsOwnLayersAndHeads) {
  Engine engine(TwoLayers(), PageOrder::kNhd, KvPlacement::kApart);
  const PagedCache cache = *engine.Cache();
  const uint32_t table[] = {2};
  const Slice slice{IndexRange{1, 1}, IndexRange{2, 3}};
  const BlockView view = *BlockView::Of(cache, table, 0, 4, slice);
  EXPECT_EQ(view.shape(), BlockShape({{2, 2, 5}}, 4));
  EXPECT_EQ(view.Row(1, 0, Plane::kValue, 0).data(), engine.Place(1, Plane::kValue, 2, 1, 2));
}

TEST(BlockView, WritesStraightIntoTheEnginesMemory) {
  Engine engine(TwoLayers(), PageOrder::kHnd, KvPlacement::kPagesFirst);
  const PagedCache cache = *engine.Cache();
  const uint32_t table[] = {4};
  BlockView view = *BlockView::Of(cache, table, 0, 4);
  view.MutableRow(3, 1, Plane::kValue, 3)[9] = std::byte{42};
  EXPECT_EQ(engine.Place(1, Plane::kValue, 4, 3, 3)[9], std::byte{42});
}

// A wrong block table must not reach past the engine's memory.
TEST(BlockView, RefusesPagesThatAreNotThere) {
  Engine engine(TwoLayers(), PageOrder::kNhd, KvPlacement::kApart);
  const PagedCache cache = *engine.Cache();
  const uint32_t table[] = {0, 5};
  EXPECT_TRUE(BlockView::Of(cache, table, 0, 4).ok());
  EXPECT_FALSE(BlockView::Of(cache, table, 4, 4).ok());  // Page 5 of 5.
  EXPECT_FALSE(BlockView::Of(cache, table, 1, 8).ok());  // Ends on a third page.
  EXPECT_FALSE(BlockView::Of(cache, table, 99, 1).ok());
  EXPECT_FALSE(BlockView::Of(cache, table, 0, 0).ok());
  EXPECT_FALSE(BlockView::Of(cache, table, 0, 4, {IndexRange{0, 2}, {}}).ok());
  EXPECT_FALSE(BlockView::Of(cache, table, 0, 4, {{}, IndexRange{0, 2}}).ok());  // Layer 0 has 2.
}

TEST(PagedCache, RefusesBuffersThatDoNotFitTheModel) {
  Engine engine(TwoLayers(), PageOrder::kNhd, KvPlacement::kApart);
  std::vector<LayerMemory>& memory = engine.memory();
  const LayerMemory good = memory[1];
  memory[1].key = good.key.first(good.key.size() - 1);
  EXPECT_FALSE(engine.Cache().ok());
  memory[1] = {good.key, good.value.first(good.value.size() / 5 * 4)};
  EXPECT_FALSE(engine.Cache().ok());
  memory[1] = {good.key.first(good.key.size() / 5 * 4),
               good.value.first(good.value.size() / 5 * 4)};
  EXPECT_FALSE(engine.Cache().ok());  // Four pages, where layer 0 has five.
  memory.pop_back();
  EXPECT_FALSE(engine.Cache().ok());
}

TEST(PagedCache, HoldsMlaWithoutValues) {
  const BlockShape shape({{1, 12, 0}}, 1);
  std::vector<std::byte> latent(12 * 2 * 4 * 3);
  const LayerMemory memory[] = {{latent, {}}};
  const PagedCache cache =
      *PagedCache::Of(shape, {PageOrder::kNhd, KvPlacement::kApart, 4, 2}, memory);
  EXPECT_EQ(cache.page_count(), 3u);
  const uint32_t table[] = {2};
  const BlockView view = *BlockView::Of(cache, table, 0, 4);
  EXPECT_EQ(view.Row(1, 0, Plane::kKey, 0).data(), latent.data() + (2 * 4 + 1) * 24);
  EXPECT_TRUE(view.Row(1, 0, Plane::kValue, 0).empty());
  EXPECT_FALSE(BlockView::Of(cache, table, 0, 4, {{}, IndexRange{0, 0}}).ok());
}

// A range that ends before it begins would count almost 2^32.
TEST(BlockShape, RefusesASliceThatEndsBeforeItBegins) {
  Slice heads;
  heads.heads = IndexRange{1, 0};
  EXPECT_FALSE(TwoLayers().Sliced(heads).ok());
  Slice layers;
  layers.layers = IndexRange{1, 0};
  EXPECT_FALSE(TwoLayers().Sliced(layers).ok());
}

// 2^31 tokens * 2^16 heads * 2^16 values * 2 bytes are 2^64, which is 0.
TEST(PagedCache, RefusesPagesPastTheAddressSpace) {
  const BlockShape shape({{65536, 65536, 65536}}, 1);
  std::vector<std::byte> bytes(64);
  const LayerMemory memory{bytes, bytes};
  const PageFormat format{PageOrder::kNhd, KvPlacement::kApart, 1u << 31, 2};
  EXPECT_FALSE(PagedCache::Of(shape, format, std::span(&memory, 1)).ok());
}

// Memory for 15 pages of heads of 256 values holds 16 of heads of 240, too.
TEST(PagedCache, RefusesAnotherNumberOfPagesThanTheEngineHas) {
  const BlockShape shape({{8, 240, 240}}, 16);
  std::vector<std::byte> plane(size_t{15} * 16 * 8 * 256 * 2);
  const LayerMemory memory{plane, plane};
  PageFormat format{PageOrder::kNhd, KvPlacement::kApart, 16, 2};
  EXPECT_TRUE(PagedCache::Of(shape, format, std::span(&memory, 1)).ok());
  format.page_count = 15;
  EXPECT_FALSE(PagedCache::Of(shape, format, std::span(&memory, 1)).ok());
  format.page_count = 16;
  EXPECT_TRUE(PagedCache::Of(shape, format, std::span(&memory, 1)).ok());
}

TEST(BlockShape, IsMadeFromLayerGroups) {
  LayerGroup sliding;
  sliding.layers = {0, 2};
  sliding.kv_heads = 4;
  sliding.key_size = sliding.value_size = 8;
  LayerGroup full = sliding;
  full.layers = {1};
  full.kv_heads = 2;
  const LayerGroup groups[] = {sliding, full};
  const BlockShape shape(groups, 128);
  EXPECT_EQ(shape.layers()[1].kv_heads, 2u);
  EXPECT_EQ(shape.layers()[2].kv_heads, 4u);
  EXPECT_EQ(shape.values_per_token(), 2 * 4 * 16u + 2 * 16u);
}

}  // namespace
}  // namespace kvcast
