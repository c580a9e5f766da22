#include "kvcast/store/disk_tier.h"

#include <gtest/gtest.h>

#include <cstring>

#include "kvcast/base/check_sum.h"
#include "kvcast/store/disk_tier_fixture_test.h"

namespace kvcast {
namespace {

using std::chrono::seconds;

std::string Big(char letter) { return std::string(9000, letter); }

TrackFacts EndAt(Location end) {
  TrackFacts facts;
  facts.end = end;
  return facts;
}

Properties KeyProperties(char letter) {
  const Properties inner =
      PropertiesBuilder().Bytes(DiskTierFixture::kKeyProperty, std::string(32, letter)).Build();
  return PropertiesBuilder().Number(0x3c, 5).Immutable(inner).Build();
}

// Every field of the header counts: a node answers for its publisher.
TEST(DiskTier, GivesBackEveryFieldAfterARestart) {
  DiskTierFixture disk;
  disk.Start();
  Object object = DiskObject({3, 17}, "payload");
  object.subgroup = 4;
  object.priority = 9;
  object.forwarding = Forwarding::kDatagram;
  object.properties = KeyProperties('k');
  Object end = DiskObject({3, 18}, "");
  end.status = ObjectStatus::kEndOfGroup;
  ASSERT_TRUE(disk.Put(DiskTrack("a"), object, 123456789).ok());
  ASSERT_TRUE(disk.Put(DiskTrack("a"), end).ok());
  for (int start = 0; start < 3; ++start) {
    const auto found = disk.Get(DiskTrack("a"), {3, 17});
    ASSERT_TRUE(found.has_value());
    EXPECT_TRUE(found->object.ConsistentWith(object));
    EXPECT_EQ(found->object.properties, object.properties);
    EXPECT_EQ(found->received_us, 123456789u);
    EXPECT_EQ(disk.Get(DiskTrack("a"), {3, 18})->object.status, ObjectStatus::kEndOfGroup);
    EXPECT_FALSE(disk.Get(DiskTrack("a"), {3, 19}).has_value());
    EXPECT_FALSE(disk.Get(DiskTrack("b"), {3, 17}).has_value());
    disk.device = disk.device.AfterKill();
    disk.Start();
  }
}

// What an object says of those before it lies with it: a track may leave out as much as it likes.
TEST(DiskTier, KnowsWhatEachObjectLeavesOut) {
  DiskTierFixture disk(64);
  disk.Start();
  constexpr uint64_t kGroups = 60;
  constexpr uint64_t kObjects = 24;
  static_assert(kGroups * (kObjects - 1) > TrackFacts::kGapsMax);
  for (uint64_t group = 0; group < kGroups; ++group) {
    for (uint64_t i = 0; i < kObjects; ++i) {
      Object run = DiskObject({group, 3 * i}, "run");
      if (i > 0) {
        run.properties = PropertiesBuilder().Number(property::kPriorObjectIdGap, 2).Build();
      }
      ASSERT_TRUE(disk.tier->Put(DiskTrack("a"), run, 17, disk.now).ok());
    }
    ASSERT_TRUE(
        disk.tier->EndGroup(DiskTrack("a"), {group, 3 * (kObjects - 1) + 1}, disk.now).ok());
    disk.Run();
  }
  for (const bool sealed : {false, true}) {
    SCOPED_TRACE(sealed);
    for (uint64_t group = 0; group < kGroups; ++group) {
      EXPECT_TRUE(disk.tier->FindGroup(DiskTrack("a"), group)->whole());
    }
    EXPECT_EQ(disk.tier->PresenceOf(DiskTrack("a"), {50, 3}), Presence::kExists);
    EXPECT_EQ(disk.tier->PresenceOf(DiskTrack("a"), {50, 4}), Presence::kGone);
    EXPECT_EQ(disk.tier->AbsentUpTo(DiskTrack("a"), {50, 4}), 5u);
    EXPECT_EQ(disk.tier->AbsentUpTo(DiskTrack("a"), {50, 3}), std::nullopt);
    EXPECT_FALSE(disk.tier->Put(DiskTrack("a"), DiskObject({50, 4}, "x"), 17, disk.now).ok());
    disk.tier->Seal(disk.now);
    disk.Run();
    disk.device = disk.device.AfterKill();
    disk.Start();
  }
  TrackFacts told;  // The same, and one beside it, in other words: each counts once.
  told.gaps = {{{7, 2}, {7, 5}}, {{7, 61}, {7, 62}}};
  ASSERT_TRUE(disk.tier->Describe(DiskTrack("a"), told, disk.now).ok());
  EXPECT_EQ(disk.tier->FindGroup(DiskTrack("a"), 7)->absent_count, 2 * (kObjects - 1));
}

TEST(DiskTier, AnswersForATrackAfterARestart) {
  DiskTierFixture disk;
  disk.Start();
  TrackFacts facts;
  facts.properties = PropertiesBuilder().Number(2, 7).Build();
  facts.largest = Location{5, 1};
  facts.gaps = {{{1, 0}, {1, 9}}};
  ASSERT_TRUE(disk.tier->Describe(DiskTrack("a"), facts, disk.now).ok());
  disk.Run();
  ASSERT_TRUE(disk.Put(DiskTrack("a"), DiskObject({6, 0}, "x")).ok());
  ASSERT_TRUE(disk.tier->EndGroup(DiskTrack("a"), {6, 1}, disk.now).ok());
  TrackFacts more;
  more.end = Location{7, 0};
  ASSERT_TRUE(disk.tier->Describe(DiskTrack("a"), more, disk.now).ok());
  disk.Run();
  for (int start = 0; start < 3; ++start) {
    const TrackFacts* found = disk.tier->index().FindTrack(DiskTrack("a"));
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->properties, facts.properties);
    EXPECT_EQ(found->largest, (Location{6, 0}));
    EXPECT_EQ(found->end, (Location{7, 0}));
    EXPECT_EQ(found->gaps, facts.gaps);
    EXPECT_TRUE(disk.tier->index().FindGroup(DiskTrack("a"), 6)->whole());
    using enum Presence;
    EXPECT_EQ(disk.tier->PresenceOf(DiskTrack("a"), {6, 0}), kExists);
    EXPECT_EQ(disk.tier->PresenceOf(DiskTrack("a"), {6, 1}), kGone);     // Beyond its group.
    EXPECT_EQ(disk.tier->PresenceOf(DiskTrack("a"), {7, 0}), kGone);     // Beyond the track.
    EXPECT_EQ(disk.tier->PresenceOf(DiskTrack("a"), {1, 3}), kGone);     // In a gap.
    EXPECT_EQ(disk.tier->PresenceOf(DiskTrack("a"), {5, 1}), kUnknown);  // Told of, never seen.
    EXPECT_EQ(disk.tier->PresenceOf(DiskTrack("b"), {0, 0}), kUnknown);
    disk.device = disk.device.AfterKill();
    disk.Start();
  }
}

TEST(DiskTier, ListsTracksGroupsAndTheirKeys) {
  DiskTierFixture disk;
  disk.Start();
  for (const uint64_t group : {2u, 0u}) {
    Object first = DiskObject({group, 0}, "first");
    first.properties = KeyProperties(static_cast<char>('0' + group));
    ASSERT_TRUE(disk.Put(DiskTrack("a"), first).ok());
    ASSERT_TRUE(disk.Put(DiskTrack("a"), DiskObject({group, 1}, "second")).ok());
  }
  ASSERT_TRUE(disk.Put(DiskTrack("b"), DiskObject({9, 5}, "x")).ok());
  disk.device = disk.device.AfterKill();
  disk.Start();
  const auto all = disk.tier->index().Groups(std::nullopt, 10);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[1].track, DiskTrack("a"));
  EXPECT_EQ(all[1].group, 2u);
  EXPECT_EQ(AsText(all[1].key->bytes), std::string(32, '2'));
  EXPECT_EQ(all[1].facts.object_count, 2u);
  EXPECT_EQ(all[1].facts.payload_bytes, 11u);
  EXPECT_FALSE(all[2].key.has_value());
  const auto rest = disk.tier->index().Groups(EvictedGroup{DiskTrack("a"), 0}, 1);
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].group, 2u);
  EXPECT_EQ(disk.tier->index().Tracks(DiskTrack("a"), 10),
            (std::vector<TrackName>{DiskTrack("b")}));
}

TEST(DiskTier, FindsTheNearestGroupAndObject) {
  DiskTierFixture disk;
  disk.Start();
  for (const Location location : {Location{2, 3}, Location{2, 7}, Location{5, 0}}) {
    ASSERT_TRUE(disk.Put(DiskTrack("a"), DiskObject(location, "x")).ok());
  }
  const LowerTier& tier = *disk.tier;
  EXPECT_EQ(tier.GroupFrom(DiskTrack("a"), 0), 2u);
  EXPECT_EQ(tier.GroupFrom(DiskTrack("a"), 3), 5u);
  EXPECT_EQ(tier.GroupFrom(DiskTrack("a"), 6), std::nullopt);
  EXPECT_EQ(tier.GroupUpTo(DiskTrack("a"), 9), 5u);
  EXPECT_EQ(tier.GroupUpTo(DiskTrack("a"), 4), 2u);
  EXPECT_EQ(tier.GroupUpTo(DiskTrack("a"), 1), std::nullopt);
  EXPECT_EQ(tier.GroupFrom(DiskTrack("b"), 0), std::nullopt);
  EXPECT_EQ(tier.ObjectFrom(DiskTrack("a"), {2, 0}), 3u);
  EXPECT_EQ(tier.ObjectFrom(DiskTrack("a"), {2, 4}), 7u);
  EXPECT_EQ(tier.ObjectFrom(DiskTrack("a"), {2, 8}), std::nullopt);
  EXPECT_EQ(tier.ObjectFrom(DiskTrack("a"), {3, 0}), std::nullopt);
}

// The acknowledgement is the promise, so it waits for the sync and for nothing else.
TEST(DiskTier, AcknowledgesOnlyWhatIsDurable) {
  DiskTierFixture disk;
  disk.Start();
  Random random(1);
  const auto ticket = disk.tier->Put(DiskTrack("a"), DiskObject({0, 0}, "x"), 0, disk.now);
  ASSERT_TRUE(ticket.ok());
  while (!disk.written.contains(*ticket)) {
    EXPECT_EQ(disk.tier->PresenceOf(DiskTrack("a"), {0, 0}), Presence::kUnknown);
    ASSERT_TRUE(disk.Step());
  }
  disk.device = disk.device.AfterPowerCut(random);
  disk.Start();
  EXPECT_EQ(disk.Payload(DiskTrack("a"), {0, 0}), "x");
}

TEST(DiskTier, CommitsTogetherWhatCameTogether) {
  DiskTierFixture disk;
  disk.Start();
  ASSERT_TRUE(disk.Put(DiskTrack("a"), DiskObject({0, 0}, "x")).ok());
  const uint64_t before = disk.device.request_count();
  for (uint64_t object = 1; object <= 20; ++object) {
    ASSERT_TRUE(disk.tier->Put(DiskTrack("a"), DiskObject({0, object}, "x"), 0, disk.now).ok());
  }
  disk.Run();
  EXPECT_EQ(disk.written.size(), 21u);
  EXPECT_EQ(disk.device.request_count() - before, 4u);  // The first alone, then all others.
}

TEST(DiskTier, HoldsANameToItsFirstObject) {
  DiskTierFixture disk;
  disk.Start();
  const auto first = disk.tier->Put(DiskTrack("a"), DiskObject({0, 0}, "x"), 0, disk.now);
  const auto same = disk.tier->Put(DiskTrack("a"), DiskObject({0, 0}, "x"), 9, disk.now);
  const auto other = disk.tier->Put(DiskTrack("a"), DiskObject({0, 0}, "y"), 0, disk.now);
  EXPECT_EQ(other.error().code(), ErrorCode::kMismatch);
  disk.Run();
  EXPECT_TRUE(disk.Outcome(*first).ok());
  EXPECT_TRUE(disk.Outcome(*same).ok());
  for (int start = 0; start < 2; ++start) {
    const uint64_t writes = disk.device.bytes();
    EXPECT_TRUE(disk.Put(DiskTrack("a"), DiskObject({0, 0}, "x")).ok());
    EXPECT_EQ(disk.Put(DiskTrack("a"), DiskObject({0, 0}, "y")).error().code(),
              ErrorCode::kMismatch);
    EXPECT_EQ(disk.device.bytes(), writes);
    disk.device = disk.device.AfterKill();
    disk.Start();
  }
}

TEST(DiskTier, RefusesWhatContradictsAnEnd) {
  DiskTierFixture disk;
  disk.Start();
  ASSERT_TRUE(disk.Put(DiskTrack("a"), DiskObject({0, 3}, "x")).ok());
  EXPECT_EQ(disk.tier->EndGroup(DiskTrack("a"), {0, 3}, disk.now).error().code(),
            ErrorCode::kMismatch);
  ASSERT_TRUE(disk.tier->EndGroup(DiskTrack("a"), {0, 4}, disk.now).ok());
  EXPECT_EQ(disk.Put(DiskTrack("a"), DiskObject({0, 4}, "x")).error().code(), ErrorCode::kMismatch);
  EXPECT_EQ(disk.tier->Describe(DiskTrack("a"), EndAt({0, 3}), disk.now).error().code(),
            ErrorCode::kMismatch);
  ASSERT_TRUE(disk.tier->Describe(DiskTrack("a"), EndAt({2, 0}), disk.now).ok());
  EXPECT_EQ(disk.Put(DiskTrack("a"), DiskObject({2, 0}, "x")).error().code(), ErrorCode::kMismatch);
}

TEST(DiskTier, NeverPassesItsBudgetAndTellsWhatWent) {
  DiskTierFixture disk(6);
  disk.Start();
  std::set<uint64_t> here;
  for (uint64_t group = 0; group < 100; ++group) {
    ASSERT_TRUE(disk.Put(DiskTrack("a"), DiskObject({group, 0}, Big('x'))).ok()) << group;
    here.insert(group);
  }
  EXPECT_LE(disk.most_allocated, disk.options.bytes_max);
  EXPECT_GE(disk.most_allocated, disk.options.bytes_max - 2 * DiskTierFixture::kSegmentBytes);
  for (int start = 0; start < 3; ++start) {
    for (const EvictedGroup& evicted : disk.evicted) {
      EXPECT_EQ(here.erase(evicted.group), 1u) << evicted.group;
    }
    disk.evicted.clear();
    EXPECT_GT(here.size(), 8u);
    for (uint64_t group = 0; group < 100; ++group) {
      EXPECT_EQ(disk.Payload(DiskTrack("a"), {group, 0}).has_value(), here.contains(group));
    }
    EXPECT_EQ(disk.tier->index().FindTrack(DiskTrack("a"))->largest, (Location{99, 0}));
    disk.device = disk.device.AfterKill();
    disk.Start();
  }
}

// With whatever properties and times it had, wherever in its segments it lies.
TEST(DiskTier, HandsOverWholeGroupsThatHaveToGo) {
  DiskTierFixture disk(6);
  disk.Start();
  disk.tier->HandOverEvicted();
  const auto end_of = [](uint64_t group) { return group % 2 == 0 ? 3u : 4u; };
  for (uint64_t group = 0; group < 30; ++group) {
    for (uint64_t object = 0; object < 3; ++object) {
      ASSERT_TRUE(disk.Put(DiskTrack("a"), DiskObject({group, object}, Big('a')), group).ok());
    }
    // Of every other one an object is missing.
    const auto ended = disk.tier->EndGroup(DiskTrack("a"), {group, end_of(group)}, disk.now);
    ASSERT_TRUE(ended.ok());
    disk.Run();
  }
  ASSERT_GT(disk.evicted.size(), 10u);
  size_t whole = 0;
  for (const EvictedGroup& evicted : disk.evicted) {
    const auto contents = disk.handed_over.find(evicted.group);
    ASSERT_EQ(contents != disk.handed_over.end(), evicted.group % 2 == 0) << evicted.group;
    if (contents != disk.handed_over.end()) {
      ++whole;
      ASSERT_EQ(contents->second.objects.size(), 3u);
      for (uint64_t object = 0; object < 3; ++object) {
        const StoredObject& stored = contents->second.objects[object];
        EXPECT_EQ(stored.object.location, (Location{evicted.group, object}));
        EXPECT_EQ(stored.object.payload.ToString(), Big('a'));
        EXPECT_EQ(stored.received_us, evicted.group);
      }
    }
    EXPECT_FALSE(disk.tier->FindGroup(DiskTrack("a"), evicted.group).has_value());
  }
  EXPECT_GT(whole, 5u);
  EXPECT_LE(disk.most_allocated, disk.options.bytes_max);
}

TEST(DiskTier, HandsNothingOverThatIsDamaged) {
  DiskTierFixture disk(6);
  disk.Start();
  disk.tier->HandOverEvicted();
  ASSERT_TRUE(disk.Put(DiskTrack("a"), DiskObject({0, 0}, Big('a'))).ok());
  ASSERT_TRUE(disk.tier->EndGroup(DiskTrack("a"), {0, 1}, disk.now).ok());
  disk.Run();
  disk.device.contents(1)[8000] ^= std::byte{1};
  for (uint64_t group = 1; group < 100; ++group) {
    ASSERT_TRUE(disk.Put(DiskTrack("a"), DiskObject({group, 0}, Big('x'))).ok()) << group;
  }
  EXPECT_FALSE(disk.tier->FindGroup(DiskTrack("a"), 0).has_value());
  EXPECT_FALSE(disk.handed_over.contains(0));
}

TEST(DiskTier, GivesWhatWasUsedASecondChance) {
  DiskTierFixture disk(7);
  disk.Start();
  for (uint64_t group = 0; group < 60; ++group) {
    ASSERT_TRUE(disk.Put(DiskTrack("a"), DiskObject({group, 0}, Big('x'))).ok());
    ASSERT_TRUE(disk.Get(DiskTrack("a"), {0, 0}).has_value()) << group;
  }
  EXPECT_FALSE(disk.Get(DiskTrack("a"), {1, 0}).has_value());
}

// What is known of a track must not go with the segment that it was written down in.
TEST(DiskTier, CarriesATracksFactsAlong) {
  DiskTierFixture disk(6);
  disk.Start();
  TrackFacts facts;
  facts.properties = PropertiesBuilder().Number(2, 7).Build();
  ASSERT_TRUE(disk.tier->Describe(DiskTrack("quiet"), facts, disk.now).ok());
  ASSERT_TRUE(disk.Put(DiskTrack("quiet"), DiskObject({8, 3}, "x")).ok());
  for (uint64_t group = 0; group < 100; ++group) {
    ASSERT_TRUE(disk.Put(DiskTrack("a"), DiskObject({group, 0}, Big('x'))).ok());
  }
  disk.device = disk.device.AfterKill();
  disk.Start();
  EXPECT_FALSE(disk.Get(DiskTrack("quiet"), {8, 3}).has_value());
  const TrackFacts* found = disk.tier->index().FindTrack(DiskTrack("quiet"));
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->properties, facts.properties);
  EXPECT_EQ(found->largest, (Location{8, 3}));
}

TEST(DiskTier, KeepsARemovalForAsLongAsTheObjectLies) {
  DiskTierFixture disk(6);
  disk.Start();
  ASSERT_TRUE(disk.Put(DiskTrack("gone"), DiskObject({0, 0}, "x")).ok());
  ASSERT_TRUE(disk.Put(DiskTrack("gone"), DiskObject({1, 0}, "old")).ok());
  ASSERT_TRUE(disk.Put(DiskTrack("whole"), DiskObject({0, 0}, "x")).ok());
  ASSERT_TRUE(disk.tier->Remove(DiskTrack("gone"), 0, disk.now).ok());
  ASSERT_TRUE(disk.tier->Remove(DiskTrack("gone"), 1, disk.now).ok());
  ASSERT_TRUE(disk.tier->Remove(DiskTrack("whole"), std::nullopt, disk.now).ok());
  ASSERT_TRUE(disk.Put(DiskTrack("gone"), DiskObject({1, 0}, "new")).ok());
  for (uint64_t start = 0; start < 12; ++start) {
    EXPECT_EQ(disk.tier->PresenceOf(DiskTrack("gone"), {0, 0}), Presence::kUnknown);
    EXPECT_EQ(disk.tier->index().FindTrack(DiskTrack("whole")), nullptr);
    EXPECT_EQ(disk.Payload(DiskTrack("gone"), {1, 0}), "new");
    ASSERT_TRUE(disk.Put(DiskTrack("a"), DiskObject({start, 0}, Big('x'))).ok());
    disk.device = disk.device.AfterKill();
    disk.Start();
  }
}

// A failed sync leaves nobody knowing what is on the disk: asking again would only be told that
// all is well.
TEST(DiskTier, GivesUpASegmentWhoseSyncFailed) {
  DiskTierFixture disk;
  disk.Start();
  ASSERT_TRUE(disk.Put(DiskTrack("a"), DiskObject({0, 0}, "before")).ok());
  disk.device.faults().fail_at = disk.device.request_count() + 2;  // A write, then a sync.
  EXPECT_EQ(disk.Put(DiskTrack("a"), DiskObject({0, 1}, "lost")).error().code(),
            ErrorCode::kMachine);
  EXPECT_FALSE(disk.tier->segments().segments.contains(1));  // Emptied, and removed.
  EXPECT_EQ(disk.Payload(DiskTrack("a"), {0, 0}), "before");
  EXPECT_FALSE(disk.Get(DiskTrack("a"), {0, 1}).has_value());
  EXPECT_TRUE(disk.Put(DiskTrack("a"), DiskObject({0, 1}, "again")).ok());
  Random random(3);
  disk.device = disk.device.AfterPowerCut(random);
  disk.Start();
  EXPECT_EQ(disk.Payload(DiskTrack("a"), {0, 0}), "before");
  EXPECT_EQ(disk.Payload(DiskTrack("a"), {0, 1}), "again");
}

TEST(DiskTier, RefusesPutsWhileTheDiskIsFullAndGoesOnReading) {
  DiskTierFixture disk;
  disk.Start();
  disk.device.faults().capacity = kSuperblockBytes + 2 * DiskTierFixture::kSegmentBytes;
  uint64_t kept = 0;
  while (disk.Put(DiskTrack("a"), DiskObject({kept, 0}, Big('x'))).ok()) {
    ++kept;
    ASSERT_LT(kept, 100u);
  }
  EXPECT_GT(kept, 5u);
  const auto refused = disk.Put(DiskTrack("a"), DiskObject({kept, 0}, Big('x')));
  EXPECT_EQ(refused.error().code(), ErrorCode::kMachine);
  EXPECT_NE(refused.error().message().find("no space left"), std::string::npos);
  for (uint64_t group = 0; group < kept; ++group) {
    EXPECT_EQ(disk.Payload(DiskTrack("a"), {group, 0}), Big('x'));
  }
  disk.Wait(seconds(5));
  EXPECT_FALSE(disk.Put(DiskTrack("a"), DiskObject({kept, 0}, Big('x'))).ok());
  disk.device.faults().capacity = UINT64_MAX;
  disk.Wait(seconds(5));
  EXPECT_TRUE(disk.Put(DiskTrack("a"), DiskObject({kept, 0}, Big('x'))).ok());
}

TEST(DiskTier, TakesADamagedRecordForAMiss) {
  DiskTierFixture disk;
  disk.Start();
  ASSERT_TRUE(disk.Put(DiskTrack("a"), DiskObject({0, 0}, "damaged")).ok());
  ASSERT_TRUE(disk.Put(DiskTrack("a"), DiskObject({0, 1}, "whole")).ok());
  std::vector<std::byte>& segment = disk.device.contents(1);
  const auto at = AsText(segment).find("damaged");
  ASSERT_NE(at, std::string::npos);
  segment[at] ^= std::byte{1};
  EXPECT_FALSE(disk.Get(DiskTrack("a"), {0, 0}).has_value());
  EXPECT_EQ(disk.tier->counts().damaged, 1u);
  EXPECT_EQ(disk.tier->PresenceOf(DiskTrack("a"), {0, 0}), Presence::kUnknown);
  EXPECT_EQ(disk.Payload(DiskTrack("a"), {0, 1}), "whole");
  ASSERT_EQ(disk.evicted.size(), 1u);
  EXPECT_TRUE(disk.Put(DiskTrack("a"), DiskObject({0, 0}, "damaged")).ok());  // Refilled.
  EXPECT_EQ(disk.Payload(DiskTrack("a"), {0, 0}), "damaged");
}

TEST(DiskTier, LeavesAnUnknownVersionUntouched) {
  for (const DeviceFile file : {kSuperblockFile, DeviceFile{1}}) {
    DiskTierFixture disk;
    disk.Start();
    ASSERT_TRUE(disk.Put(DiskTrack("a"), DiskObject({0, 0}, "x")).ok());
    std::vector<std::byte>& contents = disk.device.contents(file);
    for (size_t block = 0; block < (file == kSuperblockFile ? 2 : 1); ++block) {
      const std::span one = std::span(contents).subspan(block * kDeviceBlockBytes);
      one[8] = std::byte{2};
      const uint32_t sum = Crc32c(one.first(kDeviceBlockBytes - 4));
      std::memcpy(one.data() + kDeviceBlockBytes - 4, &sum, 4);
    }
    const std::vector<std::byte> before = contents;
    disk.device = disk.device.AfterKill();
    disk.Start();
    ASSERT_EQ(disk.tier->state(), DiskTier::State::kRefused);
    const std::string message = disk.tier->refusal().ToString();
    EXPECT_NE(message.find("version 2"), std::string::npos) << message;
    EXPECT_NE(message.find(DiskFileName(file)), std::string::npos) << message;
    EXPECT_EQ(disk.device.contents(file), before);
    EXPECT_EQ(disk.device.List().size(), 2u);
    EXPECT_FALSE(disk.Put(DiskTrack("a"), DiskObject({0, 0}, "x")).ok());
  }
}

TEST(DiskTier, FindsItsDirectoryWithoutASuperblock) {
  DiskTierFixture disk;
  disk.Start();
  ASSERT_TRUE(disk.Put(DiskTrack("a"), DiskObject({0, 0}, "x")).ok());
  disk.device.PutFile(kSuperblockFile, std::vector<std::byte>(100));
  disk.options.fresh.bytes.fill(std::byte{0x11});
  disk.device = disk.device.AfterKill();
  disk.Start();
  EXPECT_EQ(disk.Payload(DiskTrack("a"), {0, 0}), "x");
}

TEST(DiskTier, LeavesAnotherDirectorysSegmentAlone) {
  DiskTierFixture disk;
  disk.Start();
  ASSERT_TRUE(disk.Put(DiskTrack("a"), DiskObject({0, 0}, "theirs")).ok());
  const std::vector<std::byte> theirs = disk.device.contents(1);
  DiskTierFixture other;
  other.options.fresh.bytes.fill(std::byte{0x11});
  other.Start();
  other.device.PutFile(1, theirs);
  other.Start();
  EXPECT_FALSE(other.Get(DiskTrack("a"), {0, 0}).has_value());
  ASSERT_TRUE(other.Put(DiskTrack("a"), DiskObject({0, 0}, "ours")).ok());
  EXPECT_EQ(other.device.contents(1), theirs);
  EXPECT_EQ(other.Payload(DiskTrack("a"), {0, 0}), "ours");
}

TEST(DiskTier, BoundsWhatWaits) {
  DiskTierFixture disk;
  disk.options.queue_bytes_max = 20000;
  disk.Start();
  int taken = 0;
  while (disk.tier
             ->Put(DiskTrack("a"), DiskObject({0, static_cast<uint64_t>(taken)}, Big('x')), 0,
                   disk.now)
             .ok()) {
    ASSERT_LT(++taken, 10);
  }
  EXPECT_EQ(taken, 3);
  disk.Run();
  EXPECT_EQ(disk.tier->queued_bytes(), 0u);
  EXPECT_TRUE(disk.Put(DiskTrack("a"), DiskObject({1, 0}, Big('x'))).ok());
  EXPECT_EQ(disk.Put(DiskTrack("a"), DiskObject({2, 0}, std::string(60000, 'x'))).error().code(),
            ErrorCode::kTooLarge);
}

}  // namespace
}  // namespace kvcast
