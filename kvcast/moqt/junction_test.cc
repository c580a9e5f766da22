#include "kvcast/moqt/junction.h"

#include <gtest/gtest.h>

#include <set>

#include "kvcast/moqt/junction_world_test.h"

namespace kvcast::moqt {
namespace {

using World = JunctionWorld;

TEST(Junction, ShowsThePeerOneSession) {
  World world;
  world.Run();
  world.One<SetupDone>(world.client());
  for (size_t i = 0; i < World::kParts; ++i) {
    EXPECT_EQ(world.One<SetupDone>(world.part(i)).peer.authority, "node.example");
  }
}

TEST(Junction, BringsEachFetchToThePartThatHasItsTrack) {
  for (size_t owner = 0; owner < World::kParts; ++owner) {
    World world;
    const RequestId fetch =
        *world.client().Fetch(World::Track(owner), LocationRange::Groups(0, 0), {});
    world.Run();
    for (size_t i = 0; i < World::kParts; ++i) {
      EXPECT_EQ(world.Take<FetchReceived>(world.part(i)).size(), i == owner ? 1u : 0u);
    }
    ASSERT_TRUE(world.part(owner).AcceptFetch(fetch, {}).ok());
    ASSERT_TRUE(world.part(owner).SendFetched(fetch, World::At({0, 0}, "first")).ok());
    ASSERT_TRUE(
        world.part(owner).SendFetched(fetch, World::At({0, 1}, std::string(3 << 20, 'x'))).ok());
    ASSERT_TRUE(world.part(owner).EndFetch(fetch).ok());
    std::vector<std::string> payloads;
    for (int i = 0; i < 100; ++i) {  // It is read as it is taken.
      world.Run();
      for (std::string& payload : World::Payloads(world.client(), fetch)) {
        payloads.push_back(std::move(payload));
      }
    }
    ASSERT_EQ(payloads.size(), 2u);
    EXPECT_EQ(payloads[0], "first");
    EXPECT_EQ(payloads[1].size(), size_t{3 << 20});
    EXPECT_EQ(world.part(owner).queued_bytes(), 0u);
  }
}

TEST(Junction, BringsWhatIsPublishedToThePartThatHasTheTrack) {
  World world;
  std::vector<RequestId> requests;
  for (size_t i = 0; i < World::kParts; ++i) {
    const RequestId request = *world.client().Publish(World::Track(i), {}, {});
    const StreamId stream = *world.client().OpenSubgroup(request, {});
    ASSERT_TRUE(
        world.client().SendObject(request, stream, World::At({0, 0}, std::to_string(i))).ok());
    ASSERT_TRUE(world.client().EndSubgroup(request, stream).ok());
    requests.push_back(request);
  }
  world.Run();
  for (size_t i = 0; i < World::kParts; ++i) {
    const auto received = world.One<PublishReceived>(world.part(i));
    EXPECT_EQ(received.track, World::Track(i));
    ASSERT_TRUE(world.part(i).AcceptPublish(received.request, {}).ok());
    world.Run();
    EXPECT_EQ(World::Payloads(world.part(i), received.request),
              std::vector<std::string>{std::to_string(i)});
  }
  EXPECT_EQ(world.Take<RequestAccepted>(world.client()).size(), World::kParts);
}

// Streams arrive in any order: with any seed the objects find their track.
TEST(Junction, KeepsObjectsThatComeBeforeTheirTrack) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    World::Options options;
    options.seed = seed;
    options.cut_max = 3;
    World world(options);
    const RequestId request = *world.client().Publish(World::Track(2), {}, {});
    for (uint64_t group = 0; group < 4; ++group) {
      SubgroupHeader header;
      header.group = group;
      const StreamId stream = *world.client().OpenSubgroup(request, header);
      ASSERT_TRUE(world.client().SendObject(request, stream, World::At({group, 0}, "kv")).ok());
      ASSERT_TRUE(world.client().EndSubgroup(request, stream).ok());
    }
    world.Run();
    const auto received = world.One<PublishReceived>(world.part(2));
    ASSERT_TRUE(world.part(2).AcceptPublish(received.request, {}).ok());
    world.Run();
    EXPECT_EQ(World::Payloads(world.part(2), received.request).size(), 4u);
  }
}

TEST(Junction, LetsPartsSubscribeAndPublishWithoutMixingThemUp) {
  World world;
  world.Run();
  std::set<RequestId> ids;
  for (size_t i = 0; i < World::kParts; ++i) {
    ids.insert(*world.part(i).Subscribe(World::Track(i, "from client"), {}));
    const RequestId published = *world.part(i).Publish(World::Track(i, "to client"), {}, {});
    ids.insert(published);
    const StreamId stream = *world.part(i).OpenSubgroup(published, {});
    ASSERT_TRUE(
        world.part(i).SendObject(published, stream, World::At({0, 0}, std::to_string(i))).ok());
  }
  EXPECT_EQ(ids.size(), 2 * World::kParts);
  world.Run();
  for (const SubscribeReceived& asked : world.Take<SubscribeReceived>(world.client())) {
    ASSERT_TRUE(world.client().AcceptSubscribe(asked.request, {}, {}).ok());
    const StreamId stream = *world.client().OpenSubgroup(asked.request, {});
    ASSERT_TRUE(
        world.client()
            .SendObject(asked.request, stream, World::At({0, 0}, asked.track.space().field(2)))
            .ok());
  }
  std::set<std::string> heard;
  for (const PublishReceived& offer : world.Take<PublishReceived>(world.client())) {
    ASSERT_TRUE(world.client().AcceptPublish(offer.request, {}).ok());
    world.Run();
    for (const std::string& payload : World::Payloads(world.client(), offer.request)) {
      EXPECT_EQ(payload, offer.track.space().field(2));
      heard.insert(payload);
    }
  }
  EXPECT_EQ(heard.size(), World::kParts);
  for (size_t i = 0; i < World::kParts; ++i) {
    std::vector<std::string> came;
    for (const RequestAccepted& accepted : world.Take<RequestAccepted>(world.part(i))) {
      for (const std::string& payload : World::Payloads(world.part(i), accepted.request)) {
        came.push_back(payload);
      }
    }
    EXPECT_EQ(came, std::vector<std::string>{std::to_string(i)});
  }
}

TEST(Junction, AnswersOnceWhatConcernsAllParts) {
  World world;
  const TrackNamespace prefix = *TrackNamespace::Of({"kv"});
  const RequestId request = *world.client().SubscribeTracks(prefix, {});
  world.Run();
  for (size_t i = 0; i < World::kParts; ++i) {
    const auto received = world.One<SubscribeTracksReceived>(world.part(i));
    EXPECT_TRUE(world.Take<RequestAccepted>(world.client()).empty());
    ASSERT_TRUE(world.part(i).AcceptSubscribeTracks(received.request, {}).ok());
    world.Run();
  }
  EXPECT_EQ(world.One<RequestAccepted>(world.client()).request, request);
  for (size_t i = 0; i < World::kParts; ++i) {
    ASSERT_TRUE(world.part(i).SendPublishBlocked(request, World::Track(i)).ok());
  }
  world.Run();
  EXPECT_EQ(world.Take<PublishBlockedReceived>(world.client()).size(), World::kParts);
  world.client().Cancel(request, ResetCode::kCancelled);
  world.Run();
  for (size_t i = 0; i < World::kParts; ++i) {
    EXPECT_EQ(world.One<RequestCancelled>(world.part(i)).request, request);
  }
}

TEST(Junction, RefusesWhatOnePartRefuses) {
  World world;
  const RequestId request = *world.client().SubscribeTracks(*TrackNamespace::Of({"kv"}), {});
  world.Run();
  for (size_t i = 0; i < World::kParts; ++i) {
    ASSERT_TRUE(i == 2 ? world.part(i)
                             .RefuseRequest(request, {RequestCode::kNamespaceTooLarge, {}, "", {}})
                             .ok()
                       : world.part(i).AcceptSubscribeTracks(request, {}).ok());
    world.Run();
  }
  EXPECT_EQ(world.One<RequestRefused>(world.client()).error.code, RequestCode::kNamespaceTooLarge);
  EXPECT_EQ(world.One<RequestCancelled>(world.part(0)).request, request);
  EXPECT_EQ(world.One<RequestCancelled>(world.part(1)).request, request);
  EXPECT_FALSE(world.connection().closed());
  // And the session goes on.
  EXPECT_TRUE(world.client().SubscribeTracks(*TrackNamespace::Of({"kv"}), {}).ok());
  world.Run();
  EXPECT_EQ(world.Take<SubscribeTracksReceived>(world.part(0)).size(), 2u);
}

TEST(Junction, TellsOfANamespaceOnceHoweverManyPartsKnowIt) {
  World world;
  const RequestId request = *world.client().SubscribeNamespace(*TrackNamespace::Of({"kv"}), {});
  world.Run();
  const TrackNamespace known = World::Space(0);
  for (size_t i = 0; i < World::kParts; ++i) {
    ASSERT_TRUE(world.part(i).AcceptSubscribeNamespace(request, {}).ok());
    ASSERT_TRUE(world.part(i).AnnounceNamespace(request, known).ok());
    world.Run();
  }
  EXPECT_EQ(world.One<NamespaceReceived>(world.client()).space, known);
  for (size_t i = 0; i < World::kParts; ++i) {
    EXPECT_TRUE(world.Take<NamespaceWithdrawn>(world.client()).empty());
    ASSERT_TRUE(world.part(i).WithdrawNamespace(request, known).ok());
    world.Run();
  }
  EXPECT_EQ(world.One<NamespaceWithdrawn>(world.client()).space, known);
}

// What is told is told without the prefix: below another one the same words mean something else.
TEST(Junction, TellsOfWhatIsBelowAPrefixThatHasMoved) {
  World world;
  const RequestId request = *world.client().SubscribeNamespace(*TrackNamespace::Of({"kv"}), {});
  world.Run();
  for (size_t i = 0; i < World::kParts; ++i) {
    ASSERT_TRUE(world.part(i).AcceptSubscribeNamespace(request, {}).ok());
    ASSERT_TRUE(world.part(i).AnnounceNamespace(request, *TrackNamespace::Of({"kv", "x"})).ok());
  }
  world.Run();
  world.One<NamespaceReceived>(world.client());
  Parameters moved;
  moved.namespace_prefix = *TrackNamespace::Of({"kv", "m"});
  ASSERT_TRUE(world.client().Update(request, moved).ok());
  world.Run();
  const TrackNamespace below = *TrackNamespace::Of({"kv", "m", "x"});
  for (size_t i = 0; i < World::kParts; ++i) {
    world.One<UpdateReceived>(world.part(i));
    ASSERT_TRUE(world.part(i).AcceptUpdate(request, {}).ok());
    ASSERT_TRUE(world.part(i).AnnounceNamespace(request, below).ok());
    world.Run();
  }
  world.One<UpdateAccepted>(world.client());
  EXPECT_EQ(world.One<NamespaceReceived>(world.client()).space, below);
}

TEST(Junction, JoinsAFetchToItsSubscriptionWhicheverComesFirst) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    World::Options options;
    options.seed = seed;
    options.cut_max = 5;
    World world(options);
    const RequestId subscription = *world.client().Subscribe(World::Track(2), {});
    const RequestId fetch =
        *world.client().FetchJoining(subscription, Fetch::Type::kRelativeJoining, 0, {});
    world.Run();
    Parameters largest;
    largest.largest_object = Location{7, 4};
    ASSERT_TRUE(world.part(2).AcceptSubscribe(subscription, largest, {}).ok());
    world.Run();
    EXPECT_EQ(world.One<FetchReceived>(world.part(2)).request, fetch);
  }
}

TEST(Junction, ClosesAllPartsWhenOneCloses) {
  World world;
  world.Run();
  world.part(2).Close(SessionCode::kUnauthorized, "no");
  world.Run();
  EXPECT_EQ(world.One<SessionClosed>(world.client()).code,
            static_cast<uint64_t>(SessionCode::kUnauthorized));
  for (size_t i = 0; i < World::kParts; ++i) {
    world.One<SessionClosed>(world.part(i));
  }
}

TEST(Junction, SaysGoodbyeOnce) {
  World world;
  (void)*world.client().Fetch(World::Track(2), LocationRange::Groups(0, 0), {});
  world.Run();
  for (size_t i = 0; i < World::kParts; ++i) {
    ASSERT_TRUE(world.part(i).SendGoAway("", 1000).ok());
  }
  world.Run();
  // It names the first request that nobody has heard, though the home has heard none.
  EXPECT_EQ(world.One<GoAwayReceived>(world.client()).message.request_id, 2u);
}

// What waits for nobody lets the peer go on for ever: credit is given once for every byte.
TEST(Junction, GivesCreditOnceForWhatAllPartsHear) {
  World::Options options;
  options.connection_window = 4096;
  options.stream_window = 4096;
  World world(options);
  const RequestId request = *world.client().SubscribeNamespace(*TrackNamespace::Of({"kv"}), {});
  world.Run();
  for (size_t i = 0; i < World::kParts; ++i) {
    ASSERT_TRUE(world.part(i).AcceptSubscribeNamespace(request, {}).ok());
  }
  world.Run();
  for (uint64_t round = 0; round < 2000; ++round) {
    Parameters moved;
    moved.namespace_prefix = *TrackNamespace::Of({"kv", std::to_string(round)});
    ASSERT_TRUE(world.client().Update(request, moved).ok());
    world.Run();
    for (size_t i = 0; i < World::kParts; ++i) {
      ASSERT_EQ(world.Take<UpdateReceived>(world.part(i)).size(), 1u);
      ASSERT_TRUE(world.part(i).AcceptUpdate(request, {}).ok());
    }
    world.Run();
    ASSERT_EQ(world.Take<UpdateAccepted>(world.client()).size(), 1u);
  }
}

TEST(Junction, LetsPartsOpenNoMoreStreamsThanThePeerDoes) {
  World::Options options;
  options.bidi_streams = 4;
  World world(options);
  world.Run();
  ASSERT_TRUE(world.client().SubscribeTracks(*TrackNamespace::Of({"kv"}), {}).ok());
  world.Run();
  for (size_t i = 0; i < World::kParts; ++i) {
    ASSERT_TRUE(
        world.part(i)
            .AcceptSubscribeTracks(world.One<SubscribeTracksReceived>(world.part(i)).request, {})
            .ok());
  }
  size_t published = 0;
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < World::kParts; ++i) {
      published += world.part(i).Publish(World::Track(i, std::to_string(round)), {}, {}).ok();
      world.Run();
    }
  }
  EXPECT_EQ(published, 4u);
  EXPECT_EQ(world.Take<PublishReceived>(world.client()).size(), 4u);
}

}  // namespace
}  // namespace kvcast::moqt
