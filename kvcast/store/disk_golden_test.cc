// The golden vectors of a disk tier's files in docs/reference/vectors, which the Python beside them
// reproduces too.
#include <gtest/gtest.h>

#include "kvcast/store/disk_tier_fixture_test.h"
#include "kvcast/store/export_stream.h"
#include "kvcast/store/golden_records_test.h"
#include "kvcast/store/segment_writer.h"

namespace kvcast {
namespace {

// Writes the records as one commit and seals.
std::vector<std::byte> WriteSegment(const Json& in) {
  MemoryDevice device(1);
  DeviceOutbox outbox;
  const SegmentHeader header{GoldenId(in["directory"]), in["segment"].get<uint64_t>(),
                             in["segment_bytes"].get<uint64_t>(), in["marker"].get<uint64_t>()};
  outbox.Create(header.segment, header.bytes);
  SegmentWriter writer(header, outbox);
  for (const Json& record : in["records"]) {
    const RecordBody body = GoldenBody(record);
    const RecordDraft draft = *RecordDraft::Of({GoldenTrack(record), body});
    const EntryBody entry = EntryOf(body, draft.payload_sum(), in["key_property"].get<uint64_t>());
    EXPECT_TRUE(writer.Fits(GoldenTrack(record), draft, entry));
    writer.Append(GoldenTrack(record), draft, entry);
  }
  writer.Seal();
  while (!writer.sealed()) {
    writer.Pump();
    for (DeviceRequest& request : outbox.Take()) {
      device.Submit(std::move(request));
    }
    const auto completion = device.Next();
    if (!completion) {
      ADD_FAILURE() << "the writer stopped";
      break;
    }
    writer.OnCompletion(*completion);
  }
  return device.contents(header.segment);
}

std::vector<std::byte> WriteExport(const Json& in) {
  ExportWriter writer({GoldenId(in["export"]), in["marker"].get<uint64_t>()});
  Bytes all = writer.Head();
  for (const Json& record : in["records"]) {
    all.Append(*writer.Record({GoldenTrack(record), GoldenBody(record)}));
  }
  all.Append(writer.End());
  std::vector<std::byte> flat(all.size());
  all.CopyTo(flat);
  return flat;
}

TEST(DiskGolden, FilesAreWrittenAndReadAsEveryImplementationDoes) {
  const GoldenFile vectors = GoldenVectors("disk");
  for (const GoldenCase& one : vectors.cases) {
    SCOPED_TRACE(one.name);
    if (one.in.contains("read")) {
      const auto found = Superblock::Parse(GoldenWhole(kDeviceBlockBytes, one.in["read"]));
      ASSERT_EQ(found.ok(), one.out.has_value());
      if (found.ok()) {
        EXPECT_EQ(found->directory, GoldenId((*one.out)["directory"]));
        EXPECT_EQ(static_cast<int>(found->disk_class), (*one.out)["class"].get<int>());
        EXPECT_EQ(found->segment_bytes, (*one.out)["segment_bytes"].get<uint64_t>());
      }
      continue;
    }
    const std::vector<std::byte> expected =
        GoldenWhole((*one.out)["size"].get<size_t>(), (*one.out)["parts"]);
    if (one.in.contains("export")) {
      EXPECT_EQ(WriteExport(one.in), expected);
    } else if (one.in.contains("records")) {
      EXPECT_EQ(WriteSegment(one.in), expected);
    } else {
      const Superblock superblock{GoldenId(one.in["directory"]),
                                  static_cast<DiskClass>(one.in["class"].get<int>()),
                                  one.in["segment_bytes"].get<uint64_t>()};
      EXPECT_EQ(superblock.Encode(), Bytes::Copy(expected));
    }
  }
  EXPECT_GE(vectors.cases.size(), 8u);
}

// A directory as version 1 wrote it, whatever wrote it.
TEST(DiskGolden, ADirectoryIsOpenedAndAnsweredFrom) {
  DiskTierFixture disk;
  for (const GoldenCase& one : GoldenVectors("disk").cases) {
    if (!one.in.contains("read") && !one.in.contains("export")) {
      disk.device.PutFile(one.in.value("segment", kSuperblockFile),
                          GoldenWhole((*one.out)["size"].get<size_t>(), (*one.out)["parts"]));
    }
  }
  for (int footer = 1; footer >= 0; --footer) {  // With it, and without.
    disk.Start();
    ASSERT_EQ(disk.tier->state(), DiskTier::State::kReady);
    EXPECT_EQ(disk.tier->index().object_count(), 9u);
    const TrackName track =
        *TrackName::Of(*TrackNamespace::Of({"service", "tenant/model", "prefix"}), "BF16");
    EXPECT_EQ(disk.Payload(track, {0, 0}), "first");
    EXPECT_EQ(disk.Get(track, {0, 2})->object.forwarding, Forwarding::kDatagram);
    EXPECT_TRUE(disk.tier->index().FindGroup(track, 0)->whole());
    EXPECT_EQ(disk.tier->index().FindTrack(track)->largest, (Location{7, 2}));
    EXPECT_EQ(disk.tier->PresenceOf(track, {1, 5}), Presence::kGone);
    EXPECT_EQ(disk.tier->PresenceOf(track, {5, 0}), Presence::kUnknown);  // Removed.
    EXPECT_TRUE(disk.tier->index().Groups(std::nullopt, 9)[1].key.has_value());
    const TrackName runs = *TrackName::Of(track.space(), "KTC");
    EXPECT_TRUE(disk.tier->index().FindGroup(runs, 0)->whole());
    EXPECT_EQ(disk.tier->PresenceOf(runs, {0, 17}), Presence::kGone);
    EXPECT_EQ(disk.tier->PresenceOf(runs, {1, 2}), Presence::kUnknown);
    EXPECT_EQ(disk.tier->PresenceOf(runs, {2, 0}), Presence::kGone);
    if (footer == 1) {
      disk.device.contents(9).back() ^= std::byte{1};
      disk.device.contents(10).back() ^= std::byte{1};
    }
  }
}

}  // namespace
}  // namespace kvcast
