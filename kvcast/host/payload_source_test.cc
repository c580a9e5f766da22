#include "kvcast/host/payload_source.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <string_view>

namespace kvcast {
namespace {

// A pipe in the place of standard input.
class InputTest : public testing::Test {
 protected:
  InputTest() { EXPECT_EQ(::pipe(ends_), 0); }
  ~InputTest() override {
    ::close(ends_[0]);
    End();
  }
  void Type(std::string_view text) {
    ASSERT_EQ(::write(ends_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void End() {
    if (ends_[1] >= 0) {
      ::close(ends_[1]);
    }
    ends_[1] = -1;
  }
  PayloadSource Source(std::optional<uint64_t> size) {
    return *PayloadSource::Open({{"-"}, size, 0, ends_[0]});
  }
  // The next payload; "(not yet)" or "(end)" where there is none.
  static std::string Next(PayloadSource& source) {
    if (!*source.Ready()) {
      return "(not yet)";
    }
    const std::optional<Bytes> payload = *source.Next();
    return payload ? payload->ToString() : "(end)";
  }

  int ends_[2] = {-1, -1};
};

TEST_F(InputTest, WhateverArrivesTogetherIsAnObject) {
  PayloadSource source = Source(std::nullopt);
  EXPECT_EQ(Next(source), "(not yet)");
  Type("one");
  EXPECT_EQ(Next(source), "one");
  EXPECT_EQ(Next(source), "(not yet)");
  Type("two");
  End();
  EXPECT_EQ(Next(source), "two");
  EXPECT_EQ(Next(source), "(end)");
}

// It never waits for the rest, and keeps what it has.
TEST_F(InputTest, AnObjectOfASizeIsGatheredAsItArrives) {
  PayloadSource source = Source(5);
  Type("one");
  EXPECT_EQ(Next(source), "(not yet)");
  EXPECT_EQ(Next(source), "(not yet)");
  Type("two3");
  EXPECT_EQ(Next(source), "onetw");
  EXPECT_EQ(Next(source), "(not yet)");
  End();
  EXPECT_EQ(Next(source), "o3");
  EXPECT_EQ(Next(source), "(end)");
}

}  // namespace
}  // namespace kvcast
