// Ranges that are asked for when something of them, or behind them, has come already.
#include <gtest/gtest.h>

#include "kvcast/relay/relay_world_test.h"

namespace kvcast::relay {
namespace {

using LateFilter = moqt::SubscriptionFilter;

class RelayLateRanges : public testing::Test {
 protected:
  RelayLateRanges() { world_.Run(); }

  // A group of one object, of whose end nobody is told, behind so many that do not exist.
  void Send(uint64_t group, uint64_t gap = 0) {
    moqt::SubgroupHeader header;
    header.group = group;
    header.properties = true;
    header.first_object = true;
    const moqt::StreamId stream = *publisher_->OpenSubgroup(published_, header);
    Object object = ObjectAt(track_, {group, 0});
    if (gap > 0) {
      object.properties = PropertiesBuilder().Number(property::kPriorGroupIdGap, gap).Build();
    }
    ASSERT_TRUE(publisher_->SendObject(published_, stream, object).ok());
    ASSERT_TRUE(publisher_->EndSubgroup(published_, stream).ok());
    world_.Run();
  }
  RequestId Subscribe(uint64_t first_group, uint64_t last_group) {
    moqt::Parameters parameters;
    parameters.filter = LateFilter{LateFilter::Type::kAbsoluteRange, {first_group, 0}, last_group};
    const RequestId request = *late_->Subscribe(track_, parameters);
    world_.Run();
    return request;
  }
  bool IsRefused() {
    const auto refused = late_.Take<moqt::RequestRefused>();
    EXPECT_EQ(refused.size() + late_.Take<moqt::RequestAccepted>().size(), 1u);
    return !refused.empty() && refused[0].error.code == moqt::RequestCode::kInvalidRange;
  }

  RelayWorld world_;
  TrackName track_ = *TrackName::Of(*TrackNamespace::Of({"a"}), "t");
  Client& publisher_ = world_.Join();
  Client& late_ = world_.Join();
  RequestId published_ = *publisher_->Publish(track_, {}, {});
  const Duration patience_ = Limits().range_patience;
};

// Its first group may never come.
TEST_F(RelayLateRanges, EndAfterAWhileIfAnyGroupOfThemHadCome) {
  Send(1);
  Send(5);
  (void)Subscribe(0, 3);
  EXPECT_FALSE(IsRefused());
  world_.Wait(patience_ / 2);
  Send(6);
  EXPECT_EQ(late_.Take<moqt::PublishDoneReceived>().size(), 0u);
  world_.Wait(patience_ / 2);
  world_.Run();
  EXPECT_EQ(late_.One<moqt::PublishDoneReceived>().done.code, moqt::DoneCode::kSubscriptionEnded);
  EXPECT_EQ(world_.relay().deadline(), std::nullopt);
}

TEST_F(RelayLateRanges, EndAfterAWhileIfMovedToWhereAnythingHadCome) {
  Send(1);
  Send(5);
  const RequestId request = Subscribe(10, 11);
  EXPECT_FALSE(IsRefused());
  moqt::Parameters moved;
  moved.filter = LateFilter{LateFilter::Type::kAbsoluteRange, {0, 0}, 3};
  ASSERT_TRUE(late_->Update(request, moved).ok());
  world_.Run();
  world_.Wait(patience_);
  world_.Run();
  EXPECT_EQ(late_.Take<moqt::PublishDoneReceived>().size(), 1u);
}

// That its last group does not exist says nothing of the others.
TEST_F(RelayLateRanges, AreTakenWhereOnlyTheirLastGroupsDoNotExist) {
  Send(6, 2);
  const RequestId request = Subscribe(0, 5);
  EXPECT_FALSE(IsRefused());
  Send(1);
  Brought brought;
  brought.TakeFrom(late_.session(), request);
  EXPECT_EQ(brought.objects.size(), 1u);
}

TEST_F(RelayLateRanges, AreRefusedWhereNothingOfThemExists) {
  Send(6, 2);
  (void)Subscribe(4, 5);
  EXPECT_TRUE(IsRefused());
  (void)Subscribe(3, 5);
  EXPECT_FALSE(IsRefused());
}

TEST_F(RelayLateRanges, AreRefusedWhereTheLastGroupThatExistsIsWhole) {
  publisher_.SendGroup(published_, track_, 2, 3);
  Send(5, 2);
  (void)Subscribe(1, 4);
  EXPECT_TRUE(IsRefused());
}

}  // namespace
}  // namespace kvcast::relay
