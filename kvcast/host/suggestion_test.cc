#include "kvcast/host/suggestion.h"

#include <gtest/gtest.h>

#include <vector>

namespace kvcast {
namespace {

const std::vector<std::string> kKnown = {"doctor", "inspect", "name", "version"};

TEST(Suggestion, SeesThroughSlipsOfTheHand) {
  EXPECT_EQ(Suggestion("docter", kKnown), "doctor");
  EXPECT_EQ(Suggestion("dcotor", kKnown), "doctor");
  EXPECT_EQ(Suggestion("versions", kKnown), "version");
  EXPECT_EQ(Suggestion("nmae", kKnown), "name");
}

TEST(Suggestion, CompletesWhatWasBegun) { EXPECT_EQ(Suggestion("insp", kKnown), "inspect"); }

// A wrong guess is worse than none.
TEST(Suggestion, DoesNotGuess) {
  EXPECT_EQ(Suggestion("publish", kKnown), std::nullopt);
  EXPECT_EQ(Suggestion("x", kKnown), std::nullopt);
  EXPECT_EQ(Suggestion("", kKnown), std::nullopt);
  EXPECT_EQ(Suggestion("doctor", {}), std::nullopt);
}

}  // namespace
}  // namespace kvcast
