#include "kvcast/io/uring_probe.h"

#include <gtest/gtest.h>

namespace kvcast {
namespace {

// Whether io_uring is there depends on the machine; that the answer makes sense does not.
TEST(UringProbe, SaysWhatThereIsOrWhyThereIsNothing) {
  const UringFacts facts = ProbeUring();
  EXPECT_EQ(facts.available, facts.refusal == 0);
  if (!facts.available) {
    EXPECT_FALSE(facts.registered_buffers);
    EXPECT_TRUE(facts.missing.empty());
  }
}

}  // namespace
}  // namespace kvcast
