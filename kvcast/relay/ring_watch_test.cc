#include "kvcast/relay/ring_watch.h"

#include <gtest/gtest.h>

namespace kvcast::relay {
namespace {

NodeId IdOf(int number) {
  NodeId id;
  id.fill(static_cast<std::byte>(number));
  return id;
}

TEST(RingWatch, KnowsItsOwnQuestionAgain) {
  RingWatch watch(IdOf(1), 5);
  const TrackName first = watch.QuestionFor(10);
  const TrackName second = watch.QuestionFor(11);
  EXPECT_NE(first, second);
  EXPECT_TRUE(RingWatch::IsQuestion(first));
  EXPECT_EQ(watch.On(second, Instant()).ring, PeerId{11});
  EXPECT_FALSE(watch.On(second, Instant()).ring.has_value());  // Once.
  // One that was asked again, or has gone, is not found by an old question.
  (void)watch.QuestionFor(10);
  EXPECT_FALSE(watch.On(first, Instant()).ring.has_value());
}

// So that of a ring one member hears its own question, and no other does.
TEST(RingWatch, PassesOnQuestionsOfLargerIdsAlone) {
  RingWatch large(IdOf(2), 5);
  RingWatch small(IdOf(1), 6);
  const TrackName of_large = large.QuestionFor(10);
  EXPECT_TRUE(small.On(of_large, Instant()).pass_on);
  EXPECT_FALSE(small.On(of_large, Instant()).pass_on);  // Once: it would go round for ever.
  const RingWatch::Answer answer = large.On(small.QuestionFor(10), Instant());
  EXPECT_FALSE(answer.pass_on);
  EXPECT_TRUE(answer.ask);
}

TEST(RingWatch, PassesOnOnlySoMany) {
  RingWatch watch(IdOf(1), 5);
  size_t passed = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    RingWatch other(IdOf(2), i);
    passed += watch.On(other.QuestionFor(1), Instant()).pass_on ? size_t{1} : size_t{0};
  }
  EXPECT_EQ(passed, RingWatch::kPassedPerSecond);
  RingWatch other(IdOf(2), 5000);
  EXPECT_TRUE(watch.On(other.QuestionFor(1), Instant() + std::chrono::seconds(2)).pass_on);
}

}  // namespace
}  // namespace kvcast::relay
