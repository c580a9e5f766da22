// What an upstream may bring: what lies below the prefixes that it is asked for.
#include <gtest/gtest.h>

#include "kvcast/relay/relay_levels_test.h"

namespace kvcast::relay {
namespace {

// A relay with one upstream, which may say anything.
class RelayUpstreamScope : public testing::Test {
 protected:
  static Relay::Options Below(const TrackNamespace& prefix) {
    Relay::Options options;
    options.upstreams = {{.name = "upstream", .prefixes = {prefix}}};
    return options;
  }
  void Run() {
    do {
      relay_.OnInput(peer_, Instant());
    } while (connection_.Step());
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
  const TrackName own_ = *TrackName::Of(
      *TrackNamespace::Of({"service", "acme/model", "prefix", "generation"}), "BF16");
  const TrackName others_ = *TrackName::Of(
      *TrackNamespace::Of({"service", "other/model", "prefix", "generation"}), "BF16");
};

TEST_F(RelayUpstreamScope, TakesTracksBelowThePrefixesOfAnUpstreamAndNoOthers) {
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

TEST_F(RelayUpstreamScope, TakesNamespacesBelowThePrefixesOfAnUpstreamAndNoOthers) {
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

}  // namespace
}  // namespace kvcast::relay
