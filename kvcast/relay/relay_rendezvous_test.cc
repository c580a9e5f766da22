// Who asks for a track before anybody publishes it, and is willing to wait.
#include <gtest/gtest.h>

#include "kvcast/relay/relay_world_test.h"

namespace kvcast::relay {
namespace {

using moqt::RequestCode;

constexpr Duration kRendezvous = std::chrono::seconds(3);

TrackName EarlyTrack(std::string_view name) {
  return *TrackName::Of(*TrackNamespace::Of({"early"}), name);
}

// One who waits for a track.
class RelayRendezvous : public testing::Test {
 protected:
  RelayRendezvous() {
    moqt::Parameters parameters;
    parameters.rendezvous_timeout_ms = 3000;
    subscribed_ = *subscriber_->Subscribe(track_, parameters);
    world_.Run();
    EXPECT_TRUE(subscriber_.Take<moqt::RequestRefused>().empty());
  }
  bool IsAccepted() {
    world_.Run();
    return subscriber_.Take<moqt::RequestAccepted>().size() == 1;
  }
  void ExpectObjects(size_t count) {
    world_.Run();
    Brought brought;
    brought.TakeFrom(subscriber_.session(), subscribed_);
    EXPECT_EQ(brought.objects.size(), count);
  }

  RelayWorld world_;
  const TrackName track_ = EarlyTrack("t");
  Client& subscriber_ = world_.Join();
  Client& publisher_ = world_.Join();
  RequestId subscribed_ = 0;
};

// It gets its own subscription, and not another by PUBLISH.
TEST_F(RelayRendezvous, EndsWithAPublication) {
  ASSERT_TRUE(subscriber_->SubscribeTracks(track_.space(), {}).ok());
  world_.Run();
  (void)subscriber_.Take<moqt::RequestAccepted>();
  const RequestId published = *publisher_->Publish(track_, {}, {});
  EXPECT_TRUE(IsAccepted());
  EXPECT_TRUE(subscriber_.Take<moqt::PublishReceived>().empty());
  publisher_.SendGroup(published, track_, 0, 2);
  ExpectObjects(2);
  EXPECT_EQ(world_.relay().deadline(), std::nullopt);
}

TEST_F(RelayRendezvous, EndsWithANamespaceWhosePublisherAccepts) {
  (void)*publisher_->PublishNamespace(track_.space(), {});
  world_.Run();
  const RequestId asked = publisher_.One<moqt::SubscribeReceived>().request;
  ASSERT_TRUE(publisher_->AcceptSubscribe(asked, {}, {}).ok());
  EXPECT_TRUE(IsAccepted());
  publisher_.SendGroup(asked, track_, 0, 2);
  ExpectObjects(2);
}

TEST_F(RelayRendezvous, EndsAfterItsTime) {
  ASSERT_EQ(world_.relay().deadline(), world_.now() + kRendezvous);
  world_.Wait(kRendezvous);
  world_.Run();
  EXPECT_EQ(subscriber_.One<moqt::RequestRefused>().error.code, RequestCode::kTimeout);
  EXPECT_EQ(world_.relay().deadline(), std::nullopt);
}

// That one does not have it yet does not mean that nobody will.
TEST_F(RelayRendezvous, GoesOnWhenAPublisherRefuses) {
  (void)*publisher_->PublishNamespace(track_.space(), {});
  world_.Run();
  const RequestId asked = publisher_.One<moqt::SubscribeReceived>().request;
  ASSERT_TRUE(publisher_->RefuseRequest(asked, {RequestCode::kDoesNotExist, {}, "", {}}).ok());
  world_.Run();
  EXPECT_TRUE(subscriber_.Take<moqt::RequestRefused>().empty());
  const RequestId published = *publisher_->Publish(track_, {}, {});
  EXPECT_TRUE(IsAccepted());
  publisher_.SendGroup(published, track_, 0, 2);
  ExpectObjects(2);
}

TEST_F(RelayRendezvous, EndsWithARedirect) {
  (void)*publisher_->PublishNamespace(track_.space(), {});
  world_.Run();
  const RequestId asked = publisher_.One<moqt::SubscribeReceived>().request;
  const moqt::RequestError away{
      RequestCode::kRedirect, {}, "", moqt::Redirect{"", EarlyTrack("new")}};
  ASSERT_TRUE(publisher_->RefuseRequest(asked, away).ok());
  world_.Run();
  EXPECT_EQ(subscriber_.One<moqt::RequestRefused>().error.code, RequestCode::kRedirect);
  EXPECT_EQ(world_.relay().deadline(), std::nullopt);
}

// Who was asked just before has its time to answer.
TEST_F(RelayRendezvous, WaitsForAnAnswerThatIsDueLater) {
  world_.Wait(kRendezvous - std::chrono::milliseconds(1));
  (void)*publisher_->PublishNamespace(track_.space(), {});
  world_.Run();
  const RequestId asked = publisher_.One<moqt::SubscribeReceived>().request;
  world_.Wait(std::chrono::seconds(1));
  world_.Run();
  EXPECT_TRUE(subscriber_.Take<moqt::RequestRefused>().empty());
  ASSERT_TRUE(publisher_->AcceptSubscribe(asked, {}, {}).ok());
  EXPECT_TRUE(IsAccepted());
}

TEST_F(RelayRendezvous, IsForgottenWhenWhoWaitsGivesUp) {
  subscriber_->Cancel(subscribed_, moqt::ResetCode::kCancelled);
  world_.Run();
  EXPECT_EQ(world_.relay().deadline(), std::nullopt);
  (void)*publisher_->Publish(track_, {}, {});
  world_.Run();
  EXPECT_TRUE(subscriber_.Take<moqt::RequestAccepted>().empty());
}

TEST_F(RelayRendezvous, IsNotWaitedForUnlessAskedFor) {
  for (const std::optional<uint64_t> timeout_ms :
       {std::optional<uint64_t>(), std::optional<uint64_t>(0)}) {
    moqt::Parameters parameters;
    parameters.rendezvous_timeout_ms = timeout_ms;
    (void)*subscriber_->Subscribe(EarlyTrack("other"), parameters);
    world_.Run();
    EXPECT_EQ(subscriber_.One<moqt::RequestRefused>().error.code, RequestCode::kDoesNotExist);
  }
}

// One who waits is no reason for another to do so.
TEST_F(RelayRendezvous, IsNotWaitedForByOthers) {
  Client& other = world_.Join();
  (void)*other->Subscribe(track_, {});
  world_.Run();
  EXPECT_EQ(other.One<moqt::RequestRefused>().error.code, RequestCode::kDoesNotExist);
}

// Who comes later hears what was said to its own request.
TEST_F(RelayRendezvous, DoesNotKeepARefusalForOthers) {
  (void)*publisher_->PublishNamespace(track_.space(), {});
  world_.Run();
  const RequestId first = publisher_.One<moqt::SubscribeReceived>().request;
  ASSERT_TRUE(publisher_->RefuseRequest(first, {RequestCode::kExcessiveLoad, 20, "", {}}).ok());
  world_.Run();
  Client& other = world_.Join();
  (void)*other->Subscribe(track_, {});
  world_.Run();
  const RequestId second = publisher_.One<moqt::SubscribeReceived>().request;
  ASSERT_TRUE(publisher_->RefuseRequest(second, {RequestCode::kDoesNotExist, {}, "", {}}).ok());
  world_.Run();
  EXPECT_EQ(other.One<moqt::RequestRefused>().error.code, RequestCode::kDoesNotExist);
}

TEST_F(RelayRendezvous, TakesNoLongerThanTheNodeLikes) {
  moqt::Parameters parameters;
  parameters.rendezvous_timeout_ms = UINT64_MAX;
  world_.Wait(kRendezvous);
  world_.Run();
  (void)subscriber_.Take<moqt::RequestRefused>();
  (void)*subscriber_->Subscribe(EarlyTrack("other"), parameters);
  world_.Run();
  EXPECT_EQ(world_.relay().deadline(), world_.now() + Limits().rendezvous_max);
}

}  // namespace
}  // namespace kvcast::relay
