#include "kvcast/kv/track_properties.h"

#include <gtest/gtest.h>

#include "kvcast/catalog/acknowledgement.h"
#include "kvcast/kv/cache_track.h"

namespace kvcast {
namespace {

TEST(TrackProperties, CarryAFormatBesideWhatIsThere) {
  const Properties durable = DurabilityProperties(Durability::kDisk);
  const Properties both = WithFormat(durable, "format");
  EXPECT_EQ(**FormatIn(both), "format");
  EXPECT_EQ(*DurabilityIn(both), Durability::kDisk);
  EXPECT_EQ(**FormatIn(WithFormat({}, "")), "");
  EXPECT_FALSE(FormatIn(durable)->has_value());
  const Properties number = PropertiesBuilder().Number(0x3900, 7).Build();
  EXPECT_EQ(WithFormat(number, "f").Find(0x3900)->number, 7u);
}

// Outside it is somebody else's claim.
TEST(TrackProperties, TakeAFormatOnlyFromWhereNoRelayMayTouchIt) {
  const Properties outside = PropertiesBuilder().Bytes(kFormatProperty, "format").Build();
  EXPECT_FALSE(FormatIn(outside)->has_value());
  const Properties twice =
      PropertiesBuilder().Bytes(kFormatProperty, "a").Bytes(kFormatProperty, "b").Build();
  EXPECT_EQ(FormatIn(PropertiesBuilder().Immutable(twice).Build()).error().offset(), 2u + 4);
}

TEST(TrackProperties, ARunDeclaresTheIdsThatItSwallowed) {
  const BlockHash hash = Sha256::Of("block");
  EXPECT_EQ(**BlockHashIn(ObjectProperties(hash, 0, 16)), hash);
  EXPECT_FALSE(ObjectProperties(hash, 0, 16).Find(property::kPriorObjectIdGap));
  EXPECT_EQ(ObjectProperties(hash, 16, 16).Find(property::kPriorObjectIdGap)->number, 15u);
  EXPECT_TRUE(ObjectProperties(hash, 1, 1).empty());
  EXPECT_TRUE(RunProperties(0, 16).empty());
  EXPECT_EQ(RunProperties(16, 16), ObjectProperties(hash, 16, 16));
}

}  // namespace
}  // namespace kvcast
