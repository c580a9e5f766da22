#include "kvcast/store/segment_writer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kvcast/store/disk_tier_fixture_test.h"

namespace kvcast {
namespace {

constexpr uint64_t kMiB = 1 << 20;

// A writer whose device does what it is told to, when it is told to.
class Writing {
 public:
  Writing() : header_{{}, 1, 64 * kMiB, 7}, writer_(header_, outbox_) {}

  DiskPlace Append(uint64_t payload_bytes) {
    const RecordBody body =
        StoredObject{DiskObject({0, objects_++}, std::string(payload_bytes, 'x')), 0};
    const RecordDraft draft = *RecordDraft::Of({DiskTrack("a"), body});
    return writer_.Append(DiskTrack("a"), draft, EntryOf(body, draft.payload_sum(), 0));
  }
  // What the device is asked for, of one kind.
  std::vector<DeviceRequest> Asked(DeviceRequest::Kind kind) {
    writer_.Pump();
    std::vector<DeviceRequest> of_kind;
    for (DeviceRequest& request : outbox_.Take()) {
      (request.kind == kind ? of_kind : others_).push_back(std::move(request));
    }
    EXPECT_TRUE(others_.empty());
    return of_kind;
  }
  void Done(const std::vector<DeviceRequest>& requests) {
    for (const DeviceRequest& request : requests) {
      EXPECT_TRUE(writer_.OnCompletion({.token = request.token}));
    }
  }
  SegmentWriter& writer() { return writer_; }

 private:
  DeviceOutbox outbox_;
  SegmentHeader header_;
  SegmentWriter writer_;
  std::vector<DeviceRequest> others_;
  uint64_t objects_ = 0;
};

using Kind = DeviceRequest::Kind;

TEST(SegmentWriter, MakesWhatWaitsDurableTogether) {
  Writing writing;
  writing.Append(1000);
  const DiskPlace last = writing.Append(1000);
  const auto writes = writing.Asked(Kind::kWrite);
  ASSERT_EQ(writes.size(), 1u);
  writing.Done(writes);
  const auto syncs = writing.Asked(Kind::kSync);
  ASSERT_EQ(syncs.size(), 1u);
  EXPECT_LE(writing.writer().durable(), last.offset);
  writing.Done(syncs);
  EXPECT_GT(writing.writer().durable(), last.offset);
}

// Else a disk would stand still while it syncs, and whoever waits for it while it writes.
TEST(SegmentWriter, WritesOnWhileItSyncsAPart) {
  Writing writing;
  std::vector<DiskPlace> places;
  for (int i = 0; i < 6; ++i) {
    places.push_back(writing.Append(2 * kMiB));
  }
  const auto first = writing.Asked(Kind::kWrite);
  EXPECT_EQ(first.size(), 8u);
  writing.Done(first);
  const auto second = writing.Asked(Kind::kWrite);  // Of the rest, with what the first part lacks.
  ASSERT_FALSE(second.empty());
  EXPECT_GT(second.back().offset, places[4].offset);
  writing.Done({second[0]});
  const auto syncs = writing.Asked(Kind::kSync);
  ASSERT_EQ(syncs.size(), 1u);
  writing.Done(syncs);
  EXPECT_GT(writing.writer().durable(), places[3].offset);
  EXPECT_LE(writing.writer().durable(), places[4].offset);
  writing.Done({second.begin() + 1, second.end()});
  writing.Done(writing.Asked(Kind::kWrite));  // The last, which is not a whole one.
  writing.Done(writing.Asked(Kind::kSync));
  EXPECT_GT(writing.writer().durable(), places[5].offset);
}

TEST(SegmentWriter, CountsNothingAsDurableWhoseSyncFailed) {
  Writing writing;
  for (int i = 0; i < 6; ++i) {
    writing.Append(2 * kMiB);
  }
  const uint64_t before = writing.writer().durable();
  writing.Done(writing.Asked(Kind::kWrite));
  const auto rest = writing.Asked(Kind::kWrite);
  writing.Done(rest);
  const auto syncs = writing.Asked(Kind::kSync);
  ASSERT_EQ(syncs.size(), 1u);
  writing.writer().OnCompletion({.token = syncs[0].token, .error = DeviceError{false, "broken"}});
  EXPECT_TRUE(writing.Asked(Kind::kSync).empty());
  EXPECT_EQ(writing.writer().durable(), before);
  EXPECT_TRUE(writing.writer().failure().has_value());
}

}  // namespace
}  // namespace kvcast
