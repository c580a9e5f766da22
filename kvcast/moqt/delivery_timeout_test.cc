// How long objects may take, as track and subscriber want it.
#include <gtest/gtest.h>

#include "kvcast/moqt/session.h"
#include "kvcast/moqt/session_pair.h"

namespace kvcast::moqt {
namespace {

using std::chrono::milliseconds;

constexpr Instant kStart;
constexpr uint64_t kObjectTimeout = 0x02;
constexpr uint64_t kSubgroupTimeout = 0x06;

Object ObjectAt(Location location) {
  Object object;
  object.location = location;
  object.payload = Bytes::Of("0123456789");
  return object;
}

// A publisher whose connection sends only what it is told to.
class TimeoutWorld {
 public:
  TimeoutWorld(const Properties& track, const Parameters& wanted)
      : session_(Role::kServer, {}, {}, kStart) {
    session_.OnStreamData(2, AsBytes(std::string_view("\xaf\x00\x00\x00", 4)), false);
    request_ = *session_.Publish(*TrackName::Of({}, "t"), {}, track);
    const Codec& codec = DefaultCodec();
    const std::string ok = codec.Encode(RequestOk{wanted, {}}).value().ToString();
    session_.OnStreamData(1, AsBytes(ok), false);
    stream_ = *session_.OpenSubgroup(request_, {});
    (void)Actions();
  }
  Session& session() { return session_; }
  RequestId request() const { return request_; }
  StreamId stream() const { return stream_; }
  Result<void> Send(uint64_t id, std::optional<Instant> since = std::nullopt) {
    return session_.SendObject(request_, stream_, ObjectAt({0, id}), since);
  }
  std::vector<TransportAction> Actions() {
    std::vector<TransportAction> actions;
    while (auto action = session_.NextAction()) {
      actions.push_back(*std::move(action));
    }
    return actions;
  }
  // The code that the stream was reset with, if it was.
  std::optional<uint64_t> ResetCodeOf() {
    for (const TransportAction& action : Actions()) {
      if (const auto* reset = std::get_if<ResetStream>(&action);
          reset && reset->stream == stream_) {
        return reset->code;
      }
    }
    return std::nullopt;
  }
  bool told_of_timeout() {
    while (const auto event = session_.NextEvent()) {
      if (const auto* stopped = std::get_if<SubgroupStopped>(&*event)) {
        return stopped->timed_out && stopped->subgroup == stream_;
      }
    }
    return false;
  }

 private:
  Session session_;
  RequestId request_;
  StreamId stream_;
};

Properties TrackTimeout(uint64_t type, uint64_t ms) {
  return PropertiesBuilder().Number(type, ms).Build();
}
Parameters ObjectTimeout(uint64_t ms) {
  Parameters parameters;
  parameters.object_delivery_timeout_ms = ms;
  return parameters;
}

constexpr auto kTimedOut = static_cast<uint64_t>(ResetCode::kDeliveryTimeout);

TEST(ObjectDeliveryTimeout, ResetsTheStreamOfAnObjectThatWasNotSentInTime) {
  TimeoutWorld world({}, ObjectTimeout(100));
  ASSERT_TRUE(world.Send(0).ok());
  EXPECT_EQ(world.session().deadline(), kStart + milliseconds(100));
  world.session().OnTimeout(kStart + milliseconds(99));
  EXPECT_FALSE(world.ResetCodeOf().has_value());
  world.session().OnTimeout(kStart + milliseconds(100));
  EXPECT_EQ(world.ResetCodeOf(), kTimedOut);
  EXPECT_TRUE(world.told_of_timeout());
  EXPECT_FALSE(world.Send(1).ok());
  EXPECT_FALSE(world.session().deadline().has_value());
  EXPECT_EQ(world.session().queued_bytes(), 0u);
}

// An object that has begun to be sent is not taken back; the next one still may be.
TEST(ObjectDeliveryTimeout, SparesWhatIsBeingSent) {
  TimeoutWorld world({}, ObjectTimeout(100));
  ASSERT_TRUE(world.Send(0).ok());
  world.session().OnTime(kStart + milliseconds(50));
  ASSERT_TRUE(world.Send(1).ok());
  world.session().OnBytesSent(world.stream(),
                              6);  // The header's four bytes, and two of the object.
  EXPECT_EQ(world.session().deadline(), kStart + milliseconds(150));
  world.session().OnTimeout(kStart + milliseconds(149));
  EXPECT_FALSE(world.ResetCodeOf().has_value());
  world.session().OnTimeout(kStart + milliseconds(150));
  EXPECT_EQ(world.ResetCodeOf(), kTimedOut);
}

TEST(ObjectDeliveryTimeout, IsTheSmallerOneOfTrackAndSubscriber) {
  const struct {
    uint64_t track;
    uint64_t subscriber;
    std::optional<uint64_t> timeout;
  } cases[] = {{100, 300, 100}, {300, 100, 100}, {0, 300, 300}, {300, 0, 300}, {0, 0, {}}};
  for (const auto& [track, subscriber, timeout] : cases) {
    TimeoutWorld world(TrackTimeout(kObjectTimeout, track), ObjectTimeout(subscriber));
    ASSERT_TRUE(world.Send(0).ok());
    const auto expected = timeout ? std::optional(kStart + milliseconds(*timeout)) : std::nullopt;
    EXPECT_EQ(world.session().deadline(), expected);
  }
}

TEST(ObjectDeliveryTimeout, CountsFromWhenTheObjectCameToUs) {
  TimeoutWorld world({}, ObjectTimeout(100));
  world.session().OnTime(kStart + milliseconds(90));
  ASSERT_TRUE(world.Send(0, kStart).ok());
  EXPECT_EQ(world.session().deadline(), kStart + milliseconds(100));
  world.session().OnTime(kStart + milliseconds(200));
  EXPECT_FALSE(world.Send(1, kStart).ok());  // Too late already.
  EXPECT_EQ(world.ResetCodeOf(), kTimedOut);
}

TEST(ObjectDeliveryTimeout, CanBeChangedByAnUpdate) {
  TimeoutWorld world({}, ObjectTimeout(100));
  ASSERT_TRUE(world.Send(0).ok());
  const std::string update =
      DefaultCodec().Encode(RequestUpdate{0, ObjectTimeout(50)}).value().ToString();
  world.session().OnStreamData(1, AsBytes(update), false);
  ASSERT_TRUE(world.session().AcceptUpdate(world.request(), {}).ok());
  EXPECT_EQ(world.session().deadline(), kStart + milliseconds(50));
}

TEST(SubgroupDeliveryTimeout, CountsFromTheEndOfTheSubgroup) {
  TimeoutWorld world(TrackTimeout(kSubgroupTimeout, 100), {});
  ASSERT_TRUE(world.Send(0).ok());
  EXPECT_FALSE(world.session().deadline().has_value());
  world.session().OnTime(kStart + milliseconds(40));
  ASSERT_TRUE(world.session().EndSubgroup(world.request(), world.stream()).ok());
  EXPECT_EQ(world.session().deadline(), kStart + milliseconds(140));
  world.session().OnTimeout(kStart + milliseconds(140));
  EXPECT_EQ(world.ResetCodeOf(), kTimedOut);
}

// What was sent may get lost, and be too late when it is sent again.
TEST(SubgroupDeliveryTimeout, CountsUntilAllHasArrived) {
  for (const bool sent_before_end : {true, false}) {
    TimeoutWorld world(TrackTimeout(kSubgroupTimeout, 100), {});
    const auto end = [&] {
      ASSERT_TRUE(world.session().EndSubgroup(world.request(), world.stream()).ok());
    };
    ASSERT_TRUE(world.Send(0).ok());
    if (!sent_before_end) {
      end();
    }
    world.session().OnBytesSent(world.stream(), world.session().queued_bytes());
    if (sent_before_end) {
      end();
    }
    EXPECT_EQ(world.session().deadline(), kStart + milliseconds(100));
    world.session().OnTimeout(kStart + milliseconds(100));
    EXPECT_EQ(world.ResetCodeOf(), kTimedOut);
    EXPECT_TRUE(world.told_of_timeout());
  }
}

TEST(SubgroupDeliveryTimeout, IsOverOnceAllHasArrived) {
  TimeoutWorld world(TrackTimeout(kSubgroupTimeout, 100), {});
  ASSERT_TRUE(world.Send(0).ok());
  ASSERT_TRUE(world.session().EndSubgroup(world.request(), world.stream()).ok());
  world.session().OnBytesSent(world.stream(), world.session().queued_bytes());
  world.session().OnDelivered(world.stream());
  EXPECT_FALSE(world.session().deadline().has_value());
  world.session().OnTimeout(kStart + milliseconds(1000));
  EXPECT_FALSE(world.ResetCodeOf().has_value());
}

// A subscription that is over times nothing out; what arrives late is nobody's.
TEST(SubgroupDeliveryTimeout, EndsWithItsSubscription) {
  TimeoutWorld world(TrackTimeout(kSubgroupTimeout, 100), {});
  ASSERT_TRUE(world.Send(0).ok());
  ASSERT_TRUE(world.session().EndSubgroup(world.request(), world.stream()).ok());
  world.session().OnBytesSent(world.stream(), world.session().queued_bytes());
  ASSERT_TRUE(world.session().EndTrack(world.request(), DoneCode::kTrackEnded, "").ok());
  EXPECT_FALSE(world.session().deadline().has_value());
  world.session().OnDelivered(world.stream());
  EXPECT_FALSE(world.ResetCodeOf().has_value());
}

TEST(DeliveryTimeouts, DropDatagramsByTheSmallerOfBoth) {
  TimeoutWorld world(TrackTimeout(kSubgroupTimeout, 50), ObjectTimeout(100));
  Object object = ObjectAt({0, 0});
  object.forwarding = Forwarding::kDatagram;
  world.session().OnTime(kStart + milliseconds(60));
  ASSERT_TRUE(world.session().SendDatagramObject(world.request(), object, false, kStart).ok());
  EXPECT_TRUE(world.Actions().empty());
  ASSERT_TRUE(world.session()
                  .SendDatagramObject(world.request(), object, false, kStart + milliseconds(20))
                  .ok());
  const auto actions = world.Actions();
  ASSERT_EQ(actions.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<SendDatagram>(actions[0]));
}

}  // namespace
}  // namespace kvcast::moqt
