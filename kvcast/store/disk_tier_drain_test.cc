// What a disk tier does while it empties segments: with devices that fail and dawdle, and with
// removals that have to be moved along.
#include <gtest/gtest.h>

#include <functional>

#include "kvcast/store/disk_tier_fixture_test.h"

namespace kvcast {
namespace {

using std::chrono::seconds;
using Kind = DeviceRequest::Kind;

// A disk on whose way some requests fail, and some are kept back until they are let go.
class DrainedDisk : public DiskTierFixture {
 public:
  using DiskTierFixture::DiskTierFixture;

  void StartDrained() {
    device = device.AfterKill();
    ++options.seed;
    tier = std::make_unique<DiskTier>(options, std::make_unique<OldestFirst>());
    RunDrained();
  }
  void RunDrained() {
    for (bool more = true; more;) {
      more = false;
      for (DeviceRequest& request : tier->TakeRequests()) {
        more = true;
        if (fails && fails(request)) {
          failing.push_back(request.token);
        } else if (keeps_back && keeps_back(request)) {
          kept.push_back(std::move(request));
        } else {
          device.Submit(std::move(request));
        }
      }
      more = Step() || more;
      if (!more && !failing.empty()) {
        tier->OnCompletion({.token = failing.front(), .error = DeviceError{false, "bad"}}, now);
        failing.erase(failing.begin());
        more = true;
      }
    }
  }
  void WaitDrained(int count, Duration each) {
    for (int i = 0; i < count; ++i) {
      now += each;
      tier->OnTime(now);
      RunDrained();
    }
  }
  void LetGo() {
    keeps_back = nullptr;
    for (DeviceRequest& request : std::exchange(kept, {})) {
      device.Submit(std::move(request));
    }
    RunDrained();
  }
  int Acknowledged(const TrackName& track, uint64_t count) {
    int acknowledged = 0;
    for (uint64_t group = 0; group < count; ++group) {
      const auto ticket = tier->Put(track, DiskObject({group, 0}, std::string(5000, 'y')), 1, now);
      RunDrained();
      acknowledged += ticket.ok() && written.contains(*ticket) ? 1 : 0;
    }
    return acknowledged;
  }

  std::function<bool(const DeviceRequest&)> fails;
  std::function<bool(const DeviceRequest&)> keeps_back;
  std::vector<DeviceToken> failing;
  std::vector<DeviceRequest> kept;
};

// A drain that had to be held has moved something already: what comes of that is not for the next
// drain of the segment to count.
TEST(DiskTierDrain, ASegmentIsEmptiedAgainWhileWhatWasMovedIsStillBeingWritten) {
  DrainedDisk disk;
  disk.Start();
  for (uint64_t group = 0; group < 6; ++group) {
    ASSERT_TRUE(disk.Put(DiskTrack("a"), DiskObject({group, 0}, std::string(5000, 'x'))).ok());
  }
  bool bad = true;
  disk.fails = [&](const DeviceRequest& request) {
    return bad && request.kind == Kind::kRead && request.file == 1 && request.offset >= 32768 &&
           request.length <= 12288;
  };
  disk.keeps_back = [](const DeviceRequest& request) {
    return request.kind == Kind::kWrite && request.file > 1;
  };
  disk.StartDrained();
  ASSERT_FALSE(disk.kept.empty());
  ASSERT_EQ(disk.tier->segments().segments.at(1).state, SegmentState::kHeld);
  bad = false;
  disk.WaitDrained(1, seconds(3));
  disk.LetGo();
  disk.WaitDrained(10, seconds(10));
  EXPECT_FALSE(disk.tier->segments().segments.contains(1));
  EXPECT_TRUE(disk.tier->idle());
  EXPECT_EQ(disk.Acknowledged(DiskTrack("b"), 200), 200);
}

// As long as something of a file is being read it must not be removed.
TEST(DiskTierDrain, ADrainIsHeldOnlyWhenNothingIsReadAnyMore) {
  DrainedDisk disk;
  disk.Start();
  for (uint64_t group = 0; group < 6; ++group) {
    ASSERT_TRUE(disk.Put(DiskTrack("a"), DiskObject({group, 0}, std::string(5000, 'x'))).ok());
  }
  const auto of_one = [](const DeviceRequest& request) {
    return request.kind == Kind::kRead && request.file == 1 && request.length <= 12288 &&
           request.offset >= kDeviceBlockBytes;
  };
  int failures = 1;
  disk.fails = [&](const DeviceRequest& request) { return of_one(request) && failures-- > 0; };
  disk.keeps_back = of_one;
  disk.StartDrained();
  ASSERT_FALSE(disk.kept.empty());
  EXPECT_EQ(disk.tier->segments().segments.at(1).state, SegmentState::kFrail);
  disk.WaitDrained(3, seconds(10));
  EXPECT_TRUE(disk.tier->segments().segments.at(1).draining);
  disk.LetGo();
  EXPECT_EQ(disk.tier->segments().segments.at(1).state, SegmentState::kHeld);
  disk.WaitDrained(3, seconds(10));
  EXPECT_FALSE(disk.tier->segments().segments.contains(1));
}

}  // namespace
}  // namespace kvcast
