#include "kvcast/object/object.h"

#include <gtest/gtest.h>

namespace kvcast {
namespace {

Object Sample() {
  Object object;
  object.location = {3, 17};
  object.subgroup = 1;
  object.properties = PropertiesBuilder()
                          .Number(2, 9)
                          .Immutable(PropertiesBuilder().Bytes(0x3801, "key").Build())
                          .Build();
  object.payload = Bytes::Of("payload");
  return object;
}

TEST(Object, IsConsistentWithItselfSentAgain) { EXPECT_TRUE(Sample().ConsistentWith(Sample())); }

// A name never yields two payloads; nor may any header field change under it.
TEST(Object, IsNotConsistentWithAnyChangeOfWhatIsFixed) {
  Object other = Sample();
  other.payload = Bytes::Of("Payload");
  EXPECT_FALSE(Sample().ConsistentWith(other));
  other = Sample();
  other.priority = 1;
  EXPECT_FALSE(Sample().ConsistentWith(other));
  other = Sample();
  other.subgroup = 2;
  EXPECT_FALSE(Sample().ConsistentWith(other));
  other = Sample();
  other.forwarding = Forwarding::kDatagram;
  EXPECT_FALSE(Sample().ConsistentWith(other));
  other = Sample();
  other.status = ObjectStatus::kEndOfGroup;
  EXPECT_FALSE(Sample().ConsistentWith(other));
  other = Sample();
  other.properties = PropertiesBuilder().Number(2, 9).Build();
  EXPECT_FALSE(Sample().ConsistentWith(other));
}

TEST(Object, MayHaveItsMutablePropertiesChangedByARelay) {
  Object other = Sample();
  other.properties = PropertiesBuilder()
                         .Number(2, 10)
                         .Immutable(PropertiesBuilder().Bytes(0x3801, "key").Build())
                         .Build();
  EXPECT_TRUE(Sample().ConsistentWith(other));
}

}  // namespace
}  // namespace kvcast
