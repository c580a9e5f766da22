#include "kvcast/base/check_sum.h"

#include <gtest/gtest.h>

#include <string>

namespace kvcast {
namespace {

TEST(Crc32c, AgreesWithTheStandard) {  // RFC 3720, B.4.
  EXPECT_EQ(Crc32c(AsBytes(std::string(32, '\0'))), 0x8a9136aau);
  EXPECT_EQ(Crc32c(AsBytes(std::string(32, '\xff'))), 0x62a8ab43u);
  EXPECT_EQ(Crc32c(AsBytes("6789"), Crc32c(AsBytes("12345"))), Crc32c(AsBytes("123456789")));
  EXPECT_EQ(Crc32c(AsBytes("123456789")), 0xe3069283u);
}

TEST(Crc32c, IsTheSameHoweverTheBytesAreCut) {
  Bytes cut = Bytes::Of("12345");
  cut.Append(Bytes::Of("6789"));
  EXPECT_EQ(Crc32c(cut), 0xe3069283u);
  EXPECT_EQ(Crc32c(cut, 7), Crc32c(AsBytes("123456789"), 7));
}

}  // namespace
}  // namespace kvcast
