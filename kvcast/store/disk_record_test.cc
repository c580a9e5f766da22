#include "kvcast/store/disk_record.h"

#include <gtest/gtest.h>

#include "kvcast/base/random.h"
#include "kvcast/store/segment_footer.h"

namespace kvcast {
namespace {

TrackName Name(std::string_view name) {
  return *TrackName::Of(*TrackNamespace::Of({"space"}), name);
}

RecordSeat Seat(uint32_t segment = 3, uint64_t offset = 4096) {
  RecordSeat seat;
  seat.directory.bytes.fill(std::byte{7});
  seat.marker = 0x1122334455667788;
  seat.place = {segment, offset};
  return seat;
}

DiskRecord ObjectRecord(std::string_view payload) {
  StoredObject stored;
  stored.object.location = {5, 6};
  stored.object.payload = Bytes::Of(payload);
  stored.received_us = 99;
  return {Name("track"), stored};
}

TEST(DiskRecord, IsReadOnlyWhereItWasWritten) {
  const Bytes bytes = RecordDraft::Of(ObjectRecord("payload"))->Encode(Seat(), 0);
  const auto parsed = ParseRecord(bytes, Seat());
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(std::get<StoredObject>(parsed->record.body).object.payload, Bytes::Of("payload"));
  // Another offset, another segment, an older file of that number, another directory.
  EXPECT_FALSE(ParseRecord(bytes, Seat(3, 8192)).ok());
  EXPECT_FALSE(ParseRecord(bytes, Seat(4)).ok());
  RecordSeat older = Seat();
  older.marker ^= 1;
  EXPECT_FALSE(ParseRecord(bytes, older).ok());
  RecordSeat foreign = Seat();
  foreign.directory.bytes[15] = std::byte{8};
  EXPECT_FALSE(ParseRecord(bytes, foreign).ok());
}

TEST(DiskRecord, NoticesEveryBitThatIsWrong) {
  const DiskRecord record = ObjectRecord("a payload of some bytes");
  const RecordDraft draft = *RecordDraft::Of(record);
  const std::string whole = draft.Encode(Seat(), 0).ToString();
  for (size_t bit = 0; bit < 8 * draft.size(); ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    ASSERT_FALSE(ParseRecord(Bytes::Of(damaged), Seat()).ok()) << "bit " << bit;
  }
  for (size_t length = 0; length < draft.size(); ++length) {
    ASSERT_FALSE(ParseRecord(Bytes::Of(whole.substr(0, length)), Seat()).ok());
  }
}

TEST(DiskRecord, StandsForWhatMayNotDiffer) {
  Object object = std::get<StoredObject>(ObjectRecord("x").body).object;
  const uint32_t sum = IdentitySum(object, 1);
  EXPECT_NE(IdentitySum(object, 2), sum);
  object.properties = PropertiesBuilder().Number(2, 1).Build();  // Relays may change this.
  EXPECT_EQ(IdentitySum(object, 1), sum);
  object.properties = PropertiesBuilder().Immutable({}).Build();
  EXPECT_NE(IdentitySum(object, 1), sum);
  object.properties = {};
  object.priority ^= 1;
  EXPECT_NE(IdentitySum(object, 1), sum);
}

TEST(SegmentFooter, NoticesEveryBitThatIsWrong) {
  FooterWriter writer;
  writer.Add(Name("a"), 4096, 100, ObjectEntry{{1, 2}, 3, 4, Digest(), 2});
  writer.Add(Name("b"), 4200, 100, GroupEnd{1, 2});
  const DirectoryId directory;
  const std::string whole = writer.Encode(directory, 5, 65536, 77).ToString();
  ASSERT_EQ(whole.size(), kDeviceBlockBytes);
  const auto parse = [&](const std::string& footer) {
    const std::string last = footer.substr(footer.size() - kTrailerBytes);
    const auto trailer = FooterTrailer::Parse(AsBytes(last), directory, 5, 65536);
    return trailer.ok() && ParseFooter(Bytes::Of(footer), *trailer, 65536).ok();
  };
  EXPECT_TRUE(parse(whole));
  const size_t zeros = whole.find_first_not_of('\0');
  for (size_t bit = 8 * zeros; bit < 8 * whole.size(); ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    ASSERT_FALSE(parse(damaged)) << "bit " << bit;
  }
}

}  // namespace
}  // namespace kvcast
