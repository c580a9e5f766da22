#include "kvcast/store/export_stream.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kvcast/base/random.h"
#include "kvcast/store/disk_tier_fixture_test.h"

namespace kvcast {
namespace {

ExportId TestId() {
  ExportId id;
  id.id.bytes.fill(std::byte{9});
  id.marker = 0x1122334455667788;
  return id;
}

std::vector<DiskRecord> TestRecords() {
  const TrackName track = DiskTrack("track");
  TrackFacts facts;
  facts.properties = PropertiesBuilder().Number(2, 60000).Build();
  facts.end = Location{9, 0};
  std::vector<DiskRecord> records = {{track, facts}};
  for (uint64_t object = 0; object < 3; ++object) {
    records.push_back(
        {track, StoredObject{DiskObject({4, object}, std::string(object * 5000, 'x')), 17}});
  }
  records.push_back({track, GroupEnd{4, 3}});
  return records;
}

std::string TestExport() {
  ExportWriter writer(TestId());
  Bytes all = writer.Head();
  for (const DiskRecord& record : TestRecords()) {
    all.Append(*writer.Record(record));
  }
  all.Append(writer.End());
  EXPECT_EQ(all.size(), writer.bytes());
  return all.ToString();
}

struct ReadBack {
  std::vector<DiskRecord> records;
  bool ended = false;
  std::optional<Error> error;
};

ReadBack ReadAll(const std::string& text, size_t piece) {
  ReadBack back;
  ExportReader reader;
  for (size_t at = 0; at < text.size(); at += piece) {
    reader.Append(Bytes::Of(std::string_view(text).substr(at, piece)));
    while (true) {
      auto record = reader.Next();
      if (!record.ok()) {
        back.error = record.error();
        return back;
      }
      if (!*record) {
        break;
      }
      back.records.push_back(**std::move(record));
    }
  }
  back.ended = reader.ended();
  return back;
}

TEST(ExportStream, GivesBackWhatWasWrittenHoweverItComes) {
  const std::string text = TestExport();
  for (const size_t piece : {size_t{1}, size_t{77}, size_t{4096}, text.size()}) {
    const ReadBack back = ReadAll(text, piece);
    ASSERT_FALSE(back.error.has_value()) << back.error->ToString();
    EXPECT_TRUE(back.ended);
    ASSERT_EQ(back.records.size(), 5u);
    EXPECT_EQ(std::get<TrackFacts>(back.records[0].body).end, (Location{9, 0}));
    const auto& stored = std::get<StoredObject>(back.records[3].body);
    EXPECT_EQ(stored.object.payload, Bytes::Of(std::string(10000, 'x')));
    EXPECT_EQ(stored.received_us, 17u);
    EXPECT_EQ(std::get<GroupEnd>(back.records[4].body), (GroupEnd{4, 3}));
    EXPECT_EQ(back.records[4].track, DiskTrack("track"));
  }
}

TEST(ExportStream, NoticesEveryFlippedBit) {
  const std::string text = TestExport();
  Random random(5);
  for (int i = 0; i < 2000; ++i) {
    std::string flipped = text;
    const size_t at = random.Below(text.size());
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << random.Below(8)));
    const ReadBack back = ReadAll(flipped, text.size());
    EXPECT_TRUE(back.error || !back.ended) << at;
  }
}

TEST(ExportStream, SaysThatItIsCut) {
  const std::string text = TestExport();
  for (const size_t length : {size_t{0}, size_t{4095}, size_t{4096}, text.size() - 1}) {
    const ReadBack back = ReadAll(text.substr(0, length), 100);
    EXPECT_FALSE(back.ended) << length;
    EXPECT_FALSE(back.error.has_value()) << length;
  }
}

TEST(ExportStream, RefusesWhatFollowsTheEndOrIsOutOfOrder) {
  const std::string text = TestExport();
  EXPECT_TRUE(ReadAll(text + "x", 64).error.has_value());
  // The first object, twice.
  ExportWriter writer(TestId());
  std::string doubled = writer.Head().ToString();
  const auto records = TestRecords();
  const std::string first = writer.Record(records[1])->ToString();
  EXPECT_TRUE(ReadAll(doubled + first + first, 64).error.has_value());
}

TEST(ExportStream, RefusesAnotherVersionByItsName) {
  ByteWriter fields;
  fields.Write(TestId().id.bytes);
  fields.U64Le(TestId().marker);
  const ReadBack back = ReadAll(SealBlock(fields, {"kvcastX\n", 2, "file"}).ToString(), 4096);
  ASSERT_TRUE(back.error.has_value());
  EXPECT_EQ(back.error->code(), ErrorCode::kUnsupported);
  EXPECT_NE(back.error->message().find("version 2"), std::string::npos);
}

}  // namespace
}  // namespace kvcast
