// The golden vectors of a disk tier's files in docs/reference/vectors, which the Python beside them
// reproduces too.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "kvcast/base/golden_file.h"
#include "kvcast/base/hex.h"
#include "kvcast/base/source_folder_test.h"
#include "kvcast/store/disk_tier_fixture_test.h"
#include "kvcast/store/export_stream.h"
#include "kvcast/store/segment_writer.h"

namespace kvcast {
namespace {

GoldenFile Vectors() {
  std::ifstream stream(std::string(kSourceFolder) + "/docs/reference/vectors/disk.json");
  std::ostringstream text;
  text << stream.rdbuf();
  return *GoldenFile::Parse(text.str());
}

std::string Text(const Json& hex) { return std::string(AsText(*FromHex(hex.get<std::string>()))); }

std::vector<std::byte> Whole(size_t size, const Json& parts) {
  std::vector<std::byte> whole(size);
  for (const Json& part : parts) {
    const std::string bytes = Text(part[1]);
    std::ranges::copy(AsBytes(bytes), whole.begin() + part[0].get<std::ptrdiff_t>());
  }
  return whole;
}

DirectoryId Directory(const Json& hex) {
  DirectoryId directory;
  const std::string bytes = Text(hex);
  std::ranges::copy(AsBytes(bytes), directory.bytes.begin());
  return directory;
}

Location At(const Json& pair) { return {pair[0].get<uint64_t>(), pair[1].get<uint64_t>()}; }

RecordBody BodyOf(const Json& in) {
  const auto kind = in["kind"].get<std::string>();
  const auto number = [&](const char* name) { return in[name].get<uint64_t>(); };
  if (kind == "object") {
    StoredObject stored;
    Object& object = stored.object;
    object.location = At(in["location"]);
    object.subgroup = number("subgroup");
    object.priority = static_cast<uint8_t>(number("priority"));
    object.forwarding = static_cast<Forwarding>(number("forwarding"));
    object.status = static_cast<ObjectStatus>(number("status"));
    object.properties = *Properties::Parse(Text(in["properties"]));
    object.payload = Bytes::Of(Text(in["payload"]));
    stored.received_us = number("received_us");
    return stored;
  }
  if (kind == "facts") {
    TrackFacts facts;
    facts.properties = *Properties::Parse(Text(in["properties"]));
    facts.largest = in["largest"].is_null() ? std::nullopt : std::optional(At(in["largest"]));
    facts.end = in["end"].is_null() ? std::nullopt : std::optional(At(in["end"]));
    for (const Json& gap : in["gaps"]) {
      facts.gaps.push_back({At(gap[0]), At(gap[1])});
    }
    return facts;
  }
  if (kind == "end") {
    return GroupEnd{number("group"), number("end")};
  }
  Removal removal;
  removal.group = in["group"].is_null() ? std::nullopt : std::optional(number("group"));
  const Location before = At(in["before"]);
  removal.before = {static_cast<uint32_t>(before.group), before.object};
  return removal;
}

TrackName TrackOf(const Json& in) {
  const std::string wire = Text(in["track"]);
  ByteReader reader(AsBytes(wire));
  return *TrackName::ReadFrom(reader);
}

// Writes the records as one commit and seals.
std::vector<std::byte> WriteSegment(const Json& in) {
  MemoryDevice device(1);
  DeviceOutbox outbox;
  const SegmentHeader header{Directory(in["directory"]), in["segment"].get<uint64_t>(),
                             in["segment_bytes"].get<uint64_t>(), in["marker"].get<uint64_t>()};
  outbox.Create(header.segment, header.bytes);
  SegmentWriter writer(header, outbox);
  for (const Json& record : in["records"]) {
    const RecordBody body = BodyOf(record);
    const RecordDraft draft = *RecordDraft::Of({TrackOf(record), body});
    const EntryBody entry = EntryOf(body, draft.payload_sum(), in["key_property"].get<uint64_t>());
    EXPECT_TRUE(writer.Fits(TrackOf(record), draft, entry));
    writer.Append(TrackOf(record), draft, entry);
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
  ExportWriter writer({Directory(in["export"]), in["marker"].get<uint64_t>()});
  Bytes all = writer.Head();
  for (const Json& record : in["records"]) {
    all.Append(*writer.Record({TrackOf(record), BodyOf(record)}));
  }
  all.Append(writer.End());
  std::vector<std::byte> flat(all.size());
  all.CopyTo(flat);
  return flat;
}

TEST(DiskGolden, FilesAreWrittenAndReadAsEveryImplementationDoes) {
  const GoldenFile vectors = Vectors();
  for (const GoldenCase& one : vectors.cases) {
    SCOPED_TRACE(one.name);
    if (one.in.contains("read")) {
      const auto found = Superblock::Parse(Whole(kDeviceBlockBytes, one.in["read"]));
      ASSERT_EQ(found.ok(), one.out.has_value());
      if (found.ok()) {
        EXPECT_EQ(found->directory, Directory((*one.out)["directory"]));
        EXPECT_EQ(static_cast<int>(found->disk_class), (*one.out)["class"].get<int>());
        EXPECT_EQ(found->segment_bytes, (*one.out)["segment_bytes"].get<uint64_t>());
      }
      continue;
    }
    const std::vector<std::byte> expected =
        Whole((*one.out)["size"].get<size_t>(), (*one.out)["parts"]);
    if (one.in.contains("export")) {
      EXPECT_EQ(WriteExport(one.in), expected);
    } else if (one.in.contains("records")) {
      EXPECT_EQ(WriteSegment(one.in), expected);
    } else {
      const Superblock superblock{Directory(one.in["directory"]),
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
  for (const GoldenCase& one : Vectors().cases) {
    if (!one.in.contains("read") && !one.in.contains("export")) {
      disk.device.PutFile(one.in.contains("records") ? 9 : kSuperblockFile,
                          Whole((*one.out)["size"].get<size_t>(), (*one.out)["parts"]));
    }
  }
  for (int footer = 1; footer >= 0; --footer) {  // With it, and without.
    disk.Start();
    ASSERT_EQ(disk.tier->state(), DiskTier::State::kReady);
    EXPECT_EQ(disk.tier->index().object_count(), 4u);
    const TrackName track =
        *TrackName::Of(*TrackNamespace::Of({"service", "tenant/model", "prefix"}), "BF16");
    EXPECT_EQ(disk.Payload(track, {0, 0}), "first");
    EXPECT_EQ(disk.Get(track, {0, 2})->object.forwarding, Forwarding::kDatagram);
    EXPECT_TRUE(disk.tier->index().FindGroup(track, 0)->whole());
    EXPECT_EQ(disk.tier->index().FindTrack(track)->largest, (Location{7, 2}));
    EXPECT_EQ(disk.tier->PresenceOf(track, {1, 5}), Presence::kGone);
    EXPECT_EQ(disk.tier->PresenceOf(track, {5, 0}), Presence::kUnknown);  // Removed.
    EXPECT_TRUE(disk.tier->index().Groups(std::nullopt, 9)[1].key.has_value());
    if (footer == 1) {
      disk.device.contents(9).back() ^= std::byte{1};
    }
  }
}

}  // namespace
}  // namespace kvcast
