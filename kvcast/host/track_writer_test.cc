#include "kvcast/host/track_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "kvcast/moqt/memory_connection.h"

namespace kvcast {
namespace {

// What a subscriber sees of a track that was written: a publisher and a subscriber without a relay.
class TrackWriterTest : public testing::Test {
 protected:
  struct Seen {
    Location location;
    uint64_t subgroup = 0;
    bool ends_group = false;

    friend bool operator==(const Seen&, const Seen&) = default;
  };

  static moqt::Setup ClientSetup() {
    moqt::Setup setup;
    setup.path = "/";
    setup.authority = "a";
    return setup;
  }

  // Writes `objects` and ends the track; what arrives, by location, and how each stream ended.
  std::vector<Seen> Write(TrackWriter::Layout layout, uint64_t objects, bool tell_count) {
    moqt::Session publisher(moqt::Role::kClient, ClientSetup(), {}, Instant());
    moqt::Session reader(moqt::Role::kServer, {}, {}, Instant());
    moqt::MemoryConnection connection({}, publisher, reader);
    const moqt::RequestId request =
        *publisher.Publish(*TrackName::Of(*TrackNamespace::Of({"a"}), "t"), {}, {});
    if (tell_count) {
      layout.count = objects;
    }
    TrackWriter writer(publisher, request, layout);
    for (uint64_t i = 0; i < objects; ++i) {
      EXPECT_TRUE(writer.Send(Bytes::Of("x")).ok());
    }
    EXPECT_TRUE(writer.EndGroup().ok());
    EXPECT_EQ(writer.sent(), objects);
    std::vector<Seen> seen;
    while (connection.Step()) {
      while (const auto event = reader.NextEvent()) {
        if (const auto* offered = std::get_if<moqt::PublishReceived>(&*event)) {
          EXPECT_TRUE(reader.AcceptPublish(offered->request, {}).ok());
        }
      }
      while (const auto item = reader.Take(request)) {
        if (const auto* object = std::get_if<moqt::ReceivedObject>(&*item)) {
          EXPECT_TRUE(object->object.payload == Bytes::Of("x"));
          seen.push_back({object->object.location, object->object.subgroup, object->ends_group});
        } else if (const auto* end = std::get_if<moqt::SubgroupEnd>(&*item)) {
          EXPECT_TRUE(end->complete);
        }
      }
    }
    std::ranges::sort(seen, {}, &Seen::location);
    return seen;
  }
};

TEST_F(TrackWriterTest, AllObjectsStandInOneGroupUnlessSaid) {
  EXPECT_EQ(Write({.first_group = 7}, 3, true),
            (std::vector<Seen>{{{7, 0}, 0, true}, {{7, 1}, 0, true}, {{7, 2}, 0, true}}));
}

TEST_F(TrackWriterTest, GroupsEndWhenTheyAreFull) {
  EXPECT_EQ(Write({.group_objects = 2}, 3, false),
            (std::vector<Seen>{{{0, 0}, 0, true}, {{0, 1}, 0, true}, {{1, 0}, 0, true}}));
}

TEST_F(TrackWriterTest, NoGroupFollowsTheLastThatHasANumber) {
  moqt::Session session(moqt::Role::kClient, ClientSetup(), {}, Instant());
  const moqt::RequestId request =
      *session.Publish(*TrackName::Of(*TrackNamespace::Of({"a"}), "t"), {}, {});
  TrackWriter writer(session, request, {.first_group = ~uint64_t{0}, .group_objects = 1});
  EXPECT_TRUE(writer.Send(Bytes::Of("x")).ok());
  EXPECT_EQ(writer.Send(Bytes::Of("x")).error().code(), ErrorCode::kTooLarge);
}

// How the subgroups of a track look to a subscriber that wanted a range, and then another.
class WantedTest : public TrackWriterTest {
 protected:
  void Send(uint64_t objects) {
    for (uint64_t i = 0; i < objects; ++i) {
      EXPECT_TRUE(writer_.Send(Bytes::Of("x")).ok());
    }
  }
  // "0.1" for an object, ")" where a stream ended well, "!" where it was reset; by stream.
  std::string Seen() {
    std::map<moqt::StreamId, std::string> streams;
    while (connection_.Step()) {
      while (const auto event = reader_.NextEvent()) {
        if (const auto* offered = std::get_if<moqt::PublishReceived>(&*event)) {
          EXPECT_TRUE(reader_.AcceptPublish(offered->request, {}).ok());
        }
      }
      while (const auto item = reader_.Take(request_)) {
        if (const auto* object = std::get_if<moqt::ReceivedObject>(&*item)) {
          const Location at = object->object.location;
          streams[object->stream] +=
              std::to_string(at.group) + "." + std::to_string(at.object) + " ";
        } else if (const auto* end = std::get_if<moqt::SubgroupEnd>(&*item)) {
          streams[end->stream] += end->complete ? ")" : "!";
        }
      }
    }
    std::string all;
    for (const auto& [stream, text] : streams) {
      all += (all.empty() ? "" : "| ") + text;
    }
    return all;
  }

  moqt::Session publisher_{moqt::Role::kClient, ClientSetup(), {}, Instant()};
  moqt::Session reader_{moqt::Role::kServer, {}, {}, Instant()};
  moqt::MemoryConnection connection_{{}, publisher_, reader_};
  moqt::RequestId request_ =
      *publisher_.Publish(*TrackName::Of(*TrackNamespace::Of({"a"}), "t"), {}, {});
  TrackWriter writer_{publisher_, request_, {.group_objects = 3}};
};

TEST_F(WantedTest, OnlyWhatIsInTheRangeIsSent) {
  writer_.Want({{1, 1}, {2, LocationRange::kWholeGroup}});
  Send(12);
  EXPECT_EQ(Seen(), "1.1 1.2 )| 2.0 2.1 2.2 )");
  EXPECT_EQ(writer_.sent(), 12u);
  EXPECT_EQ(writer_.unwanted(), 7u);
  EXPECT_EQ(writer_.largest(), (Location{3, 2}));
}

TEST_F(WantedTest, ARangeIsPastWhenItsLastGroupIsFull) {
  Send(9);
  EXPECT_FALSE(writer_.is_past_range());
  writer_.Want({{1, 1}, {3, LocationRange::kWholeGroup}});
  Send(2);
  EXPECT_FALSE(writer_.is_past_range());
  Send(1);
  EXPECT_TRUE(writer_.is_past_range());
  writer_.Want({{1, 1}, {4, LocationRange::kWholeGroup}});
  EXPECT_FALSE(writer_.is_past_range());
}

TEST_F(WantedTest, WhatIsNoLongerWantedIsBrokenOff) {
  Send(2);
  EXPECT_EQ(Seen(), "0.0 0.1 ");
  writer_.Want({{1, 0}, {1, LocationRange::kWholeGroup}});
  Send(3);
  EXPECT_EQ(Seen(), "!| 1.0 1.1 ");
  writer_.Want({{1, 0}, {5, LocationRange::kWholeGroup}});  // Wider: the stream goes on.
  Send(1);
  EXPECT_EQ(Seen(), "1.2 )");
}

// What came before it is not missing to whoever subscribes in the middle of a group.
TEST_F(WantedTest, TheNextSubscriptionLacksNothingThatTheLastOneLeftOut) {
  writer_.Want({{0, 0}, {0, LocationRange::kWholeGroup}});
  Send(4);
  EXPECT_EQ(Seen(), "0.0 0.1 0.2 )");
  request_ = *publisher_.Publish(*TrackName::Of(*TrackNamespace::Of({"a"}), "u"), {}, {});
  writer_.Continue(request_);
  writer_.Want({{1, 1}, {5, LocationRange::kWholeGroup}});
  Send(2);
  EXPECT_EQ(Seen(), "1.1 1.2 )");
}

// The subgroup lacks an object that was not wanted at its time, and is now.
TEST_F(WantedTest, AStreamThatLacksWhatIsWantedNowDoesNotEndWell) {
  writer_.Want({{0, 0}, {0, LocationRange::kWholeGroup}});
  Send(4);
  writer_.Want({{0, 0}, {1, LocationRange::kWholeGroup}});
  Send(1);
  EXPECT_EQ(Seen(), "0.0 0.1 0.2 )| 1.1 ");
  Send(1);
  EXPECT_EQ(Seen(), "!");
}

// Only the subgroup with the group's last object may say so, and only if which one is known.
TEST_F(TrackWriterTest, OfSeveralSubgroupsOneEndsTheGroup) {
  EXPECT_EQ(Write({.group_objects = 3, .subgroups = 2}, 5, true),
            (std::vector<Seen>{{{0, 0}, 0, true},
                               {{0, 1}, 1, false},
                               {{0, 2}, 0, true},
                               {{1, 0}, 0, false},
                               {{1, 1}, 1, true}}));
  EXPECT_EQ(Write({.subgroups = 2}, 2, false),
            (std::vector<Seen>{{{0, 0}, 0, false}, {{0, 1}, 1, false}}));
}

}  // namespace
}  // namespace kvcast
