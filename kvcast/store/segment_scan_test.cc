#include "kvcast/store/segment_scan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "kvcast/store/disk_tier_fixture_test.h"

namespace kvcast {
namespace {

constexpr uint64_t kScanned = 300;
TrackName ScannedTrack() { return DiskTrack("t"); }

// A segment without a footer, some blocks of which cannot be read.
class ScannedSegment {
 public:
  ScannedSegment() {
    disk_.options.segment_bytes = 8 << 20;
    disk_.options.bytes_max = disk_.options.LeastBytes();
    disk_.Start();
    for (uint64_t group = 0; group < kScanned; ++group) {
      EXPECT_TRUE(disk_.tier
                      ->Put(ScannedTrack(),
                            DiskObject({group, 0}, std::string(9000 + group * 7, 'x')), 1,
                            disk_.now)
                      .ok());
    }
    disk_.Run();
  }

  SegmentScan Scan(const std::set<uint64_t>& bad) {
    SegmentScan scan(disk_.options.fresh, 1, disk_.tier->segments().segments.at(1).marker,
                     disk_.options.segment_bytes, DiskTierFixture::kKeyProperty);
    reads = 0;
    failures = 0;
    while (const auto window = scan.Wanted()) {
      ++reads;
      const auto first = bad.lower_bound(window->offset / kDeviceBlockBytes);
      const bool fails =
          first != bad.end() && *first * kDeviceBlockBytes < window->offset + window->length;
      failures += fails ? 1 : 0;
      const auto bytes =
          std::span(disk_.device.contents(1)).subspan(window->offset, window->length);
      scan.OnWindow(*window, fails ? std::nullopt : std::optional(Bytes::Copy(bytes)));
    }
    return scan;
  }
  // Objects of which not a byte lies in these blocks.
  std::set<uint64_t> OutOf(const std::set<uint64_t>& bad) const {
    std::set<uint64_t> out;
    for (uint64_t group = 0; group < kScanned; ++group) {
      const auto found = *disk_.tier->index().Find(ScannedTrack(), {group, 0});
      const auto first = bad.lower_bound(found.place.offset / kDeviceBlockBytes);
      if (first == bad.end() || *first * kDeviceBlockBytes >= found.place.offset + found.length) {
        out.insert(group);
      }
    }
    return out;
  }

  uint64_t reads = 0;
  uint64_t failures = 0;

 private:
  DiskTierFixture disk_;
};

std::set<uint64_t> FoundBy(SegmentScan& scan) {
  std::set<uint64_t> found;
  for (const SegmentEntry& entry : scan.Take().entries) {
    if (const auto* const object = std::get_if<ObjectEntry>(&entry.body)) {
      found.insert(object->location.group);
    }
  }
  return found;
}

// However many there are, next to each other or not; and what they cost is counted once.
TEST(SegmentScan, BadBlocksCostWhatLiesInThem) {
  ScannedSegment segment;
  struct Pattern {
    uint64_t runs;
    uint64_t length;
    uint64_t stride;
  };
  for (const auto& [runs, length, stride] : {Pattern{1, 1, 0},
                                             {1, 2, 0},
                                             {1, 16, 0},
                                             {1, 20, 0},
                                             {1, 333, 0},
                                             {10, 1, 30},
                                             {18, 1, 30},
                                             {30, 1, 17},
                                             {30, 1, 2},
                                             {5, 30, 100},
                                             {4, 100, 130}}) {
    for (uint64_t first = 100; first < 102; ++first) {
      SCOPED_TRACE(std::to_string(runs) + " times " + std::to_string(length) + " from " +
                   std::to_string(first));
      std::set<uint64_t> bad;
      for (uint64_t run = 0; run < runs; ++run) {
        for (uint64_t block = 0; block < length; ++block) {
          bad.insert(first + run * stride + block);
        }
      }
      SegmentScan scan = segment.Scan(bad);
      EXPECT_TRUE(scan.unreadable());
      const std::set<uint64_t> found = FoundBy(scan);
      EXPECT_EQ(found, segment.OutOf(bad));
      EXPECT_GE(scan.damaged(), kScanned - found.size());
      // Nobody knows how many there were in several runs without a header in between.
      EXPECT_TRUE(stride == 2 || scan.damaged() == kScanned - found.size()) << scan.damaged();
      EXPECT_LT(segment.reads, 100 + bad.size() * 10);
    }
  }
}

TEST(SegmentScan, ASegmentThatIsBadAllOverCostsFewReads) {
  ScannedSegment segment;
  std::set<uint64_t> bad;
  for (uint64_t block = 1; block < 2048; ++block) {
    bad.insert(block);
  }
  SegmentScan scan = segment.Scan(bad);
  EXPECT_TRUE(scan.unreadable());
  EXPECT_EQ(FoundBy(scan).size(), 0u);
  EXPECT_LT(segment.reads, 120u);
  bad.erase(2047);  // Its last block is found to be the end of the run.
  (void)segment.Scan(bad);
  EXPECT_LT(segment.reads, 130u);
}

// Each of them would be looked for: a disk takes seconds to say that it cannot read a block.
TEST(SegmentScan, ThousandsOfScatteredBadBlocksCostFewReads) {
  ScannedSegment segment;
  for (const uint64_t stride : {3u, 5u, 8u, 40u}) {
    SCOPED_TRACE(stride);
    std::set<uint64_t> bad;
    for (uint64_t block = 100; block < 2048; block += stride) {
      bad.insert(block);
    }
    SegmentScan scan = segment.Scan(bad);
    EXPECT_TRUE(scan.unreadable());
    const std::set<uint64_t> out = segment.OutOf(bad);
    const std::set<uint64_t> found = FoundBy(scan);
    EXPECT_TRUE(std::ranges::includes(out, found));
    EXPECT_GE(scan.damaged(), 1u);
    EXPECT_LT(segment.failures, 256u + 3 * 128);
    EXPECT_LT(segment.reads, 1500u);
    EXPECT_GE(found.size(), 30u) << "what comes before them";
  }
}

}  // namespace
}  // namespace kvcast
