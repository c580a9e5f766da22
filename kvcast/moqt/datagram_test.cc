// Objects that come alone.
#include <gtest/gtest.h>

#include "kvcast/moqt/codec_test.h"
#include "kvcast/moqt/every_shape_test.h"
#include "kvcast/moqt/session.h"

namespace kvcast::moqt {
namespace {

TrackName DatagramTrack() { return *TrackName::Of(*TrackNamespace::Of({"kv"}), "t"); }

Object Alone(Location location, std::string_view payload) {
  Object object;
  object.location = location;
  object.forwarding = Forwarding::kDatagram;
  object.payload = Bytes::Of(payload);
  return object;
}

// The client publishes a track to the server.
struct DatagramWorld {
  explicit DatagramWorld(const SessionPair::Options& options = {}) : pair(options) {
    request =
        *pair.client().Publish(DatagramTrack(), {}, PropertiesBuilder().Number(0x0e, 9).Build());
  }
  std::vector<ReceivedObject> Take() {
    std::vector<ReceivedObject> taken;
    while (std::optional<Received> item = pair.server().Take(request)) {
      taken.push_back(std::get<ReceivedObject>(*std::move(item)));
    }
    return taken;
  }
  SessionPair pair;
  RequestId request;
};

class DatagramObjectsInEveryShape : public EveryShape {};
INSTANTIATE_TEST_SUITE_P(Draft, DatagramObjectsInEveryShape, EveryShape::Drafts(),
                         EveryShape::Name);

// Also when they overtake the request that names their track.
TEST_P(DatagramObjectsInEveryShape, ArriveAsTheyWereSent) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SessionPair::Options options;
    options.seed = seed;
    options.cut_max = 2;
    DatagramWorld world(options);
    Object object = Alone({3, 1}, "kv");
    object.properties = PropertiesBuilder().Number(0x3800, 5).Bytes(0x3801, "x").Build();
    object.priority = 77;
    ASSERT_TRUE(world.pair.client().SendDatagramObject(world.request, object, true).ok());
    Object inherits = Alone({3, 0}, "");
    inherits.priority = 9;
    ASSERT_TRUE(world.pair.client().SendDatagramObject(world.request, inherits, false).ok());
    world.pair.Run();
    std::vector<ReceivedObject> taken = world.Take();
    ASSERT_EQ(taken.size(), 2u) << "seed " << seed;
    std::ranges::sort(taken, {}, [](const ReceivedObject& each) { return each.object.location; });
    EXPECT_EQ(taken[0].object.priority, 9);
    EXPECT_EQ(taken[0].stream, ReceivedObject::kNoStream);
    EXPECT_FALSE(taken[0].ends_group);
    EXPECT_EQ(taken[1].object.priority, 77);
    EXPECT_EQ(taken[1].object.properties, object.properties);
    EXPECT_EQ(taken[1].object.payload.ToString(), "kv");
    EXPECT_EQ(taken[1].object.forwarding, Forwarding::kDatagram);
    EXPECT_TRUE(taken[1].ends_group);
  }
}

TEST_P(DatagramObjectsInEveryShape, ArriveBeforeTheEndOfTheirTrackOrAreLost) {
  constexpr size_t kWaiting = 30;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SessionPair::Options options;
    options.seed = seed;
    options.datagrams_max = kWaiting;
    DatagramWorld world(options);
    world.pair.Run();
    ASSERT_TRUE(world.pair.server().AcceptPublish(world.request, {}).ok());
    world.pair.Run();
    for (uint64_t i = 0; i < kWaiting + 5; ++i) {
      ASSERT_TRUE(
          world.pair.client().SendDatagramObject(world.request, Alone({0, i}, "x"), false).ok());
    }
    ASSERT_TRUE(world.pair.client().EndTrack(world.request, DoneCode::kTrackEnded, "").ok());
    world.pair.Run();
    size_t objects = 0;
    bool ended = false;
    while (const std::optional<Received> item = world.pair.server().Take(world.request)) {
      objects += std::holds_alternative<ReceivedObject>(*item) ? 1u : 0u;
      ended = std::holds_alternative<TrackEnd>(*item);
    }
    EXPECT_EQ(objects, kWaiting) << "seed " << seed;
    EXPECT_TRUE(ended) << "seed " << seed;
  }
}

TEST_P(DatagramObjectsInEveryShape, TellTheEndOfAGroupOrTrack) {
  DatagramWorld world;
  Object end = Alone({3, 5}, "");
  end.status = ObjectStatus::kEndOfGroup;
  ASSERT_TRUE(world.pair.client().SendDatagramObject(world.request, end, false).ok());
  end.properties = PropertiesBuilder().Number(0x3800, 5).Build();
  EXPECT_FALSE(world.pair.client().SendDatagramObject(world.request, end, false).ok());
  world.pair.Run();
  const auto taken = world.Take();
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].object.status, ObjectStatus::kEndOfGroup);
}

TEST_P(DatagramObjectsInEveryShape, AreNotSentToWhoDoesNotWantThem) {
  DatagramWorld world;
  world.pair.Run();
  Parameters paused;
  paused.forward = false;
  ASSERT_TRUE(world.pair.server().AcceptPublish(world.request, paused).ok());
  world.pair.Run();
  EXPECT_FALSE(
      world.pair.client().SendDatagramObject(world.request, Alone({0, 0}, "x"), false).ok());
}

TEST_P(DatagramObjectsInEveryShape, ThatNobodyTakesAreDroppedAndNothingElseIs) {
  SessionPair::Options options;
  options.limits.datagram_queue_bytes = 2000;
  DatagramWorld world(options);
  world.pair.Run();
  for (uint64_t i = 0; i < 200; ++i) {
    ASSERT_TRUE(
        world.pair.client().SendDatagramObject(world.request, Alone({0, i}, "x"), false).ok());
    world.pair.Run();
  }
  const size_t kept = world.Take().size();
  EXPECT_GT(kept, 0u);
  EXPECT_LT(kept, 200u);
  EXPECT_EQ(world.pair.server().untaken_bytes(), 0u);
  EXPECT_FALSE(world.pair.connection_closed());
}

TEST(DatagramObjects, OfTracksThatNeverComeAreForgotten) {
  Limits limits;
  limits.waiting_datagrams_max = 3;
  Session server(Role::kServer, {}, limits, Instant());
  server.OnStreamData(2, AsBytes(std::string_view("\xaf\x00\x00\x00", 4)), false);
  for (int i = 0; i < 100; ++i) {
    server.OnDatagram(AsBytes(Unhex("000702030961")));
  }
  // PUBLISH of request 0, track ("a", "b"), alias 7.
  server.OnStreamData(0, AsBytes(Unhex("1d00080001016101620700")), false);
  size_t taken = 0;
  while (server.Take(0)) {
    ++taken;
  }
  EXPECT_EQ(taken, 3u);
}

TEST(DatagramObjects, ThatBreakTheRulesEndTheSessionOrTheirTrack) {
  Session server(Role::kServer, {}, {}, Instant());
  server.OnStreamData(2, AsBytes(std::string_view("\xaf\x00\x00\x00", 4)), false);
  server.OnStreamData(0, AsBytes(Unhex("1d00080001016101620700")), false);
  server.OnDatagram(AsBytes(Unhex("f0132b3e290000")));  // Padding.
  EXPECT_FALSE(server.closed());
  server.OnDatagram(
      AsBytes(Unhex("0107020309"
                    "023e0461")));  // A gap below object 0.
  EXPECT_FALSE(server.closed());
  size_t malformed = 0;
  while (const auto event = server.NextEvent()) {
    const auto* cancelled = std::get_if<RequestCancelled>(&*event);
    malformed +=
        cancelled != nullptr && cancelled->code == static_cast<uint64_t>(ResetCode::kMalformedTrack)
            ? 1u
            : 0u;
  }
  EXPECT_EQ(malformed, 1u);
  server.OnDatagram(AsBytes(Unhex("40")));
  EXPECT_TRUE(server.closed());
}

}  // namespace
}  // namespace kvcast::moqt
