#include "kvcast/relay/subscription.h"

#include <gtest/gtest.h>

#include "kvcast/moqt/session_pair.h"

namespace kvcast::relay {
namespace {

using Filter = moqt::SubscriptionFilter;

constexpr uint64_t kMax = LocationRange::kWholeGroup;

TrackFacts FactsUpTo(Location largest) {
  TrackFacts facts;
  facts.largest = largest;
  return facts;
}

// A subscriber of a track, on a connection made of memory.
class SubscriptionTest : public testing::Test {
 protected:
  SubscriptionTest() { Begin(); }

  // Of another track each time.
  void Begin() {
    asked_ = *pair_.client().Subscribe(*TrackName::Of({}, "t" + std::to_string(++tracks_)), {});
    pair_.Run();
    request_ = pair_.One<moqt::SubscribeReceived>(pair_.server()).request;
    EXPECT_TRUE(pair_.server().AcceptSubscribe(request_, {}, {}).ok());
    subscription_.emplace(pair_.server(), request_, LocationRange{{0, 0}, {kMax, kMax}},
                          TrackFacts());
  }

  bool Forward(Location at, std::optional<uint64_t> previous) {
    Object object;
    object.location = at;
    return subscription_->Forward({object, previous, at.object == 0, true}, Instant());
  }
  // "0.1" for an object, ")" where a stream ended well, "!" where it was reset; by stream.
  std::string Seen() {
    pair_.Run();
    std::map<moqt::StreamId, std::string> streams;
    while (const std::optional<moqt::Received> item = pair_.client().Take(asked_)) {
      if (const auto* received = std::get_if<moqt::ReceivedObject>(&*item)) {
        const Location at = received->object.location;
        streams[received->stream] +=
            std::to_string(at.group) + "." + std::to_string(at.object) + " ";
      } else if (const auto* end = std::get_if<moqt::SubgroupEnd>(&*item)) {
        streams[end->stream] += end->complete ? ")" : "!";
      }
    }
    std::string all;
    for (const auto& [id, text] : streams) {
      all += (all.empty() ? "" : "| ") + text;
    }
    return all;
  }

  moqt::SessionPair pair_;
  uint64_t tracks_ = 0;
  moqt::RequestId asked_ = 0;
  moqt::RequestId request_ = 0;
  std::optional<Subscription> subscription_;
};

TEST_F(SubscriptionTest, SendsASubgroupOnOneStream) {
  EXPECT_TRUE(Forward({0, 0}, std::nullopt));
  EXPECT_TRUE(Forward({0, 1}, 0));
  EXPECT_TRUE(Forward({0, 7}, 1));  // On the publisher's stream nothing stood between.
  subscription_->EndSubgroup(0, 0, true, Instant());
  EXPECT_EQ(Seen(), "0.0 0.1 0.7 )");
}

// What is here from an earlier life, or by a fetch, is not sent to those who follow: they must not
// take what they got of its group for all of it.
TEST_F(SubscriptionTest, AStreamThatWasPassedOverDoesNotEndWell) {
  EXPECT_TRUE(Forward({0, 0}, std::nullopt));
  subscription_->PassOver({0, 0}, 0);  // By another publisher.
  EXPECT_TRUE(Forward({0, 1}, 0));
  subscription_->EndSubgroup(0, 0, true, Instant());
  EXPECT_TRUE(Forward({1, 0}, std::nullopt));
  EXPECT_EQ(Seen(), "0.0 0.1 )| 1.0 ");
  subscription_->PassOver({1, 1}, 0);
  subscription_->EndSubgroup(1, 0, true, Instant());
  EXPECT_EQ(Seen(), "!");
}

// Another publisher's stream brings the next object, or one that may not be.
TEST_F(SubscriptionTest, BreaksAStreamOffWhereSomethingMayBeMissing) {
  EXPECT_TRUE(Forward({0, 0}, std::nullopt));
  EXPECT_TRUE(Forward({0, 1}, std::nullopt));
  EXPECT_EQ(Seen(), "0.0 0.1 ");
  EXPECT_TRUE(Forward({0, 3}, std::nullopt));
  subscription_->EndSubgroup(0, 0, true, Instant());
  EXPECT_EQ(Seen(), "!| 0.3 )");
}

TEST_F(SubscriptionTest, SendsGroupsOnStreamsOfTheirOwn) {
  EXPECT_TRUE(Forward({0, 0}, std::nullopt));
  EXPECT_TRUE(Forward({1, 0}, std::nullopt));
  EXPECT_EQ(Seen(), "0.0 | 1.0 ");
  subscription_->EndSubgroup(0, 0, false, Instant());
  EXPECT_EQ(Seen(), "!");
}

TEST_F(SubscriptionTest, EndsNoStreamWellThatLeftSomethingOut) {
  EXPECT_TRUE(Forward({0, 0}, std::nullopt));
  EXPECT_EQ(Seen(), "0.0 ");
  moqt::Parameters paused;
  paused.forward = false;
  subscription_->Update(paused, TrackFacts());
  EXPECT_TRUE(Forward({0, 2}, 1));
  EXPECT_EQ(Seen(), "!| 0.2 ");
  subscription_->EndSubgroup(0, 0, true, Instant());
  EXPECT_EQ(Seen(), "!");
}

TEST_F(SubscriptionTest, OpensNoStreamAgainThatTheSubscriberStopped) {
  EXPECT_TRUE(Forward({0, 0}, std::nullopt));
  pair_.Run();
  const auto received = std::get<moqt::ReceivedObject>(*pair_.client().Take(asked_));
  pair_.server().OnStopSending(received.stream, 1);
  subscription_->OnStopped(pair_.One<moqt::SubgroupStopped>(pair_.server()).subgroup);
  EXPECT_FALSE(Forward({0, 1}, 0));
  EXPECT_TRUE(Forward({1, 0}, std::nullopt));
}

TEST_F(SubscriptionTest, GoesOnWithItsStreamsWhenMoreIsWanted) {
  moqt::Parameters filter;
  filter.filter = Filter{Filter::Type::kAbsoluteRange, {0, 0}, 5};
  subscription_->Update(filter, TrackFacts());
  EXPECT_TRUE(Forward({0, 0}, std::nullopt));
  EXPECT_TRUE(Forward({0, 1}, 0));
  filter.filter->end_group = 10;
  subscription_->Update(filter, FactsUpTo({0, 1}));
  EXPECT_TRUE(Forward({0, 2}, 1));
  subscription_->EndSubgroup(0, 0, true, Instant());
  EXPECT_EQ(Seen(), "0.0 0.1 0.2 )");
}

TEST_F(SubscriptionTest, BreaksOffWhatIsNoLongerWanted) {
  for (uint64_t group = 0; group < 3; ++group) {
    EXPECT_TRUE(Forward({group, 0}, std::nullopt));
  }
  EXPECT_EQ(Seen(), "0.0 | 1.0 | 2.0 ");
  moqt::Parameters narrowed;
  narrowed.filter = Filter{Filter::Type::kAbsoluteRange, {1, 1}, 1};
  subscription_->Update(narrowed, FactsUpTo({2, 0}));
  EXPECT_EQ(Seen(), "!| !");
  EXPECT_TRUE(Forward({1, 1}, 0));
  subscription_->EndSubgroup(1, 0, true, Instant());
  EXPECT_EQ(Seen(), "1.1 )");
}

// What comes before the start is nobody's; what came beyond the end is missed once it is wanted.
TEST_F(SubscriptionTest, EndsAStreamWellThatLacksOnlyWhatIsBeforeItsStart) {
  moqt::Parameters filter;
  filter.filter = Filter{Filter::Type::kAbsoluteRange, {0, 2}, 0};
  subscription_->Update(filter, TrackFacts());
  EXPECT_FALSE(Forward({0, 1}, std::nullopt));
  EXPECT_FALSE(Forward({1, 0}, std::nullopt));
  filter.filter->end_group = 1;
  subscription_->Update(filter, FactsUpTo({1, 0}));
  EXPECT_TRUE(Forward({0, 2}, 1));
  EXPECT_TRUE(Forward({1, 1}, 0));
  EXPECT_EQ(Seen(), "0.2 | 1.1 ");
  subscription_->EndSubgroup(0, 0, true, Instant());
  subscription_->EndSubgroup(1, 0, true, Instant());
  EXPECT_EQ(Seen(), ")| !");
}

// A stream says as much as PUBLISH_DONE does, where it can.
TEST_F(SubscriptionTest, ResetsItsStreamsForTheReasonThatEndsIt) {
  const std::pair<moqt::DoneCode, moqt::ResetCode> expected[] = {
      {moqt::DoneCode::kTooFarBehind, moqt::ResetCode::kTooFarBehind},
      {moqt::DoneCode::kMalformedTrack, moqt::ResetCode::kMalformedTrack},
      {moqt::DoneCode::kSubscriptionEnded, moqt::ResetCode::kCancelled}};
  for (const auto& [done, reset] : expected) {
    Begin();
    EXPECT_TRUE(Forward({0, 0}, std::nullopt));
    pair_.Run();
    subscription_->End(done, "");
    std::vector<uint64_t> codes;
    while (const std::optional<moqt::TransportAction> action = pair_.server().NextAction()) {
      if (const auto* given_up = std::get_if<moqt::ResetStream>(&*action)) {
        codes.push_back(given_up->code);
      }
    }
    EXPECT_EQ(codes, std::vector<uint64_t>{static_cast<uint64_t>(reset)});
  }
}

TEST_F(SubscriptionTest, SendsNothingOutsideItsFilter) {
  moqt::Parameters narrowed;
  narrowed.filter = Filter{Filter::Type::kAbsoluteRange, {1, 1}, 1};
  subscription_->Update(narrowed, TrackFacts());
  EXPECT_FALSE(Forward({0, 0}, std::nullopt));
  EXPECT_FALSE(Forward({1, 0}, std::nullopt));
  EXPECT_TRUE(Forward({1, 1}, 0));
  EXPECT_FALSE(Forward({2, 0}, std::nullopt));
}

// A subscriber says nothing for as long as it has what it wants, and its session hears no time.
TEST(SubscriptionClock, TimesOutFromWhenAStreamEndedNotFromWhenThePeerLastSpoke) {
  moqt::SessionPair pair;
  moqt::Parameters wanted;
  wanted.subgroup_delivery_timeout_ms = 1000;
  (void)*pair.client().Subscribe(*TrackName::Of({}, "t"), wanted);
  pair.Run();
  const moqt::RequestId request = pair.One<moqt::SubscribeReceived>(pair.server()).request;
  ASSERT_TRUE(pair.server().AcceptSubscribe(request, {}, {}).ok());
  Subscription subscription(pair.server(), request, {{0, 0}, {kMax, kMax}}, TrackFacts());
  const Instant later = Instant() + std::chrono::hours(1);
  EXPECT_TRUE(subscription.Forward({Object(), std::nullopt, true, true}, later));
  subscription.EndSubgroup(0, 0, true, later);
  ASSERT_TRUE(pair.server().deadline().has_value());
  EXPECT_GT(*pair.server().deadline(), later);
}

}  // namespace
}  // namespace kvcast::relay
