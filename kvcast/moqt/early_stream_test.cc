// Streams and datagrams that come before their track is known.
#include <gtest/gtest.h>

#include <string>

#include "kvcast/moqt/byte_peer_test.h"
#include "kvcast/moqt/session.h"

namespace kvcast::moqt {
namespace {

using namespace std::chrono_literals;

TrackName EarlyTrack(std::string_view name) {
  return *TrackName::Of(*TrackNamespace::Of({"kv"}), name);
}

// A subgroup of one object.
std::string Subgroup(uint64_t alias) {
  SubgroupHeader header;
  header.alias = alias;
  const auto writer = DefaultCodec().WriteSubgroup(header);
  Object object;
  object.payload = Bytes::Of("kv");
  return writer->Header().ToString() + writer->Write(object).ToString();
}

std::string Encoded(const Message& message) {
  return DefaultCodec().Encode(message).value().ToString();
}

std::vector<StreamId> Stopped(Session& session) {
  std::vector<StreamId> streams;
  while (const std::optional<TransportAction> action = session.NextAction()) {
    if (const auto* stop = std::get_if<StopSending>(&*action)) {
      streams.push_back(stop->stream);
    }
  }
  return streams;
}

size_t Objects(Session& session, RequestId request) {
  size_t objects = 0;
  while (const std::optional<Received> item = session.Take(request)) {
    objects += std::holds_alternative<ReceivedObject>(*item) ? 1u : 0u;
  }
  return objects;
}

// Reads none of the others again, however many wait.
TEST(EarlyStream, GoesOnWhenItsOwnTrackComes) {
  BytePeer peer(true);
  peer.SetUp();
  for (uint64_t i = 0; i < 10; ++i) {
    peer.Send(peer.PeersData(i), Subgroup(i), true);
  }
  peer.Send(peer.PeersRequest(0), Encoded(Publish{0, EarlyTrack("t"), 4, {}, {}}));
  EXPECT_EQ(Objects(peer.session(), 0), 1u);
  peer.Send(peer.PeersRequest(1), Encoded(Publish{2, EarlyTrack("u"), 9, {}, {}}));
  EXPECT_EQ(Objects(peer.session(), 2), 1u);
  EXPECT_EQ(Objects(peer.session(), 0), 0u);
}

TEST(EarlyStream, WaitsForItsTrackOnlySoLong) {
  BytePeer peer(true);
  Session& session = peer.SetUp().session();
  peer.Send(peer.PeersData(0), Subgroup(7));
  session.OnTime(Instant() + 1s);
  peer.Send(peer.PeersData(1), Subgroup(8));
  ObjectDatagram datagram;
  datagram.alias = 9;
  datagram.object.payload = Bytes::Of("kv");
  session.OnDatagram(AsBytes(DefaultCodec().EncodeDatagram(datagram).ToString()));
  EXPECT_EQ(session.deadline(), Instant() + Limits().track_patience);
  session.OnTimeout(Instant() + Limits().track_patience);
  EXPECT_EQ(Stopped(session), std::vector{peer.PeersData(0)});
  EXPECT_EQ(session.deadline(), Instant() + 1s + Limits().track_patience);
  session.OnTimeout(Instant() + 1s + Limits().track_patience);
  EXPECT_EQ(Stopped(session), std::vector{peer.PeersData(1)});
  EXPECT_FALSE(session.deadline().has_value());
  peer.Send(peer.PeersRequest(0), Encoded(Publish{0, EarlyTrack("t"), 9, {}, {}}));
  EXPECT_EQ(Objects(session, 0), 0u);
  EXPECT_FALSE(session.closed());
}

// Nothing is kept for a subscription that was given up before its alias was known.
TEST(EarlyStream, IsDroppedWhenItsSubscriptionWasLeftBefore) {
  for (const bool answer_first : {true, false}) {
    BytePeer peer(false);
    Session& session = peer.SetUp().session();
    const RequestId left = *session.Subscribe(EarlyTrack("t"), {});
    session.Cancel(left, ResetCode::kCancelled);
    (void)Stopped(session);
    const auto answer = [&] { peer.Send(peer.OurRequest(0), Encoded(SubscribeOk{5, {}, {}})); };
    if (answer_first) {
      answer();
    }
    peer.Send(peer.PeersData(0), Subgroup(5));
    if (!answer_first) {
      EXPECT_TRUE(Stopped(session).empty());
      answer();
    }
    EXPECT_EQ(Stopped(session), std::vector{peer.PeersData(0)});
    EXPECT_FALSE(session.deadline().has_value());
  }
}

// The track is refused, not only its request stream reset: its id and its alias are known.
TEST(EarlyStream, IsDroppedWhenItsTrackIsMalformed) {
  BytePeer peer(true);
  Session& session = peer.SetUp().session();
  peer.Send(peer.PeersData(0), Subgroup(5));
  const std::string nested("\x0b\x02\x0b\x00", 4);  // Immutable properties within such.
  std::string publish = Encoded(Publish{0, EarlyTrack("t"), 5, {}, {}}) + nested;
  publish[2] = static_cast<char>(publish[2] + 4);
  peer.Send(peer.PeersRequest(0), publish);
  EXPECT_EQ(Stopped(session), std::vector{peer.PeersData(0)});
  peer.Send(peer.PeersData(1), Subgroup(5));
  EXPECT_EQ(Stopped(session), std::vector{peer.PeersData(1)});
  EXPECT_FALSE(session.closed());
  peer.Send(peer.PeersRequest(1), Encoded(Publish{0, EarlyTrack("u"), 6, {}, {}}));
  EXPECT_TRUE(session.closed());  // One id twice.
}

}  // namespace
}  // namespace kvcast::moqt
