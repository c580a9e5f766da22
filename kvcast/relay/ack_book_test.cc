#include "kvcast/relay/ack_book.h"

#include <gtest/gtest.h>

namespace kvcast::relay {
namespace {

const TrackName kAckedTrack =
    *TrackName::Of(*TrackNamespace::Of({"service", "tenant/model", "prefix"}), "BF16");
const Error kNoSpace(ErrorCode::kMachine, "no space left");

std::vector<AckRecord> TakeRecords(AckBook& book) {
  std::vector<AckRecord> records;
  for (const AckObject& object : book.TakeObjects()) {
    const auto parsed = ParseAcks(object.object.payload);
    EXPECT_TRUE(parsed.ok());
    records.insert(records.end(), parsed->begin(), parsed->end());
  }
  return records;
}

// A group that is written, and whole.
void Write(AckBook& book, uint64_t group, StoreTicket ticket) {
  book.OnAsked(kAckedTrack, group, ticket);
  for (const EvictedGroup& done : book.OnWritten({ticket, Durability::kDisk, std::nullopt})) {
    book.Settle(done.track, done.group, true);
  }
}

TEST(AckBook, ATrackThatCouldNotBeDescribedIsRefusedUntilItIs) {
  AckBook book(1);
  book.Begin(kAckedTrack, Durability::kDisk, 1);
  book.OnWritten({1, Durability::kDisk, kNoSpace});
  Write(book, 0, 2);
  auto records = TakeRecords(book);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_FALSE(records[0].level.has_value());
  book.End(kAckedTrack, Instant(std::chrono::hours(2)));
  // Space is back, and the track is published once more.
  book.Begin(kAckedTrack, Durability::kDisk, 3);
  book.OnWritten({3, Durability::kDisk, std::nullopt});
  Write(book, 0, 4);
  records = TakeRecords(book);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].level, Durability::kDisk);
}

TEST(AckBook, OnlyTheLastThatWasToldOfATrackCounts) {
  AckBook book(1);
  book.Begin(kAckedTrack, Durability::kDisk, 1);
  book.Begin(kAckedTrack, Durability::kDisk, 2);
  book.OnWritten({2, Durability::kDisk, std::nullopt});
  book.OnWritten({1, Durability::kDisk, kNoSpace});
  Write(book, 0, 3);
  const auto records = TakeRecords(book);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].level, Durability::kDisk);
}

// Its publisher has left for longer than it is remembered, and comes back while what it wrote
// before is still under way.
TEST(AckBook, WhatATrackWroteBeforeItWasForgottenDoesNotCount) {
  const auto nobody = [](const TrackName&) { return false; };
  AckBook book(1);
  book.Begin(kAckedTrack, Durability::kDisk, 1);
  book.OnAsked(kAckedTrack, 0, 2);
  book.End(kAckedTrack, Instant(std::chrono::hours(1)));
  EXPECT_EQ(book.Expire(Instant(std::chrono::hours(2)), nobody).size(), 1u);

  book.Begin(kAckedTrack, Durability::kDisk, 3);
  book.OnAsked(kAckedTrack, 0, 4);
  for (const StoreTicket before : {StoreTicket{1}, StoreTicket{2}}) {
    for (const EvictedGroup& done : book.OnWritten({before, Durability::kDisk, std::nullopt})) {
      book.Settle(done.track, done.group, true);
    }
  }
  EXPECT_TRUE(TakeRecords(book).empty()) << "writes 3 and 4 are under way";
  book.OnWritten({3, Durability::kDisk, std::nullopt});
  for (const EvictedGroup& done : book.OnWritten({4, Durability::kDisk, std::nullopt})) {
    book.Settle(done.track, done.group, true);
  }
  const auto records = TakeRecords(book);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].level, Durability::kDisk);
}

// What was told before was true then.
TEST(AckBook, WhatIsRecalledIsHowThingsStandNow) {
  AckBook book(1);
  const TrackName ack_track = *AckTrackOf(kAckedTrack.space());
  const Instant until(std::chrono::hours(1));
  book.Recall(kAckedTrack, {{0, Durability::kMemory}, {1, Durability::kMemory}}, until);
  book.Recall(kAckedTrack, {{1, Durability::kDisk}, {2, Durability::kMemory}}, until);
  book.Repeat(ack_track);
  EXPECT_EQ(TakeRecords(book), (std::vector<AckRecord>{{Durability::kMemory, "BF16", 2, 2},
                                                       {Durability::kDisk, "BF16", 1, 1}}));
  book.Recall(kAckedTrack, {}, until);
  book.Repeat(ack_track);
  EXPECT_TRUE(TakeRecords(book).empty());
  EXPECT_EQ(book.Expire(until, [](const TrackName&) { return false; }),
            std::vector<TrackName>{ack_track});
}

// Who waits for more is not told of less, nor of what is still under way.
TEST(AckBook, WhatIsRecalledOfATrackThatIsPublishedIsDurable) {
  AckBook book(1);
  book.Begin(kAckedTrack, Durability::kDisk, 1);
  const std::vector<AckBook::Standing> standings = {
      {0, Durability::kDisk}, {1, Durability::kDisk}, {2, Durability::kMemory}};
  book.Recall(kAckedTrack, standings, Instant());
  book.Repeat(*AckTrackOf(kAckedTrack.space()));
  EXPECT_TRUE(TakeRecords(book).empty());  // What was told of the track is not durable yet.
  book.OnWritten({1, Durability::kDisk, std::nullopt});
  book.OnAsked(kAckedTrack, 1, 2);
  book.Recall(kAckedTrack, standings, Instant());
  book.Repeat(*AckTrackOf(kAckedTrack.space()));
  EXPECT_EQ(TakeRecords(book), (std::vector<AckRecord>{{Durability::kDisk, "BF16", 0, 0}}));
}

}  // namespace
}  // namespace kvcast::relay
