// Objects that are put again while what holds them is emptied: whoever puts them is told in the
// end, and keeps what he was told.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "kvcast/store/disk_tier_fixture_test.h"

namespace kvcast {
namespace {

// A disk that is filled until its first segment is about to go.
class EmptyingDisk : public DrainedDisk {
 public:
  using DrainedDisk::DrainedDisk;

  void Fill() {
    (void)tier->Put(DiskTrack("f"), DiskObject({filled++, 0}, std::string(fill_bytes, 'f')), 1,
                    now);
    RunDrained();
  }
  // Its first segment is being emptied, and waits for reads of it,
  void FillUntilReadsWait() {
    FillUntilWaitingFor([](const DeviceRequest&) { return true; });
  }
  // or of its first records alone.
  void FillUntilRecordsWait() {
    FillUntilWaitingFor([](const DeviceRequest& request) {
      return request.offset == kDeviceBlockBytes && request.length == kDeviceBlockBytes;
    });
  }
  bool ToldEvicted(const TrackName& track) const {
    return std::ranges::count(evicted, track, &EvictedGroup::track) > 0;
  }

  size_t fill_bytes = 20000;
  uint64_t filled = 0;

 private:
  void FillUntilWaitingFor(const std::function<bool(const DeviceRequest&)>& waits) {
    keeps_back = [waits](const DeviceRequest& request) {
      return request.kind == DeviceRequest::Kind::kRead && request.file == 1 && waits(request);
    };
    while (kept.empty()) {
      Fill();
    }
    ASSERT_TRUE(tier->segments().segments.at(1).draining);
  }
};

TEST(DiskTierPutAgain, APutOfWhatIsAboutToGoIsWrittenAgain) {
  EmptyingDisk disk;
  disk.Start();
  const Object object = DiskObject({0, 0}, std::string(5000, 'x'));
  ASSERT_TRUE(disk.Put(DiskTrack("a"), object).ok());
  disk.FillUntilReadsWait();
  const auto ticket = disk.tier->Put(DiskTrack("a"), object, 1, disk.now);
  ASSERT_TRUE(ticket.ok());
  disk.LetGo();
  EXPECT_TRUE(disk.written.contains(*ticket));
  EXPECT_FALSE(disk.tier->segments().segments.contains(1));
  EXPECT_TRUE(disk.Payload(DiskTrack("a"), {0, 0}).has_value());
}

// A group of one object, with its end, in a segment that is being emptied.
class DiskTierPutAgainWhole : public testing::Test {
 protected:
  void SetUp() override {
    disk_.Start();
    ASSERT_TRUE(disk_.Put(track_, object_).ok());
    ASSERT_TRUE(disk_.tier->EndGroup(track_, {0, 1}, disk_.now).ok());
    disk_.RunDrained();
    disk_.FillUntilReadsWait();
  }
  void ExpectWholeNowAndAfterAStart() {
    EXPECT_TRUE(disk_.Payload(track_, {0, 0}).has_value());
    EXPECT_TRUE(disk_.tier->FindGroup(track_, 0)->whole());
    disk_.StartDrained();
    EXPECT_TRUE(disk_.tier->FindGroup(track_, 0)->whole()) << "after a start";
  }

  EmptyingDisk disk_;
  const TrackName track_ = DiskTrack("a");
  const Object object_ = DiskObject({0, 0}, std::string(5000, 'x'));
};

// Or its publisher would wait for the group to be whole until the next start.
TEST_F(DiskTierPutAgainWhole, AGroupKeepsTheEndThatIsToldWithIt) {
  const auto put = disk_.tier->Put(track_, object_, 1, disk_.now);
  const auto end = disk_.tier->EndGroup(track_, {0, 1}, disk_.now);
  ASSERT_TRUE(put.ok() && end.ok());
  disk_.LetGo();
  ASSERT_TRUE(disk_.written.contains(*put));
  ASSERT_TRUE(disk_.written.contains(*end));
  ExpectWholeNowAndAfterAStart();
}

// The end that was told before is moved along for an object that is on its way.
TEST_F(DiskTierPutAgainWhole, AGroupKeepsTheEndThatWasToldBefore) {
  const auto put = disk_.tier->Put(track_, object_, 1, disk_.now);
  ASSERT_TRUE(put.ok());
  disk_.LetGo();
  ASSERT_TRUE(disk_.written.contains(*put));
  ExpectWholeNowAndAfterAStart();
}

// It is read to be handed over, and is here as a whole again before that is done.
TEST(DiskTierPutAgain, AGroupThatIsBeingHandedOverStays) {
  EmptyingDisk disk;
  disk.fill_bytes = 2000;  // There is room left in the segment that is being written.
  disk.Start();
  disk.tier->HandOverEvicted();
  const TrackName track = DiskTrack("a");
  const Object first = DiskObject({0, 0}, "x");
  const Object second = DiskObject({0, 1}, "y");
  ASSERT_TRUE(disk.Put(track, first).ok());
  ASSERT_TRUE(disk.Put(track, second).ok());
  ASSERT_TRUE(disk.tier->EndGroup(track, {0, 2}, disk.now).ok());
  disk.RunDrained();
  disk.FillUntilRecordsWait();
  disk.evicted.clear();
  const auto again = disk.tier->Put(track, first, 1, disk.now);
  ASSERT_TRUE(again.ok());
  disk.RunDrained();
  const auto rest = disk.tier->Put(track, second, 1, disk.now);
  ASSERT_TRUE(rest.ok());
  disk.RunDrained();
  ASSERT_TRUE(disk.written.contains(*again) && disk.written.contains(*rest));
  disk.LetGo();
  EXPECT_FALSE(disk.tier->segments().segments.contains(1));
  EXPECT_FALSE(disk.ToldEvicted(track));
  ASSERT_TRUE(disk.tier->FindGroup(track, 0).has_value());
  EXPECT_TRUE(disk.tier->FindGroup(track, 0)->whole());
  disk.StartDrained();
  ASSERT_TRUE(disk.tier->FindGroup(track, 0).has_value()) << "after a start";
  EXPECT_TRUE(disk.tier->FindGroup(track, 0)->whole());
}

// Segments become durable in any order: an object may be acknowledged that stands before another
// one of its group which went before.
TEST(DiskTierPutAgain, WhatIsAcknowledgedAfterItsGroupWentIsThereAfterAStart) {
  const TrackName track = DiskTrack("a");
  size_t most = SIZE_MAX;
  for (int round = 0; round < 2; ++round) {
    EmptyingDisk disk(60);
    disk.options.index_bytes_max = most;
    disk.Start();
    uint64_t group = 0;
    const auto tiny = [&] {
      (void)disk.tier->Put(DiskTrack("t"), DiskObject({group++, 0}, "t"), 1, disk.now);
      disk.RunDrained();
    };
    ASSERT_TRUE(disk.Put(track, DiskObject({0, 0}, "z")).ok());
    while (disk.tier->index().LiveBytes(2) == 0) {
      tiny();
    }
    if (round == 0) {
      most = disk.tier->index_bytes() * 2;
      continue;
    }
    disk.keeps_back = [](const DeviceRequest& request) {
      return request.kind == DeviceRequest::Kind::kSync && request.file == 2;
    };
    const auto late = disk.tier->Put(track, DiskObject({0, 1}, "x"), 1, disk.now);
    ASSERT_TRUE(late.ok());
    disk.RunDrained();
    while (disk.tier->index().LiveBytes(3) == 0) {
      disk.Fill();
    }
    ASSERT_TRUE(disk.Put(track, DiskObject({0, 2}, "y")).ok());
    while (disk.tier->index().Find(track, {0, 0})) {
      ASSERT_LT(group, 100000u);
      tiny();
    }
    disk.TakeEvents();
    disk.evicted.clear();
    ASSERT_FALSE(disk.written.contains(*late));
    disk.LetGo();
    ASSERT_TRUE(disk.written.contains(*late));
    EXPECT_TRUE(disk.tier->index().Find(track, {0, 1}).has_value());
    disk.StartDrained();
    ASSERT_FALSE(disk.ToldEvicted(track));
    EXPECT_TRUE(disk.tier->index().Find(track, {0, 1}).has_value()) << "after a start";
  }
}

}  // namespace
}  // namespace kvcast
