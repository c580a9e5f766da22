#include "kvcast/moqt/track_rules.h"

#include <gtest/gtest.h>

namespace kvcast::moqt {
namespace {

Object Placed(uint64_t group, uint64_t id, const Properties& properties = {}) {
  Object object;
  object.location = {group, id};
  object.properties = properties;
  return object;
}
Object End(ObjectStatus status, uint64_t group, uint64_t id) {
  Object object = Placed(group, id);
  object.status = status;
  return object;
}
Properties GroupGap(uint64_t groups) {
  return PropertiesBuilder().Number(property::kPriorGroupIdGap, groups).Build();
}
Properties ObjectGap(uint64_t objects) {
  return PropertiesBuilder().Number(property::kPriorObjectIdGap, objects).Build();
}

Decoded<void> Take(TrackRules& rules, const Object& object, bool ends_group = false) {
  return rules.OnObject(object, PriorGaps::Of(object), ends_group);
}

// Whether a track that brings these is malformed, and only by the last of them.
bool LastIsMalformed(const std::vector<Object>& objects) {
  TrackRules rules;
  for (size_t i = 0; i + 1 < objects.size(); ++i) {
    EXPECT_TRUE(Take(rules, objects[i]).ok()) << "object " << i;
  }
  const Decoded<void> last = Take(rules, objects.back());
  if (!last.ok()) {
    EXPECT_EQ(last.error().scope(), Fault::Scope::kTrack);
    EXPECT_EQ(last.error().code(), static_cast<uint64_t>(ResetCode::kMalformedTrack));
  }
  return !last.ok();
}

TEST(TrackRules, LetAnythingPassThatAgrees) {
  EXPECT_FALSE(
      LastIsMalformed({Placed(0, 0), Placed(0, 1), Placed(5, 9), Placed(0, 1), Placed(2, 2)}));
  EXPECT_FALSE(
      LastIsMalformed({Placed(10, 0, GroupGap(2)), Placed(10, 1, GroupGap(2)), Placed(7, 0)}));
  EXPECT_FALSE(
      LastIsMalformed({Placed(0, 5, ObjectGap(2)), Placed(0, 2), Placed(0, 6, ObjectGap(0))}));
  EXPECT_FALSE(LastIsMalformed({Placed(0, 3), End(ObjectStatus::kEndOfGroup, 0, 4), Placed(0, 2)}));
  EXPECT_FALSE(LastIsMalformed({End(ObjectStatus::kEndOfTrack, 3, 0), Placed(2, 9)}));
}

TEST(TrackRules, NoticeWhatContradictsAGap) {
  EXPECT_TRUE(LastIsMalformed({Placed(10, 0, GroupGap(2)), Placed(9, 0)}));
  EXPECT_TRUE(LastIsMalformed({Placed(10, 0, GroupGap(2)), Placed(8, 4)}));
  EXPECT_TRUE(LastIsMalformed({Placed(8, 0), Placed(10, 0, GroupGap(2))}));
  EXPECT_TRUE(LastIsMalformed({Placed(10, 0, GroupGap(2)), Placed(10, 1, GroupGap(3))}));
  EXPECT_TRUE(LastIsMalformed({Placed(0, 5, ObjectGap(2)), Placed(0, 3)}));
  EXPECT_TRUE(LastIsMalformed({Placed(0, 4), Placed(0, 5, ObjectGap(1))}));
  const Properties immutable = PropertiesBuilder().Immutable(ObjectGap(1)).Build();
  EXPECT_TRUE(LastIsMalformed({Placed(0, 4), Placed(0, 5, immutable)}));
}

TEST(TrackRules, NoticeWhatStandsBeyondAnEnd) {
  EXPECT_TRUE(LastIsMalformed({End(ObjectStatus::kEndOfGroup, 0, 4), Placed(0, 4)}));
  EXPECT_TRUE(LastIsMalformed({Placed(0, 4), End(ObjectStatus::kEndOfGroup, 0, 4)}));
  EXPECT_TRUE(LastIsMalformed(
      {End(ObjectStatus::kEndOfGroup, 0, 4), End(ObjectStatus::kEndOfGroup, 0, 5)}));
  EXPECT_TRUE(LastIsMalformed({End(ObjectStatus::kEndOfTrack, 3, 1), Placed(3, 1)}));
  EXPECT_TRUE(LastIsMalformed({Placed(4, 0), End(ObjectStatus::kEndOfTrack, 3, 1)}));
  TrackRules datagrams;
  EXPECT_TRUE(Take(datagrams, Placed(0, 4), true).ok());
  EXPECT_FALSE(Take(datagrams, Placed(0, 5)).ok());
}

// Ends are objects too.
TEST(TrackRules, NoticeEndsThatContradictOtherEnds) {
  const auto group_end = [](uint64_t group, uint64_t id) {
    return End(ObjectStatus::kEndOfGroup, group, id);
  };
  const auto track_end = [](uint64_t group, uint64_t id) {
    return End(ObjectStatus::kEndOfTrack, group, id);
  };
  EXPECT_TRUE(LastIsMalformed({track_end(3, 0), group_end(5, 1)}));
  EXPECT_TRUE(LastIsMalformed({group_end(5, 1), track_end(3, 0)}));
  EXPECT_TRUE(LastIsMalformed({track_end(3, 4), group_end(3, 5)}));
  EXPECT_TRUE(LastIsMalformed({group_end(3, 4), track_end(3, 5)}));
  EXPECT_TRUE(LastIsMalformed({track_end(3, 5), group_end(3, 4)}));
  EXPECT_FALSE(LastIsMalformed({group_end(3, 4), track_end(3, 4)}));
  EXPECT_FALSE(LastIsMalformed({track_end(3, 4), group_end(3, 4)}));
  EXPECT_FALSE(LastIsMalformed({group_end(2, 9), track_end(3, 0), group_end(1, 7)}));
  // A track that ends right after its last group's last object.
  TrackRules rules;
  EXPECT_TRUE(Take(rules, Placed(3, 1)).ok());
  EXPECT_TRUE(rules.OnSubgroupEnd(3, 0, 1, true).ok());
  Object end = track_end(3, 2);
  end.subgroup = 1;
  EXPECT_TRUE(Take(rules, end).ok());
}

TEST(TrackRules, NoticeEndsThatContradictAGapOrTheirSubgroup) {
  EXPECT_TRUE(LastIsMalformed({Placed(10, 0, GroupGap(2)), End(ObjectStatus::kEndOfGroup, 9, 0)}));
  EXPECT_TRUE(LastIsMalformed({End(ObjectStatus::kEndOfGroup, 9, 0), Placed(10, 0, GroupGap(2))}));
  EXPECT_FALSE(LastIsMalformed({End(ObjectStatus::kEndOfGroup, 7, 0), Placed(10, 0, GroupGap(2))}));
  Object urgent = End(ObjectStatus::kEndOfGroup, 0, 2);
  urgent.priority = 3;
  EXPECT_TRUE(LastIsMalformed({Placed(0, 1), urgent}));
  TrackRules rules;
  EXPECT_TRUE(Take(rules, Placed(0, 4)).ok());
  EXPECT_TRUE(rules.OnSubgroupEnd(0, 0, 4, false).ok());
  EXPECT_FALSE(Take(rules, End(ObjectStatus::kEndOfGroup, 0, 5)).ok());
}

TEST(TrackRules, NoticeObjectsThatComeAgainAnotherWay) {
  const auto in_subgroup = [](uint64_t id, uint64_t subgroup) {
    Object object = Placed(1, id);
    object.subgroup = subgroup;
    return object;
  };
  const auto alone = [](uint64_t id, uint8_t priority) {
    Object object = Placed(1, id);
    object.forwarding = Forwarding::kDatagram;
    object.priority = priority;
    return object;
  };
  EXPECT_TRUE(LastIsMalformed({in_subgroup(0, 0), in_subgroup(0, 3)}));
  EXPECT_TRUE(LastIsMalformed({in_subgroup(0, 0), alone(0, 128)}));
  EXPECT_TRUE(LastIsMalformed({alone(0, 128), in_subgroup(0, 0)}));
  EXPECT_TRUE(LastIsMalformed({alone(0, 128), alone(0, 3)}));
  EXPECT_TRUE(LastIsMalformed(
      {in_subgroup(0, 0), in_subgroup(1, 1), in_subgroup(2, 0), in_subgroup(1, 0)}));
  EXPECT_TRUE(LastIsMalformed(
      {in_subgroup(2, 0), in_subgroup(0, 0), in_subgroup(1, 0), in_subgroup(2, 2)}));
  EXPECT_FALSE(LastIsMalformed({in_subgroup(0, 0), alone(1, 3), in_subgroup(2, 0), alone(3, 128),
                                in_subgroup(0, 0), alone(1, 3), alone(3, 128)}));
}

TEST(TrackRules, NoticeTwoEndsOrPrioritiesOfASubgroup) {
  TrackRules rules;
  EXPECT_TRUE(Take(rules, Placed(0, 4)).ok());
  EXPECT_TRUE(rules.OnSubgroupEnd(0, 0, 4, false).ok());
  EXPECT_TRUE(rules.OnSubgroupEnd(0, 0, 4, false).ok());
  EXPECT_FALSE(rules.OnSubgroupEnd(0, 0, 5, false).ok());
  EXPECT_FALSE(Take(rules, Placed(0, 5)).ok());
  EXPECT_TRUE(Take(rules, Placed(1, 1)).ok());
  EXPECT_TRUE(rules.OnSubgroupEnd(1, 0, 1, true).ok());
  Object other = Placed(1, 2);
  other.subgroup = 2;
  EXPECT_FALSE(Take(rules, other).ok());  // Beyond the group's end.
  Object urgent = Placed(2, 1);
  urgent.priority = 3;
  EXPECT_TRUE(Take(rules, Placed(2, 0)).ok());
  EXPECT_FALSE(Take(rules, urgent).ok());
}

TEST(IdRuns, JoinWhatFollowsAndForgetTheLowestBeyondTheirBound) {
  IdRuns runs(3);
  const uint64_t max = ~uint64_t{0};
  runs.Add(5, 6);
  runs.Add(8, 9);
  EXPECT_FALSE(runs.Contains(7));
  EXPECT_FALSE(runs.Overlaps(10, 100));
  EXPECT_TRUE(runs.Overlaps(0, 5));
  runs.Add(7, 7);
  EXPECT_TRUE(runs.Overlaps(7, 7));
  runs.Add(0, 0);
  runs.Add(max, max);
  runs.Add(max, max);
  EXPECT_EQ(runs.largest(), max);
  EXPECT_TRUE(runs.Contains(0));
  runs.Add(20, 20);  // A fourth run.
  EXPECT_FALSE(runs.Contains(0));
  EXPECT_TRUE(runs.Contains(5));
  runs.Add(4, 30);
  EXPECT_TRUE(runs.Contains(12));
}

// One object in each of many groups and subgroups, with holes between: as much as can be
// remembered.
TEST(TrackRules, CountsWhatItRemembersAndCanForgetAllOfIt) {
  TrackRules rules;
  const auto fill = [&rules] {
    for (uint64_t group = 0; group < 100; ++group) {
      for (uint64_t i = 0; i < 100; ++i) {
        Object object;
        object.location = {2 * group, 2 * i};
        object.subgroup = i;
        ASSERT_TRUE(Take(rules, object).ok());
        ASSERT_TRUE(rules.OnSubgroupEnd(2 * group, i, 2 * i, false).ok());
      }
    }
  };
  fill();
  const size_t most = rules.bytes();
  EXPECT_GT(most, 64u * 128 * 64);
  fill();
  EXPECT_EQ(rules.bytes(), most);
  for (size_t before = most; rules.ForgetSome(); before = rules.bytes()) {
    ASSERT_LT(rules.bytes(), before);
  }
  EXPECT_EQ(rules.bytes(), 0u);
}

}  // namespace
}  // namespace kvcast::moqt
