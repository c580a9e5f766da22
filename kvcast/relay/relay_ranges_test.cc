// Subscriptions that want no more than a last group: they end when that has come, and not before.
#include <gtest/gtest.h>

#include <set>

#include "kvcast/relay/relay_world_test.h"

namespace kvcast::relay {
namespace {

using moqt::DoneCode;
using Filter = moqt::SubscriptionFilter;

constexpr Duration kMoment = std::chrono::milliseconds(1);

moqt::Parameters RangeOf(Location first, uint64_t last_group) {
  moqt::Parameters parameters;
  parameters.filter = Filter{Filter::Type::kAbsoluteRange, first, last_group};
  return parameters;
}

// A publisher, and one who wants groups 0 and 1 of its track.
class RelayRanges : public testing::Test {
 protected:
  RelayRanges() : RelayRanges(RelayWorld::Options()) {}
  explicit RelayRanges(const RelayWorld::Options& options) : world_(options) {
    published_ = *publisher_->Publish(track_, {}, {});
    world_.Run();
    subscribed_ = *subscriber_->Subscribe(track_, RangeOf({0, 0}, 1));
    world_.Run();
  }

  moqt::StreamId Open(uint64_t group, bool ends_group = true, uint64_t subgroup = 0) {
    moqt::SubgroupHeader header;
    header.group = group;
    header.properties = true;
    header.end_of_group = ends_group;
    header.first_object = true;
    header.mode =
        subgroup == 0 ? moqt::SubgroupHeader::Mode::kZero : moqt::SubgroupHeader::Mode::kExplicit;
    header.subgroup = subgroup;
    return *publisher_->OpenSubgroup(published_, header);
  }
  void Send(moqt::StreamId stream, Location at, uint64_t subgroup = 0, size_t bytes = 100) {
    Object object = ObjectAt(track_, at, bytes);
    object.subgroup = subgroup;
    ASSERT_TRUE(publisher_->SendObject(published_, stream, object).ok());
  }
  void End(moqt::StreamId stream) { ASSERT_TRUE(publisher_->EndSubgroup(published_, stream).ok()); }
  // A group of whose end nobody is told.
  void SendOpenGroup(uint64_t group, uint64_t objects) {
    const moqt::StreamId stream = Open(group, false);
    for (uint64_t i = 0; i < objects; ++i) {
      Send(stream, {group, i});
    }
    End(stream);
  }
  void SendGroup(uint64_t group, uint64_t objects) {
    publisher_.SendGroup(published_, track_, group, objects);
  }

  std::set<Location> Seen() {
    brought_.TakeFrom(subscriber_.session(), subscribed_);
    std::set<Location> seen;
    for (const Object& object : brought_.objects) {
      EXPECT_TRUE(seen.insert(object.location).second);
    }
    return seen;
  }
  bool HasEnded() {
    world_.Run();
    done_ = subscriber_.Take<moqt::PublishDoneReceived>();
    EXPECT_LE(done_.size(), 1u);
    return !done_.empty();
  }
  // It has ended as it should: every stream that was counted has come, and none was broken off.
  void ExpectWell(uint64_t streams) {
    (void)Seen();
    ASSERT_EQ(done_.size(), 1u);
    EXPECT_EQ(done_[0].done.code, DoneCode::kSubscriptionEnded);
    EXPECT_EQ(done_[0].done.streams, streams);
    ASSERT_TRUE(brought_.track_end.has_value());
    EXPECT_TRUE(brought_.track_end->complete);
    EXPECT_EQ(brought_.subgroups.size(), streams);
    for (const moqt::SubgroupEnd& end : brought_.subgroups) {
      EXPECT_TRUE(end.complete);
    }
    EXPECT_EQ(world_.relay().deadline(), std::nullopt);
  }
  void Wait(Duration duration) {
    world_.Wait(duration);
    world_.Run();
  }

  RelayWorld world_;
  TrackName track_ = *TrackName::Of(*TrackNamespace::Of({"a"}), "t");
  Client& publisher_ = world_.Join();
  Client& subscriber_ = world_.Join();
  RequestId published_ = 0;
  RequestId subscribed_ = 0;
  Brought brought_;
  std::vector<moqt::PublishDoneReceived> done_;
  const Duration patience_ = Limits().range_patience;
};

using Locations = std::set<Location>;

TEST_F(RelayRanges, EndWhenEveryGroupHasComeWhole) {
  SendGroup(0, 2);
  EXPECT_FALSE(HasEnded());
  SendGroup(1, 1);
  EXPECT_TRUE(HasEnded());
  ExpectWell(2);
  EXPECT_EQ(Seen(), (Locations{{0, 0}, {0, 1}, {1, 0}}));
}

// In any order, and in any cut.
TEST(RelayRangesInAnyOrder, BringEveryObject) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    RelayWorld::Options options;
    options.seed = seed;
    options.connection.cut_max = 50;
    RelayWorld world(options);
    Client& publisher = world.Join();
    Client& subscriber = world.Join();
    const TrackName track = *TrackName::Of(*TrackNamespace::Of({"a"}), "t");
    const RequestId published = *publisher->Publish(track, {}, {});
    world.Run();
    const RequestId subscribed = *subscriber->Subscribe(track, RangeOf({1, 0}, 3));
    world.Run();
    for (uint64_t group = 6; group-- > 0;) {
      publisher.SendGroup(published, track, group, 3);
    }
    world.Run();
    Brought brought;
    brought.TakeFrom(subscriber.session(), subscribed);
    EXPECT_EQ(brought.objects.size(), 9u);
    const auto done = subscriber.One<moqt::PublishDoneReceived>();
    EXPECT_EQ(done.done.code, DoneCode::kSubscriptionEnded);
    EXPECT_EQ(done.done.streams, 3u);
    ASSERT_TRUE(brought.track_end.has_value());
    EXPECT_TRUE(brought.track_end->complete);
  }
}

TEST_F(RelayRanges, BringWhatComesBehindALaterGroup) {
  SendGroup(2, 2);
  EXPECT_FALSE(HasEnded());
  SendGroup(1, 2);
  EXPECT_FALSE(HasEnded());
  SendGroup(0, 2);
  EXPECT_TRUE(HasEnded());
  ExpectWell(2);
  EXPECT_EQ(Seen(), (Locations{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
}

// A group with two subgroups is whole when the second has come.
TEST_F(RelayRanges, WaitForEverySubgroup) {
  SendGroup(0, 1);
  const moqt::StreamId last = Open(1, true, 1);
  Send(last, {1, 1}, 1);
  End(last);
  SendGroup(2, 1);
  EXPECT_FALSE(HasEnded());
  const moqt::StreamId first = Open(1, false, 0);
  Send(first, {1, 0}, 0);
  EXPECT_TRUE(HasEnded());  // The publisher's stream is still open, and has nothing to bring.
  ExpectWell(3);
  EXPECT_EQ(Seen(), (Locations{{0, 0}, {1, 0}, {1, 1}}));
}

TEST_F(RelayRanges, EndAfterAWhileWhereNobodyKnowsWhetherMoreComes) {
  SendOpenGroup(0, 1);
  SendOpenGroup(1, 1);
  EXPECT_FALSE(HasEnded());
  Wait(patience_ * 10);  // The track may still be in its group 1.
  EXPECT_FALSE(HasEnded());
  SendOpenGroup(2, 1);
  EXPECT_FALSE(HasEnded());
  Wait(patience_ - kMoment);
  EXPECT_FALSE(HasEnded());
  Wait(kMoment);
  EXPECT_TRUE(HasEnded());
  ExpectWell(2);
  EXPECT_EQ(Seen(), (Locations{{0, 0}, {1, 0}}));
}

TEST_F(RelayRanges, WaitAnewAfterEveryObject) {
  SendOpenGroup(2, 1);
  for (uint64_t i = 0; i < 5; ++i) {
    Wait(patience_ - kMoment);
    const moqt::StreamId stream = Open(0, false, i);
    Send(stream, {0, i}, i);
    End(stream);
    world_.Run();
    SendOpenGroup(3 + i, 1);  // More of what is not wanted changes nothing.
    EXPECT_FALSE(HasEnded());
  }
  Wait(patience_);
  EXPECT_TRUE(HasEnded());
  ExpectWell(5);
  EXPECT_EQ(Seen().size(), 5u);
}

TEST_F(RelayRanges, WaitForStreamsThatAreOpen) {
  const moqt::StreamId open = Open(1);
  Send(open, {1, 0});
  world_.Run();
  SendOpenGroup(2, 1);
  world_.Run();
  Wait(patience_ * 10);
  EXPECT_FALSE(HasEnded());
  Send(open, {1, 1});
  End(open);
  EXPECT_FALSE(HasEnded());
  Wait(patience_);
  EXPECT_TRUE(HasEnded());
  ExpectWell(1);
  EXPECT_EQ(Seen(), (Locations{{1, 0}, {1, 1}}));
}

// Of group 0 nothing has come but the beginning of its first object.
TEST_F(RelayRanges, WaitForAnObjectOfWhichOnlyAPartHasCome) {
  RelayWorld::Options options;
  options.connection.cut_max = 50;
  RelayWorld world(options);
  Client& publisher = world.Join();
  Client& subscriber = world.Join();
  const RequestId published = *publisher->Publish(track_, {}, {});
  world.Run();
  const RequestId subscribed = *subscriber->Subscribe(track_, RangeOf({0, 0}, 0));
  world.Run();
  publisher.SendGroup(published, track_, 1, 1);
  world.Run();
  const moqt::StreamId stream = publisher.OpenGroup(published, 0);
  ASSERT_TRUE(publisher->SendObject(published, stream, ObjectAt(track_, {0, 0}, 10'000)).ok());
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(world.Step());
  }
  world.Wait(patience_ * 2);
  world.Run();
  EXPECT_TRUE(subscriber.Take<moqt::PublishDoneReceived>().empty());
  ASSERT_TRUE(publisher->EndSubgroup(published, stream).ok());
  world.Run();
  EXPECT_EQ(subscriber.One<moqt::PublishDoneReceived>().done.code, DoneCode::kSubscriptionEnded);
  Brought brought;
  brought.TakeFrom(subscriber.session(), subscribed);
  EXPECT_EQ(brought.objects.size(), 1u);
}

TEST_F(RelayRanges, EndAtOnceBehindGapsThatWereTold) {
  const moqt::StreamId first = Open(0);
  Object after_gap = ObjectAt(track_, {0, 3});
  after_gap.properties = PropertiesBuilder().Number(property::kPriorObjectIdGap, 3).Build();
  ASSERT_TRUE(publisher_->SendObject(published_, first, after_gap).ok());
  End(first);
  EXPECT_FALSE(HasEnded());
  const moqt::StreamId later = Open(5);
  Object after_groups = ObjectAt(track_, {5, 0});
  after_groups.properties = PropertiesBuilder().Number(property::kPriorGroupIdGap, 4).Build();
  ASSERT_TRUE(publisher_->SendObject(published_, later, after_groups).ok());
  EXPECT_TRUE(HasEnded());
  ExpectWell(1);
  EXPECT_EQ(Seen(), (Locations{{0, 3}}));
}

// The gap was told before the subscription began, or before it changed, and holds for it as well.
TEST_F(RelayRanges, EndAtOnceBehindGapsThatWereToldBefore) {
  const moqt::StreamId open = Open(0);
  Send(open, {0, 0});
  const moqt::StreamId later = Open(4);
  Object after_groups = ObjectAt(track_, {4, 0});
  after_groups.properties = PropertiesBuilder().Number(property::kPriorGroupIdGap, 3).Build();
  ASSERT_TRUE(publisher_->SendObject(published_, later, after_groups).ok());
  world_.Run();
  Client& late = world_.Join();
  ASSERT_TRUE(late->Subscribe(track_, RangeOf({0, 1}, 3)).ok());
  ASSERT_TRUE(subscriber_->Update(subscribed_, RangeOf({0, 0}, 2)).ok());
  EXPECT_FALSE(HasEnded());
  EXPECT_TRUE(late.Take<moqt::PublishDoneReceived>().empty());
  Send(open, {0, 1});
  End(open);
  EXPECT_TRUE(HasEnded());
  ExpectWell(1);
  EXPECT_EQ(Seen(), (Locations{{0, 0}, {0, 1}}));
  EXPECT_EQ(late.One<moqt::PublishDoneReceived>().done.code, DoneCode::kSubscriptionEnded);
}

TEST_F(RelayRanges, EndWithAGroupThatIsEmpty) {
  SendGroup(0, 2);
  EXPECT_FALSE(HasEnded());
  const moqt::StreamId empty = Open(1, false);
  Object end;
  end.location = {1, 0};
  end.status = ObjectStatus::kEndOfGroup;
  ASSERT_TRUE(publisher_->SendObject(published_, empty, end).ok());
  EXPECT_TRUE(HasEnded());
  ExpectWell(2);
  End(empty);
  world_.Run();
  // Nothing of it is to come for anybody, and nothing was left out.
  Client& late = world_.Join();
  ASSERT_TRUE(late->Subscribe(track_, RangeOf({1, 0}, 1)).ok());
  world_.Run();
  EXPECT_EQ(late.One<moqt::RequestRefused>().error.code, moqt::RequestCode::kInvalidRange);
  SendGroup(2, 1);
  world_.Run();
  EXPECT_EQ(world_.Fetch(late, track_, LocationRange::Groups(0, 2)).items.size(), 3u);
}

TEST_F(RelayRanges, EndWithTheirTrack) {
  const moqt::StreamId stream = Open(0, false);
  Send(stream, {0, 0});
  Object end;
  end.location = {0, 1};
  end.status = ObjectStatus::kEndOfTrack;
  ASSERT_TRUE(publisher_->SendObject(published_, stream, end).ok());
  EXPECT_TRUE(HasEnded());
  ExpectWell(1);
}

TEST_F(RelayRanges, EndAlsoForAPausedSubscriber) {
  moqt::Parameters paused;
  paused.forward = false;
  ASSERT_TRUE(subscriber_->Update(subscribed_, paused).ok());
  world_.Run();
  SendOpenGroup(1, 1);
  SendOpenGroup(2, 1);
  world_.Run();
  Wait(patience_);
  EXPECT_TRUE(HasEnded());
  ExpectWell(0);
}

TEST_F(RelayRanges, GoOnIfWidenedWhileTheyWait) {
  SendOpenGroup(1, 1);
  world_.Run();
  SendOpenGroup(2, 1);
  Wait(patience_ / 2);
  ASSERT_TRUE(subscriber_->Update(subscribed_, RangeOf({0, 0}, 3)).ok());
  world_.Run();
  const auto updated = subscriber_.One<moqt::UpdateAccepted>();
  EXPECT_EQ(updated.parameters.largest_object, (Location{2, 0}));
  Wait(patience_ * 10);
  EXPECT_FALSE(HasEnded());
  SendOpenGroup(3, 1);
  SendOpenGroup(4, 1);
  EXPECT_FALSE(HasEnded());
  Wait(patience_);
  EXPECT_TRUE(HasEnded());
  ExpectWell(2);
  EXPECT_EQ(Seen(), (Locations{{1, 0}, {3, 0}}));
}

TEST_F(RelayRanges, WaitAnewIfWidenedToWhatIsPastAsWell) {
  SendOpenGroup(9, 1);
  Wait(patience_ - kMoment);
  ASSERT_TRUE(subscriber_->Update(subscribed_, RangeOf({0, 0}, 5)).ok());
  world_.Run();
  Wait(patience_ - kMoment);
  EXPECT_FALSE(HasEnded());
  SendOpenGroup(5, 1);
  world_.Run();
  Wait(patience_);
  EXPECT_TRUE(HasEnded());
  ExpectWell(1);
  EXPECT_EQ(Seen(), (Locations{{5, 0}}));
}

TEST_F(RelayRanges, NeverEndOnceTheyHaveNoLastGroup) {
  SendOpenGroup(2, 1);
  Wait(patience_ / 2);
  moqt::Parameters open_ended;
  open_ended.filter = Filter{Filter::Type::kAbsoluteStart, {0, 0}, 0};
  ASSERT_TRUE(subscriber_->Update(subscribed_, open_ended).ok());
  world_.Run();
  Wait(patience_ * 10);
  EXPECT_FALSE(HasEnded());
  EXPECT_EQ(world_.relay().deadline(), std::nullopt);
}

TEST_F(RelayRanges, EndIfNarrowedToWhatHasCome) {
  ASSERT_TRUE(subscriber_->Update(subscribed_, RangeOf({0, 0}, 9)).ok());
  world_.Run();
  SendGroup(0, 1);
  SendGroup(1, 1);
  EXPECT_FALSE(HasEnded());
  ASSERT_TRUE(subscriber_->Update(subscribed_, RangeOf({0, 0}, 1)).ok());
  world_.Run();
  EXPECT_EQ(subscriber_.Take<moqt::UpdateAccepted>().size(), 2u);  // The last before the end.
  EXPECT_TRUE(HasEnded());
  ExpectWell(2);
}

TEST_F(RelayRanges, WaitIfNarrowedToWhatIsPastAndNotKnown) {
  ASSERT_TRUE(subscriber_->Update(subscribed_, RangeOf({0, 0}, 9)).ok());
  world_.Run();
  SendOpenGroup(5, 1);
  world_.Run();
  ASSERT_TRUE(subscriber_->Update(subscribed_, RangeOf({0, 0}, 1)).ok());
  EXPECT_FALSE(HasEnded());
  SendOpenGroup(1, 1);
  world_.Run();
  Wait(patience_);
  EXPECT_TRUE(HasEnded());
  EXPECT_EQ(Seen(), (Locations{{1, 0}, {5, 0}}));
}

// The subscriber could not know that the subscription was over.
TEST_F(RelayRanges, MayEndWhileAnUpdateIsOnItsWay) {
  SendGroup(0, 1);
  SendGroup(1, 1);
  ASSERT_TRUE(subscriber_->Update(subscribed_, RangeOf({0, 0}, 9)).ok());
  world_.Run();
  EXPECT_FALSE(subscriber_->closed());
  EXPECT_FALSE(subscriber_.server().closed());
}

TEST_F(RelayRanges, EndOnceIfThePublisherVanishesWhileTheyWait) {
  SendOpenGroup(1, 1);
  SendOpenGroup(2, 1);
  world_.Run();
  Wait(patience_ / 2);
  world_.Leave(publisher_);
  EXPECT_TRUE(HasEnded());
  EXPECT_EQ(done_[0].done.code, DoneCode::kInternalError);
  EXPECT_EQ(Seen(), (Locations{{1, 0}}));
  EXPECT_EQ(world_.relay().deadline(), std::nullopt);
  Wait(patience_);
  EXPECT_FALSE(HasEnded());
}

TEST_F(RelayRanges, LeaveNothingBehindIfTheSubscriberGoesWhileTheyWait) {
  SendOpenGroup(2, 1);
  world_.Run();
  subscriber_->Cancel(subscribed_, moqt::ResetCode::kCancelled);
  world_.Run();
  EXPECT_EQ(world_.relay().deadline(), std::nullopt);
  Client& another = world_.Join();
  ASSERT_TRUE(another->Subscribe(track_, RangeOf({2, 1}, 3)).ok());
  world_.Run();
  SendOpenGroup(3, 1);
  SendOpenGroup(4, 1);
  world_.Run();
  ASSERT_NE(world_.relay().deadline(), std::nullopt);
  world_.Leave(another);
  EXPECT_EQ(world_.relay().deadline(), std::nullopt);
}

TEST_F(RelayRanges, TellHowManyStreamsAlsoWhereOneWasBrokenOff) {
  const moqt::StreamId broken = Open(0);
  Send(broken, {0, 0});
  world_.Run();
  ASSERT_TRUE(
      publisher_->ResetSubgroup(published_, broken, moqt::ResetCode::kDeliveryTimeout).ok());
  SendOpenGroup(1, 1);
  SendOpenGroup(2, 1);
  world_.Run();
  Wait(patience_);
  ASSERT_TRUE(HasEnded());
  EXPECT_EQ(done_[0].done.code, DoneCode::kSubscriptionEnded);
  EXPECT_EQ(done_[0].done.streams, 2u);
}

// A track's own timeouts say how late its objects may come.
TEST_F(RelayRanges, WaitAsLongAsATracksObjectsMayTake) {
  const TrackName slow = *TrackName::Of(*TrackNamespace::Of({"a"}), "slow");
  const Duration longer = patience_ * 3;
  const uint64_t longer_ms = static_cast<uint64_t>(longer / std::chrono::milliseconds(1));
  const RequestId published =
      *publisher_->Publish(slow, {}, PropertiesBuilder().Number(0x02, longer_ms).Build());
  world_.Run();
  ASSERT_TRUE(subscriber_->Subscribe(slow, RangeOf({0, 0}, 1)).ok());
  world_.Run();
  publisher_.SendGroup(published, slow, 0, 1);
  publisher_.SendGroup(published, slow, 2, 1);
  world_.Run();
  Wait(longer - kMoment);
  EXPECT_FALSE(HasEnded());
  Wait(kMoment);
  EXPECT_TRUE(HasEnded());
}

TEST_F(RelayRanges, AreRefusedOnceTheLastGroupIsWhole) {
  SendGroup(4, 2);
  world_.Run();
  Client& late = world_.Join();
  ASSERT_TRUE(late->Subscribe(track_, RangeOf({0, 0}, 4)).ok());
  world_.Run();
  EXPECT_EQ(late.One<moqt::RequestRefused>().error.code, moqt::RequestCode::kInvalidRange);
}

TEST_F(RelayRanges, AreRefusedOnceTheLastGroupWasPassed) {
  SendOpenGroup(4, 2);
  SendOpenGroup(5, 1);
  world_.Run();
  Client& late = world_.Join();
  ASSERT_TRUE(late->Subscribe(track_, RangeOf({0, 0}, 4)).ok());
  world_.Run();
  EXPECT_EQ(late.One<moqt::RequestRefused>().error.code, moqt::RequestCode::kInvalidRange);
}

// Groups may come in descending order, however slowly.
TEST_F(RelayRanges, OfATrackThatGoesDownwardsAreBrought) {
  SendOpenGroup(9, 1);
  world_.Run();
  Client& late = world_.Join();
  const RequestId below = *late->Subscribe(track_, RangeOf({3, 0}, 4));
  world_.Run();
  Wait(patience_ * 2);
  EXPECT_EQ(late.Take<moqt::RequestRefused>().size(), 0u);
  SendOpenGroup(4, 1);
  world_.Run();
  Wait(patience_ / 2);
  SendOpenGroup(3, 1);
  world_.Run();
  Wait(patience_ / 2);
  EXPECT_EQ(late.Take<moqt::PublishDoneReceived>().size(), 0u);
  Wait(patience_ / 2);
  EXPECT_EQ(late.One<moqt::PublishDoneReceived>().done.code, DoneCode::kSubscriptionEnded);
  Brought brought;
  brought.TakeFrom(late.session(), below);
  EXPECT_EQ(brought.objects.size(), 2u);
}

// Two publishers send the same object; one knows of more that does not exist.
TEST_F(RelayRanges, HearAlsoOfGapsThatAnObjectTellsWhenItComesAgain) {
  SendGroup(0, 1);
  SendOpenGroup(2, 1);
  EXPECT_FALSE(HasEnded());
  Client& other = world_.Join();
  const RequestId published = *other->Publish(track_, {}, {});
  world_.Run();
  moqt::SubgroupHeader header;
  header.group = 2;
  header.properties = true;
  header.first_object = true;
  const moqt::StreamId stream = *other->OpenSubgroup(published, header);
  Object again = ObjectAt(track_, {2, 0}, 100);
  again.properties = PropertiesBuilder().Number(property::kPriorGroupIdGap, 1).Build();
  ASSERT_TRUE(other->SendObject(published, stream, again).ok());
  EXPECT_TRUE(HasEnded());
}

TEST_F(RelayRanges, AreTakenWhileTheirLastGroupIsComing) {
  const moqt::StreamId open = Open(4);
  Send(open, {4, 0});
  SendGroup(5, 1);
  world_.Run();
  Client& late = world_.Join();
  const RequestId rest = *late->Subscribe(track_, RangeOf({4, 1}, 4));
  world_.Run();
  Send(open, {4, 1});
  End(open);
  world_.Run();
  EXPECT_EQ(late.One<moqt::PublishDoneReceived>().done.code, DoneCode::kSubscriptionEnded);
  Brought brought;
  brought.TakeFrom(late.session(), rest);
  EXPECT_EQ(brought.objects.size(), 1u);
}

// A range may also be the answer to a PUBLISH.
TEST_F(RelayRanges, EndForThoseToWhomATrackIsPublished) {
  Client& follower = world_.Join();
  ASSERT_TRUE(follower->SubscribeTracks(*TrackNamespace::Of({"a"}), {}).ok());
  world_.Run();
  const auto offered = follower.One<moqt::PublishReceived>();
  ASSERT_TRUE(follower->AcceptPublish(offered.request, RangeOf({0, 0}, 0)).ok());
  world_.Run();
  SendGroup(0, 2);
  world_.Run();
  EXPECT_EQ(follower.One<moqt::PublishDoneReceived>().done.code, DoneCode::kSubscriptionEnded);
  EXPECT_EQ(follower.Take<moqt::PublishReceived>().size(), 0u);
}

}  // namespace
}  // namespace kvcast::relay
