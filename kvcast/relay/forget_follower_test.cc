#include "kvcast/relay/forget_follower.h"

#include <gtest/gtest.h>

#include "kvcast/relay/grant.h"

namespace kvcast::relay {
namespace {

TrackName ListTrack(std::string_view tenant, uint8_t node = 1) {
  CatalogTrack track{*TrackNamespace::Of({kServiceField, tenant}), {}, {}};
  track.node.fill(std::byte{node});
  return track.ForgottenName();
}
ForgetList ListOf(const std::vector<std::pair<std::string, uint64_t>>& models) {
  ForgetList list;
  for (const auto& [model, at] : models) {
    list.Add(model, std::nullopt, at);
  }
  return list;
}
constexpr uint64_t kHour = uint64_t{3600} * 1'000'000;

TEST(ForgetFollower, TakesOfAListThatIsNewWhatWasForgottenSinceSomethingWasHere) {
  ForgetFollower follower({});
  EXPECT_TRUE(follower.Hold("acme", 2 * kHour));
  EXPECT_FALSE(follower.Hold("acme", 3 * kHour));
  const ForgetList list = ListOf({{"old", kHour}, {"new", 3 * kHour}});
  const auto batch = follower.OnList("up", ListTrack("acme"), list.Encode());
  ASSERT_EQ(batch->scopes.size(), 1u);
  EXPECT_EQ(batch->scopes[0].model, "new");
  EXPECT_EQ(batch->scopes[0].tenant, "acme");
}

TEST(ForgetFollower, AllowsForClocksThatDiffer) {
  ForgetFollower follower({});
  follower.Hold("acme", kHour);
  const ForgetList list = ListOf({{"m", kHour - ForgetFollower::kClocksApartUs}});
  EXPECT_EQ(follower.OnList("up", ListTrack("acme"), list.Encode())->scopes.size(), 1u);
}

TEST(ForgetFollower, TakesAllOfWhatAnEarlierRunMayHaveMissed) {
  ForgetFollower follower({});
  follower.Hold("acme", 0);
  const ForgetList list = ListOf({{"old", 5}, {"new", kHour}});
  EXPECT_EQ(follower.OnList("up", ListTrack("acme"), list.Encode())->scopes.size(), 2u);
}

TEST(ForgetFollower, TakesNothingTwiceAlsoAfterARestart) {
  ForgetFollower follower({});
  follower.Hold("acme", 0);
  ForgetList list = ListOf({{"a", 1}, {"b", 2}});
  const auto first = follower.OnList("up", ListTrack("acme"), list.Encode());
  EXPECT_EQ(first->scopes.size(), 2u);
  EXPECT_EQ(follower.OnList("up", ListTrack("acme"), list.Encode())->scopes.size(), 0u);
  EXPECT_FALSE(follower.TakeChanged());
  follower.OnGone(*first);
  EXPECT_TRUE(follower.TakeChanged());
  EXPECT_FALSE(follower.TakeChanged());

  ForgetFollower again(follower.memory());
  again.Hold("acme", 0);
  list.Add("c", std::nullopt, 3);
  const auto later = again.OnList("up", ListTrack("acme"), list.Encode());
  ASSERT_EQ(later->scopes.size(), 1u);
  EXPECT_EQ(later->scopes[0].model, "c");
}

// It may have been killed before all was gone.
TEST(ForgetFollower, RemembersOnlyWhatIsGone) {
  ForgetFollower follower({});
  follower.Hold("acme", 0);
  EXPECT_EQ(follower.OnList("up", ListTrack("acme"), ListOf({{"a", 1}}).Encode())->scopes.size(),
            1u);
  EXPECT_TRUE(follower.memory().followed.empty());
}

// An upstream that writes in another's name takes nothing away from what that one tells.
TEST(ForgetFollower, CountsEachUpstreamAndEachWriterByItself) {
  ForgetFollower follower({});
  follower.Hold("acme", 0);
  const ForgetList far = ListOf({{"x", ForgetList::kLastUs}});
  (void)follower.OnList("liar", ListTrack("acme"), far.Encode());
  const ForgetList list = ListOf({{"a", 1}});
  EXPECT_EQ(follower.OnList("up", ListTrack("acme"), list.Encode())->scopes.size(), 1u);
  EXPECT_EQ(follower.OnList("up", ListTrack("acme", 2), list.Encode())->scopes.size(), 1u);
}

TEST(ForgetFollower, RefusesWhatIsNoListOrOneTooMany) {
  ForgetFollower follower({});
  const ForgetList list = ListOf({{"a", 1}});
  EXPECT_FALSE(follower.OnList("up", ListTrack("acme"), Bytes::Of("nonsense")).ok());
  EXPECT_FALSE(follower.OnList("up", ListTrack("acme/model@0"), list.Encode()).ok());
  for (size_t i = 0; i < ForgetFollower::kSourcesMax; ++i) {
    EXPECT_TRUE(follower.OnList("up" + std::to_string(i), ListTrack("acme"), list.Encode()).ok());
  }
  EXPECT_EQ(follower.OnList("one more", ListTrack("acme"), list.Encode()).error().code(),
            ErrorCode::kTooLarge);
  EXPECT_TRUE(follower.OnList("up0", ListTrack("acme"), list.Encode()).ok());
}

}  // namespace
}  // namespace kvcast::relay
