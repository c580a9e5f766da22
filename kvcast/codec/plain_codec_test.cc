#include "kvcast/codec/plain_codec.h"

#include <gtest/gtest.h>

#include "kvcast/base/check_sum.h"
#include "kvcast/base/hex.h"
#include "kvcast/base/random.h"

namespace kvcast {
namespace {

const BlockShape& Shape() {
  static const BlockShape shape({{2, 3, 3}, {4, 2, 5}, {1, 7, 0}}, 6);
  return shape;
}

// An engine's memory of 3 pages of 4 tokens, in one of its possible layouts.
class Engine {
 public:
  Engine(PageOrder order, KvPlacement placement, uint64_t seed) {
    const PageFormat format{order, placement, 4, 2};
    std::vector<LayerMemory> memory;
    for (const LayerShape& layer : Shape().layers()) {
      const bool apart = placement == KvPlacement::kApart;
      const size_t token = 12 * 2 * layer.kv_heads;
      buffers_.emplace_back(token * (apart ? layer.key_size : layer.key_size + layer.value_size));
      buffers_.emplace_back(apart ? token * layer.value_size : 0);
    }
    Random random(seed);
    for (size_t i = 0; i < buffers_.size(); i += 2) {
      random.Fill(buffers_[i]);
      random.Fill(buffers_[i + 1]);
      memory.push_back({buffers_[i], buffers_[i + 1]});
    }
    cache_.emplace(*PagedCache::Of(Shape(), format, memory));
  }
  BlockView Block() const { return *BlockView::Of(*cache_, std::vector<uint32_t>{2, 0, 1}, 3, 6); }

 private:
  std::vector<std::vector<std::byte>> buffers_;
  std::optional<PagedCache> cache_;
};

bool SameValues(const BlockView& a, const BlockView& b) {
  for (uint32_t token = 0; token < Shape().tokens(); ++token) {
    for (size_t layer = 0; layer < Shape().layers().size(); ++layer) {
      for (const Plane plane : {Plane::kKey, Plane::kValue}) {
        for (uint32_t head = 0; head < Shape().layers()[layer].kv_heads; ++head) {
          if (!std::ranges::equal(a.Row(token, layer, plane, head),
                                  b.Row(token, layer, plane, head))) {
            return false;
          }
        }
      }
    }
  }
  return true;
}

// Engines with other page layouts share: what one wrote, another reads.
TEST(PlainCodec, CarriesABlockFromAnyLayoutIntoAnyOther) {
  const PlainCodec codec(Rung::kBf16, Shape());
  uint64_t seed = 0;
  for (const PageOrder from : {PageOrder::kNhd, PageOrder::kHnd}) {
    for (const KvPlacement to :
         {KvPlacement::kApart, KvPlacement::kPlanesFirst, KvPlacement::kPagesFirst}) {
      const Engine a(from, KvPlacement::kPagesFirst, ++seed);
      const Engine b(from == PageOrder::kNhd ? PageOrder::kHnd : PageOrder::kNhd, to, ++seed);
      const std::vector<Bytes> payloads = codec.Encode(a.Block());
      ASSERT_EQ(payloads.size(), Shape().tokens());
      BlockView target = b.Block();
      ASSERT_FALSE(SameValues(a.Block(), target));
      for (uint32_t token = Shape().tokens(); token-- > 0;) {  // In any order.
        ASSERT_TRUE(codec.DecodeToken(payloads[token], token, target).ok());
      }
      EXPECT_TRUE(SameValues(a.Block(), target));
    }
  }
}

// The bytes are a contract with other versions and languages.
TEST(PlainCodec, WritesTheCanonicalOrder) {
  const BlockShape shape({{2, 1, 1}}, 1);
  std::vector<std::byte> keys = *FromHex("01020304");
  std::vector<std::byte> values = *FromHex("05060708");
  const LayerMemory memory[] = {{keys, values}};
  const PagedCache cache =
      *PagedCache::Of(shape, {PageOrder::kNhd, KvPlacement::kApart, 1, 2}, memory);
  const uint32_t table[] = {0};
  const BlockView block = *BlockView::Of(cache, table, 0, 1);
  const std::string payload = PlainCodec(Rung::kBf16, shape).Encode(block)[0].ToString();
  EXPECT_EQ(ToHex(AsBytes(payload.substr(0, 4))), "01010000");
  EXPECT_EQ(ToHex(AsBytes(payload.substr(8))), "0102030405060708");
}

TEST(PlainCodec, WritesNothingFromADamagedObject) {
  const PlainCodec codec(Rung::kBf16, Shape());
  const Engine a(PageOrder::kNhd, KvPlacement::kApart, 1);
  const Engine b(PageOrder::kNhd, KvPlacement::kApart, 2);
  const Engine untouched(PageOrder::kNhd, KvPlacement::kApart, 2);
  const std::string good = codec.Encode(a.Block())[0].ToString();
  BlockView target = b.Block();
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(codec.DecodeToken(Bytes::Of(bad), 0, target).ok()) << bit;
  }
  EXPECT_FALSE(codec.DecodeToken(Bytes::Of(good.substr(1)), 0, target).ok());
  EXPECT_FALSE(codec.DecodeToken(Bytes::Of(good + "x"), 0, target).ok());
  EXPECT_FALSE(PlainCodec(Rung::kFp16, Shape()).DecodeToken(Bytes::Of(good), 0, target).ok());
  EXPECT_TRUE(SameValues(target, untouched.Block()));
}

}  // namespace
}  // namespace kvcast
