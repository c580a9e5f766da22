// What stands on a connection for a session of another shard.
#include "kvcast/host/remote_part.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "kvcast/io/clock.h"
#include "kvcast/io/loop_until_test.h"

namespace kvcast {
namespace {

class RemotePartTest : public testing::Test {
 protected:
  static constexpr moqt::StreamId kStream = 7;
  static constexpr uint64_t kPacket = 1400;

  RemotePartTest() {
    part_ = std::make_unique<RemotePart>(*home_, parts_, 1, 5, bridge_, ShardParcel::Came{}, [] {});
    bridge_.leaving().clear();
  }
  // The session hands over so much, as objects.
  void Hand(moqt::StreamId stream, size_t bytes) {
    part_->Take(moqt::SendBytes{stream, Bytes::Of(std::string(bytes, 'x')), false});
  }
  // What is about to go over: bytes that were sent, by stream.
  std::vector<std::pair<moqt::StreamId, uint64_t>> Leaving() {
    std::vector<std::pair<moqt::StreamId, uint64_t>> told;
    for (const ShardParcel& parcel : bridge_.leaving()) {
      if (const auto* const sent = std::get_if<ShardParcel::Sent>(&parcel.what)) {
        told.emplace_back(sent->stream, sent->bytes);
      }
    }
    return told;
  }
  using Told = std::vector<std::pair<moqt::StreamId, uint64_t>>;

  std::unique_ptr<EventLoop> home_ = *EventLoop::Make();
  std::unique_ptr<EventLoop> away_ = *EventLoop::Make();
  uint64_t heard_ = 0;
  LoopBridge<ShardParcel> bridge_{*home_, *away_, [this](std::vector<ShardParcel>& parcels) {
                                    for (const ShardParcel& parcel : parcels) {
                                      const auto* const sent =
                                          std::get_if<ShardParcel::Sent>(&parcel.what);
                                      heard_ += sent == nullptr ? 0 : sent->bytes;
                                    }
                                  }};
  RemoteParts parts_;
  std::unique_ptr<RemotePart> part_;
};

TEST_F(RemotePartTest, TellsAtOnceWhatWasSentOfLittle) {
  Hand(kStream, 100'000);
  part_->OnBytesSent(kStream, kPacket);
  EXPECT_EQ(Leaving(), (Told{{kStream, kPacket}}));
  part_->OnBytesSent(kStream, kPacket);
  EXPECT_EQ(Leaving(), (Told{{kStream, 2 * kPacket}}));  // It is one word of what it was.
}

TEST_F(RemotePartTest, TellsAGoodPartAtATimeWhatWasSentOfMuch) {
  Hand(kStream, 4 << 20);
  uint64_t sent = 0;
  while (sent + kPacket < 256 * 1024) {
    part_->OnBytesSent(kStream, kPacket);
    sent += kPacket;
    ASSERT_TRUE(Leaving().empty()) << sent;
  }
  part_->OnBytesSent(kStream, kPacket);
  EXPECT_EQ(Leaving(), (Told{{kStream, sent + kPacket}}));
}

TEST_F(RemotePartTest, TellsSoonHoweverLittleItIs) {
  Hand(kStream, 4 << 20);
  part_->OnBytesSent(kStream, kPacket);
  EXPECT_TRUE(Leaving().empty());
  EXPECT_TRUE(LoopUntil(*home_, std::chrono::seconds(60), [&] {
    away_->RunOnce(Duration::zero());
    return heard_ == kPacket;
  }));
}

TEST_F(RemotePartTest, TellsWhatWasSentBeforeWhatHappensNext) {
  Hand(kStream, 4 << 20);
  part_->OnBytesSent(kStream, kPacket);
  part_->OnStopSending(kStream, 9);
  ASSERT_EQ(bridge_.leaving().size(), 2u);
  EXPECT_TRUE(std::holds_alternative<ShardParcel::Sent>(bridge_.leaving()[0].what));
  EXPECT_TRUE(std::holds_alternative<ShardParcel::Stopped>(bridge_.leaving()[1].what));
}

// What was handed over and will not be sent is not waiting any more.
TEST_F(RemotePartTest, TellsAtOnceWhenOnlyLittleIsLeftOfMuch) {
  Hand(kStream, 4 << 20);
  Hand(kStream + 4, 10'000);
  part_->OnBytesSent(kStream + 4, kPacket);
  EXPECT_TRUE(Leaving().empty());
  part_->Take(moqt::ResetStream{kStream, 0});
  part_->OnBytesSent(kStream + 4, kPacket);
  EXPECT_EQ(Leaving(), (Told{{kStream + 4, 2 * kPacket}}));
}

}  // namespace
}  // namespace kvcast
