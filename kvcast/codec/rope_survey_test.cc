#include "kvcast/codec/rope_survey.h"

#include <gtest/gtest.h>

#include "kvcast/codec/band_rows.h"
#include "kvcast/codec/coded_pages_test.h"

namespace kvcast {
namespace {

const Rope kSaid{0, false, {uint64_t{1} << 61, uint64_t{1} << 59, uint64_t{1} << 57}};

// Keys with means of their own, turned by `rope`.
void FillTurned(const Rope& rope, TestPages& pages) {
  BlockView block = pages.Block();
  Random random(4);
  const TurnTable turns(rope, block.position(), block.shape().tokens());
  for (uint32_t token = 0; token < block.shape().tokens(); ++token) {
    for (uint32_t layer = 0; layer < block.shape().layers().size(); ++layer) {
      float head[8] = {};
      for (int i = 0; i < 8; ++i) {
        head[i] = static_cast<float>(i % 3) * 2 - 3 + static_cast<float>(random.Below(100)) / 100;
      }
      turns.Turn(token, head);
      for (int i = 0; i < 8; ++i) {
        const uint16_t bits = FloatToBf16(head[i]);
        std::memcpy(block.MutableRow(token, layer, Plane::kKey, 0).data() + i * 2, &bits, 2);
      }
    }
  }
}

TEST(RopeSurvey, SeesHowKeysAreTurned) {
  Rope adjacent = kSaid;
  adjacent.adjacent = true;
  for (const Rope& rope : {kSaid, adjacent, Rope()}) {
    const std::vector<LayerShape> layers(2, LayerShape{1, 8, 2});
    TestPages pages(BlockShape(layers, 64));
    FillTurned(rope, pages);
    RopeSurvey survey(layers, HalfType::kBf16, std::vector<Rope>(2, kSaid));
    survey.Add(pages.Block());
    EXPECT_EQ(survey.Ropes(), std::vector<Rope>(2, rope));
  }
}

}  // namespace
}  // namespace kvcast
