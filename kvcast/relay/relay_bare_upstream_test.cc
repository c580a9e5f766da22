// What a relay takes of an upstream that may say anything.
#include <gtest/gtest.h>

#include "kvcast/relay/relay_levels_test.h"

namespace kvcast::relay {
namespace {

using moqt::RequestCode;

// A relay with one upstream, which may say anything.
class RelayBareUpstream : public testing::Test {
 protected:
  static Relay::Options Below(const TrackNamespace& prefix) {
    Relay::Options options;
    options.upstreams = {{.name = "upstream", .prefixes = {prefix}}};
    return options;
  }
  void Run() {
    bool moved = true;
    while (moved) {
      moved = connection_.Step();
      relay_.OnInput(peer_, Instant());
      moved = client_.connection().Step() || moved;
      relay_.OnInput(client_.peer(), Instant());
    }
  }
  // The last request of the relay's that is such a one.
  template <typename Request>
  std::optional<RequestId> Asked() {
    std::optional<RequestId> asked;
    while (std::optional<moqt::Event> event = upstream_.NextEvent()) {
      if (const auto* request = std::get_if<Request>(&*event)) {
        asked = request->request;
      }
    }
    return asked;
  }
  template <typename Answer>
  size_t Answers() {
    size_t count = 0;
    while (std::optional<moqt::Event> event = upstream_.NextEvent()) {
      count += std::holds_alternative<Answer>(*event) ? 1U : 0U;
    }
    return count;
  }

  Metrics metrics_;
  Relay relay_{Below(*TrackNamespace::Of({"service", "acme/model"})), metrics_};
  Session session_{moqt::Role::kClient, Levels::Link::Setup(), {}, Instant()};
  Session upstream_{moqt::Role::kServer, {}, {}, Instant()};
  moqt::MemoryConnection connection_{{}, session_, upstream_};
  PeerId peer_ = relay_.JoinUpstream(session_, 0);
  Client client_{relay_, {}, {}};
  const TrackName own_ = *TrackName::Of(
      *TrackNamespace::Of({"service", "acme/model", "prefix", "generation"}), "BF16");
  const TrackName others_ = *TrackName::Of(
      *TrackNamespace::Of({"service", "other/model", "prefix", "generation"}), "BF16");
};

TEST_F(RelayBareUpstream, TakesTracksBelowThePrefixesOfAnUpstreamAndNoOthers) {
  Run();
  (void)Answers<moqt::RequestAccepted>();
  (void)*upstream_.Publish(own_, {}, {});
  Run();
  EXPECT_EQ(Answers<moqt::RequestAccepted>(), 1u);
  const RequestId published = *upstream_.Publish(others_, {}, {});
  moqt::SubgroupHeader header;
  header.first_object = true;
  header.properties = true;
  const moqt::StreamId stream = *upstream_.OpenSubgroup(published, header);
  ASSERT_TRUE(upstream_.SendObject(published, stream, ObjectAt(others_, {0, 0})).ok());
  Run();
  EXPECT_EQ(Answers<moqt::RequestRefused>(), 1u);
  EXPECT_EQ(relay_.stored_objects(), 0u);
}

TEST_F(RelayBareUpstream, TakesNamespacesBelowThePrefixesOfAnUpstreamAndNoOthers) {
  Run();
  (void)Answers<moqt::RequestAccepted>();
  ASSERT_TRUE(upstream_.PublishNamespace(own_.space(), {}).ok());
  Run();
  EXPECT_EQ(Answers<moqt::RequestAccepted>(), 1u);
  ASSERT_TRUE(upstream_.PublishNamespace(others_.space(), {}).ok());
  ASSERT_TRUE(upstream_.PublishNamespace(*TrackNamespace::Of({"service"}), {}).ok());
  Run();
  EXPECT_EQ(Answers<moqt::RequestRefused>(), 2u);
}

// It stands for a whole group, of which nobody has said how far it goes.
TEST_F(RelayBareUpstream, ThatEndsAFetchWithAGroupTellsOfNoLargestObject) {
  const RequestId request = *client_->Fetch(own_, LocationRange::Groups(0, 5), {});
  Run();
  const std::optional<RequestId> asked = Asked<moqt::FetchReceived>();
  ASSERT_TRUE(asked.has_value());
  moqt::FetchOk answer;
  answer.last = {3, kWhole};
  ASSERT_TRUE(upstream_.AcceptFetch(*asked, answer).ok());
  ASSERT_TRUE(upstream_.SendFetched(*asked, ObjectAt(own_, {3, 0})).ok());
  ASSERT_TRUE(upstream_.EndFetch(*asked).ok());
  Run();
  Brought brought;
  brought.TakeFrom(client_.session(), request);
  EXPECT_EQ(brought.objects.size(), 1u);
  (void)client_.Take<moqt::FetchAccepted>();
  ASSERT_TRUE(client_->AskTrackStatus(own_, {}).ok());
  Run();
  const std::optional<RequestId> status = Asked<moqt::TrackStatusReceived>();
  ASSERT_TRUE(status.has_value());
  ASSERT_TRUE(upstream_.RefuseRequest(*status, {RequestCode::kDoesNotExist, {}, "", {}}).ok());
  Run();
  EXPECT_EQ(client_.One<moqt::RequestAccepted>().parameters.largest_object, (Location{3, 0}));
}

}  // namespace
}  // namespace kvcast::relay
