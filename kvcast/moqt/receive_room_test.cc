// Sessions that share the room for what comes.
#include "kvcast/moqt/receive_room.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "kvcast/moqt/received_bytes.h"
#include "kvcast/moqt/sent_group_test.h"
#include "kvcast/moqt/session_pair.h"

namespace kvcast::moqt {
namespace {

constexpr size_t kMebibyte = size_t{1} << 20;

TEST(ReceiveRoom, IsDividedEquallyAmongThoseWhoHaveAny) {
  const auto room = std::make_shared<ReceiveRoom>(8 * kMebibyte);
  ReceivedBytes one;
  ReceivedBytes other;
  ReceivedBytes idle;
  for (ReceivedBytes* bytes : {&one, &other, &idle}) {
    bytes->Share({nullptr, room, false});
  }
  one.Move(0, 3 * kMebibyte);
  EXPECT_EQ(room->part(), 8 * kMebibyte);
  EXPECT_FALSE(one.scarce());
  one.Move(3 * kMebibyte, 5 * kMebibyte);
  EXPECT_TRUE(one.scarce());  // More than half of all of it,
  other.Move(0, kMebibyte);
  EXPECT_EQ(room->part(), 4 * kMebibyte);
  EXPECT_FALSE(other.scarce());  // and this one has not had half of its part.
  EXPECT_FALSE(one.too_much());  // There is room left.
  EXPECT_FALSE(other.TakeWanting());
  other.Move(kMebibyte, 7 * kMebibyte / 2);
  EXPECT_TRUE(one.too_much());
  EXPECT_FALSE(other.too_much());  // It has no more than its part, and is not held up:
  EXPECT_TRUE(other.TakeWanting());
  EXPECT_FALSE(other.TakeWanting());  // the other is to give way, and that is said once.
  one.Move(5 * kMebibyte, 0);
  EXPECT_EQ(room->bytes(), 7 * kMebibyte / 2);
  EXPECT_EQ(room->part(), 8 * kMebibyte);
}

TEST(ReceiveRoom, CountsASessionForAsLongAsItHasAPart) {
  const auto room = std::make_shared<ReceiveRoom>(kMebibyte, 3);
  const auto other = std::make_shared<ReceiveRoom>(kMebibyte);
  {
    ReceivedBytes bytes;
    bytes.Move(0, 1000);
    EXPECT_TRUE(bytes.OpenStream());
    bytes.Share({room, nullptr, false});
    EXPECT_EQ(room->bytes(), 1000u);
    EXPECT_EQ(room->streams(), 1u);
    bytes.Share({other, nullptr, false});
    EXPECT_EQ(room->bytes(), 0u);
    EXPECT_EQ(room->part(), kMebibyte);
    EXPECT_EQ(other->bytes(), 1000u);
  }
  EXPECT_EQ(other->bytes(), 0u);
  EXPECT_EQ(other->streams(), 0u);
}

TEST(ReceiveRoom, DoesNotHoldUpWhatWeHaveAskedFor) {
  const auto room = std::make_shared<ReceiveRoom>(kMebibyte);
  ReceivedBytes bytes;
  bytes.Share({nullptr, room, true});
  bytes.Move(0, 3 * kMebibyte);
  EXPECT_TRUE(room->over());
  EXPECT_FALSE(bytes.scarce());
  EXPECT_FALSE(bytes.too_much());
}

// Publishers whose objects are all under way at once, on streams of which each takes its turn.
class SharingTest : public testing::Test {
 protected:
  static constexpr size_t kPairs = 4;
  static constexpr uint64_t kStreams = 20;

  SharingTest() {
    SessionPair::Options options;
    options.stream_window = 10'000;
    options.cut_max = 10'000;
    for (size_t i = 0; i < kPairs; ++i) {
      options.seed = i;
      pairs_.push_back(std::make_unique<SessionPair>(options));
    }
  }
  // What was held most of all at a time, until everything has come.
  size_t RunAll(const std::shared_ptr<ReceiveRoom>& room) {
    std::vector<RequestId> requests;
    for (const auto& pair : pairs_) {
      requests.push_back(*pair->client().Publish(Track("t"), {}, {}));
      pair->Run();
      pair->server().ShareRoom({nullptr, room, false});
      for (uint64_t group = 0; group < kStreams; ++group) {
        SendGroup(pair->client(), requests.back(), group, 1, 100'000);
      }
    }
    size_t most = 0;
    for (bool moves = true; moves;) {
      moves = false;
      for (size_t i = 0; i < kPairs; ++i) {
        moves = pairs_[i]->Step() || moves;
        while (const std::optional<Received> item = pairs_[i]->server().Take(requests[i])) {
          const auto* end = std::get_if<SubgroupEnd>(&*item);
          whole_ += end != nullptr && end->complete ? 1u : 0u;
        }
      }
      most = std::max(most, room->bytes());
    }
    return most;
  }

  std::vector<std::unique_ptr<SessionPair>> pairs_;
  size_t whole_ = 0;
};

TEST_F(SharingTest, AllOfItIsUnderWayAtOnceWhereThereIsRoom) {
  const auto room = std::make_shared<ReceiveRoom>();
  EXPECT_GT(RunAll(room), 5 * kMebibyte);
  EXPECT_EQ(whole_, kPairs * kStreams);
}

TEST_F(SharingTest, ObjectsThatLackLeastGoFirstWhereThereIsLittleAndNothingIsLost) {
  const auto room = std::make_shared<ReceiveRoom>(4 * kMebibyte);
  EXPECT_LE(RunAll(room), 4 * kMebibyte);
  EXPECT_EQ(whole_, kPairs * kStreams);
  EXPECT_EQ(room->bytes(), 0u);
  for (const auto& pair : pairs_) {
    EXPECT_EQ(pair->server().refused_for_room(), 0u);
  }
}

// A peer that does not wait for credit: it has had all of it at first.
TEST(ReceiveRoomSession, RefusesTheStreamThatBringsMoreThanThereIsRoomFor) {
  SessionPair::Options options;
  options.cut_max = 10'000;
  SessionPair pair(options);
  const auto room = std::make_shared<ReceiveRoom>(kMebibyte);
  pair.server().ShareRoom({nullptr, room, false});
  const RequestId request = *pair.client().Publish(Track("t"), {}, {});
  pair.Run();
  for (uint64_t group = 0; group < 8; ++group) {
    SendGroup(pair.client(), request, group, 1, 400'000);
  }
  while (pair.Step()) {
    EXPECT_LE(room->bytes(), kMebibyte + 20'000);
    while (pair.server().Take(request)) {
    }
  }
  const auto stopped = pair.Take<SubgroupStopped>(pair.client());
  EXPECT_GE(stopped.size(), 1u);
  EXPECT_EQ(stopped.size(), pair.server().refused_for_room());
  // The publication goes on.
  SendGroup(pair.client(), request, 8, 1, 400'000);
  pair.Run();
  bool came = false;
  while (const std::optional<Received> item = pair.server().Take(request)) {
    came = came || std::holds_alternative<ReceivedObject>(*item);
  }
  EXPECT_TRUE(came);
}

TEST(ReceiveRoomSession, GivesUpWhatHoldsMost) {
  SessionPair::Options options;
  options.limits.stream_queue_bytes = 100'000;
  SessionPair pair(options);
  const auto room = std::make_shared<ReceiveRoom>();
  pair.server().ShareRoom({room, nullptr, false});
  const RequestId much = *pair.client().Publish(Track("much"), {}, {});
  const RequestId little = *pair.client().Publish(Track("little"), {}, {});
  pair.Run();
  for (const RequestId request : {much, little}) {
    ASSERT_TRUE(pair.server().AcceptPublish(request, {}).ok());
  }
  SendGroup(pair.client(), much, 0, 5, 10'000);
  SendGroup(pair.client(), little, 0, 2, 10'000);
  pair.Run();
  const size_t before = room->bytes();
  EXPECT_GT(before, 70'000u);
  pair.server().GiveUpReceived(1);
  EXPECT_LT(room->bytes(), before - 50'000);
  EXPECT_GT(room->bytes(), 20'000u);
  const auto cancelled = pair.Take<RequestCancelled>(pair.server());
  ASSERT_EQ(cancelled.size(), 1u);
  EXPECT_EQ(cancelled[0].request, much);
  EXPECT_EQ(cancelled[0].code, static_cast<uint64_t>(ResetCode::kExcessiveLoad));
  pair.Run();
  EXPECT_EQ(pair.One<RequestCancelled>(pair.client()).code,
            static_cast<uint64_t>(ResetCode::kExcessiveLoad));
}

TEST(ReceiveRoomSession, RefusesMoreStreamsThanThePeerMayHave) {
  SessionPair pair;
  const auto room = std::make_shared<ReceiveRoom>(kMebibyte, 5);
  const RequestId request = *pair.client().Publish(Track("t"), {}, {});
  pair.Run();
  pair.server().ShareRoom({room, nullptr, false});
  SubgroupHeader header;
  for (header.group = 0; header.group < 8; ++header.group) {
    const StreamId stream = *pair.client().OpenSubgroup(request, header);
    Object object;
    object.location = {header.group, 0};
    object.payload = Bytes::Of("x");
    ASSERT_TRUE(pair.client().SendObject(request, stream, object).ok());
  }
  pair.Run();
  // The peer's control stream is the first of them.
  EXPECT_EQ(pair.Take<SubgroupStopped>(pair.client()).size(), 4u);
  pair.Run();
  EXPECT_EQ(room->streams(), 5u);
}

}  // namespace
}  // namespace kvcast::moqt
