#include "kvcast/io/stream_allowance.h"

#include <gtest/gtest.h>

namespace kvcast {
namespace {

TEST(StreamAllowance, IsWhatThePeerGrants) {
  StreamAllowance allowance;
  EXPECT_EQ(allowance.total(), 0u);
  allowance.OnGranted(100);
  EXPECT_EQ(allowance.total(), 100u);
  allowance.OnClosed();
  EXPECT_EQ(allowance.total(), 100u);
}

TEST(StreamAllowance, GoesOnAsStreamsEndWhereThePeerGrantsAnyNumber) {
  StreamAllowance allowance;
  allowance.OnGranted(uint64_t{1} << 60);
  EXPECT_EQ(allowance.total(), StreamAllowance::kOpenMax);
  allowance.OnClosed();
  EXPECT_EQ(allowance.total(), StreamAllowance::kOpenMax + 1);
}

}  // namespace
}  // namespace kvcast
