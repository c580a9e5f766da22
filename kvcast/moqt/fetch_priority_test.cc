// How urgent a fetch's stream is: as the object that is sent next on it.
#include <gtest/gtest.h>

#include "kvcast/moqt/session.h"
#include "kvcast/moqt/session_pair.h"

namespace kvcast::moqt {
namespace {

// The client has asked for a track, and nothing was sent yet.
struct PriorityWorld {
  PriorityWorld() {
    const TrackName track = *TrackName::Of(*TrackNamespace::Of({"kv"}), "t");
    request = *pair.client().Fetch(track, LocationRange::Groups(0, 9), {});
    pair.Run();
    EXPECT_TRUE(server().AcceptFetch(request, FetchOk{false, {9, 9}, {}, {}}).ok());
    pair.Run();
  }
  Session& server() { return pair.server(); }

  void Send(uint64_t id, uint8_t priority) {
    Object object;
    object.location = {0, id};
    object.priority = priority;
    object.payload = Bytes::Of("kv");
    EXPECT_TRUE(server().SendFetched(request, object).ok());
    Look();
  }
  // Does what the session asks for, and notes how urgent it wants its stream to be.
  void Look() {
    while (std::optional<TransportAction> action = server().NextAction()) {
      if (const auto* open = std::get_if<OpenStream>(&*action)) {
        stream = open->stream;
        orders.push_back(open->order);
      } else if (const auto* reorder = std::get_if<ReorderStream>(&*action)) {
        EXPECT_EQ(reorder->stream, stream);
        orders.push_back(reorder->order);
      } else if (const auto* bytes = std::get_if<SendBytes>(&*action)) {
        written += bytes->bytes.size();
      }
    }
  }
  void Sent(uint64_t bytes) {
    server().OnBytesSent(stream, bytes);
    Look();
  }
  std::vector<int> priorities() const {
    std::vector<int> found;
    for (const SendOrder& order : orders) {
      found.push_back(order.publisher_priority);
    }
    return found;
  }

  SessionPair pair;
  RequestId request;
  StreamId stream = 0;
  uint64_t written = 0;
  std::vector<SendOrder> orders;
};

TEST(FetchPriority, IsThatOfTheObjectThatIsSentNext) {
  PriorityWorld world;
  world.Send(0, 10);
  EXPECT_EQ(world.orders.at(0).request, world.request);
  const uint64_t first = world.written;
  world.Send(1, 10);
  const uint64_t second = world.written;
  world.Send(2, 200);
  world.Send(3, 5);
  EXPECT_EQ(world.priorities(), (std::vector{10}));
  world.Sent(first);
  world.Sent(second - first - 1);
  EXPECT_EQ(world.priorities(), (std::vector{10}));
  world.Sent(1);
  EXPECT_EQ(world.priorities(), (std::vector{10, 200}));
  world.Sent(world.written - second);
  EXPECT_EQ(world.priorities(), (std::vector{10, 200, 5}));
  world.Send(4, 7);  // Nothing waits before it.
  EXPECT_EQ(world.priorities(), (std::vector{10, 200, 5, 7}));
}

TEST(FetchPriority, OfOneThatEndedIsStillThatOfTheObjectThatIsSentNext) {
  PriorityWorld world;
  world.Send(0, 100);
  const uint64_t first = world.written;
  world.Send(1, 200);
  ASSERT_TRUE(world.server().EndFetch(world.request).ok());
  world.Look();
  EXPECT_EQ(world.priorities(), (std::vector{100}));
  world.Sent(first);
  EXPECT_EQ(world.priorities(), (std::vector{100, 200}));
}

TEST(FetchPriority, IsKeptWhenTheSubscriberChangesItsOwn) {
  PriorityWorld world;
  world.Send(0, 10);
  Parameters parameters;
  parameters.subscriber_priority = 3;
  ASSERT_TRUE(world.pair.client().Update(world.request, parameters).ok());
  world.pair.Run();
  (void)world.pair.One<UpdateReceived>(world.server());
  ASSERT_TRUE(world.server().AcceptUpdate(world.request, {}).ok());
  world.Look();
  ASSERT_EQ(world.orders.size(), 2U);
  EXPECT_EQ(world.orders[1].subscriber_priority, 3);
  EXPECT_EQ(world.orders[1].publisher_priority, 10);
}

}  // namespace
}  // namespace kvcast::moqt
