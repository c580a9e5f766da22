#include "kvcast/base/result.h"

#include <gtest/gtest.h>

#include <memory>

namespace kvcast {
namespace {

Result<int> Half(int number) {
  if (number % 2 != 0) {
    return Error(ErrorCode::kInvalid, "The number is odd.");
  }
  return number / 2;
}

Result<int> Quarter(int number) {
  KVCAST_TRY(const int half, Half(number));
  return Half(half);
}

Result<void> MustBeEven(int number) {
  KVCAST_TRY_VOID(Half(number));
  return {};
}

TEST(Result, HoldsAValueOrSaysWhyThereIsNone) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_EQ(Quarter(6).error().message(), "The number is odd.");
  EXPECT_TRUE(MustBeEven(2).ok());
  EXPECT_EQ(MustBeEven(3).error().code(), ErrorCode::kInvalid);
}

TEST(Result, CarriesWhatCanOnlyBeMoved) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(7));
  const std::unique_ptr<int> seven = *std::move(result);
  EXPECT_EQ(*seven, 7);
}

// Reading a value that is not there is a bug of ours, never a silent default.
TEST(ResultDeathTest, StopsWhenTheWrongSideIsRead) {
  EXPECT_DEATH(Half(1).value(), "check failed");
  EXPECT_DEATH((void)Half(2).error(), "check failed");
}

TEST(Error, NamesFileOffsetAndReason) {
  const Error error = Error(ErrorCode::kMalformed, "A digit was expected.")
                          .At(17)
                          .At(0)
                          .In("shape")
                          .In("config.json");
  EXPECT_EQ(error.ToString(), "config.json: shape: byte 17: A digit was expected.");
}

}  // namespace
}  // namespace kvcast
