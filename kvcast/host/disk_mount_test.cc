// A node's disk, on files: what it keeps when it is full.
#include "kvcast/host/disk_mount.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "kvcast/io/clock.h"
#include "kvcast/io/scratch_directory.h"

namespace kvcast {
namespace {

constexpr uint64_t kMountSegment = 64 << 10;
constexpr uint64_t kMountSegments = 24;
const std::string kMountPayload(4000, 'x');

class DiskMountTest : public testing::Test {
 protected:
  DiskMountTest() {
    options_.directory = scratch_ / "disk";
    options_.tier.segment_bytes = kMountSegment;
    options_.tier.bytes_max = kSuperblockBytes + kMountSegments * kMountSegment;
    options_.tier.seed = 5;
  }
  void Open() {
    mount_ = *DiskMount::Open(
        *loop_, options_, [] {}, nullptr);
    tier_ = mount_->TakeTier();
    while (!tier_->ready()) {
      loop_->RunOnce(std::chrono::milliseconds(10));
    }
  }
  void Run() {
    mount_->Submit();
    while (!tier_->idle()) {
      loop_->RunOnce(std::chrono::milliseconds(10));
      mount_->Submit();
    }
  }
  static TrackName Block(const std::string& tenant, uint64_t number) {
    return *TrackName::Of(
        *TrackNamespace::Of({"service", tenant + "/model", std::to_string(number)}), "t");
  }
  void Put(const TrackName& track) {
    Object object;
    object.payload = Bytes::Of(kMountPayload);
    (void)tier_->Put(track, object, 0, Now()).ok();
    Run();
  }
  bool Get(const TrackName& track) {
    const auto ticket = tier_->Get(track, {0, 0}, Now());
    Run();
    bool found = false;
    while (auto event = tier_->Next()) {
      const auto* read = std::get_if<TierRead>(&*event);
      found = found || (read != nullptr && read->ticket == ticket && read->found);
    }
    return found;
  }

  ScratchDirectory scratch_ = *ScratchDirectory::Make();
  std::unique_ptr<EventLoop> loop_ = *EventLoop::Make();
  DiskMount::Options options_;
  std::unique_ptr<DiskMount> mount_;
  std::unique_ptr<DiskTier> tier_;
};

// Blocks that are asked for again and again are more than what may be moved of a segment: they stay
// only if those go, wherever they lie, that nobody ever asks for.
TEST_F(DiskMountTest, KeepsWhatComesBack) {
  Open();
  constexpr uint64_t kHot = 100;
  uint64_t once = 1000;
  uint64_t hits = 0;
  for (uint64_t round = 0; round < 12; ++round) {
    hits = 0;
    for (uint64_t hot = 0; hot < kHot; ++hot) {
      if (Get(Block("tenant", hot))) {
        ++hits;
      } else {
        Put(Block("tenant", hot));
      }
      Put(Block("tenant", once++));
    }
  }
  ASSERT_GT(tier_->counts().segments_removed, 20u);
  EXPECT_GE(hits, kHot / 10 * 9);
}

TEST_F(DiskMountTest, KeepsWhatIsReserved) {
  options_.reservations = {{"a", 300 << 10}};
  Open();
  for (uint64_t number = 0; number < 70; ++number) {
    Put(Block("a", number));
  }
  for (uint64_t number = 0; number < 700; ++number) {
    Put(Block("b", number));
  }
  ASSERT_GT(tier_->counts().segments_removed, 20u);
  for (uint64_t number = 0; number < 70; ++number) {
    EXPECT_TRUE(Get(Block("a", number))) << number;
  }
}

TEST_F(DiskMountTest, RefusesToReserveMoreThanItCanKeep) {
  options_.reservations = {{"a", options_.tier.bytes_max}};
  const auto opened = DiskMount::Open(
      *loop_, options_, [] {}, nullptr);
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().ToString().find("half of the disk"), std::string::npos);
}

}  // namespace
}  // namespace kvcast
