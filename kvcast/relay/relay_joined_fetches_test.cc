// Fetches that wait for what another one has asked for, which wanted more of a track, or less.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "kvcast/base/sanitized_test.h"
#include "kvcast/object/properties.h"
#include "kvcast/relay/relay_levels_test.h"

namespace kvcast::relay {
namespace {

using moqt::GroupOrder;

// An edge that asks an origin, to which somebody publishes a track.
class JoiningWorld {
 public:
  explicit JoiningWorld(const RelayWorld::Options& options = {}) : levels_(options) {}

  // Objects [first, last] of a group, before which so many groups do not exist, nor do objects
  // before the first.
  void Send(uint64_t group, uint64_t groups_missing, uint64_t first, uint64_t last,
            size_t bytes = 100) {
    const moqt::StreamId stream = publisher_.OpenGroup(published_, group);
    for (uint64_t at = first; at <= last; ++at) {
      Object object = ObjectAt(track_, {group, at}, bytes);
      PropertiesBuilder properties;
      if (at == first && groups_missing > 0) {
        properties.Number(property::kPriorGroupIdGap, groups_missing);
      }
      if (at == first && first > 0) {
        properties.Number(property::kPriorObjectIdGap, first);
      }
      object.properties = properties.Build();
      ASSERT_TRUE(publisher_->SendObject(published_, stream, object).ok());
      there_.insert({group, at});
    }
    ASSERT_TRUE(publisher_->EndSubgroup(published_, stream).ok());
    levels_.Run();
  }
  static moqt::Parameters Down() {
    moqt::Parameters parameters;
    parameters.group_order = GroupOrder::kDescending;
    return parameters;
  }
  // What the second brings, that asks while nothing has come of the first, both in falling order.
  std::string Joined(const LocationRange& first, const LocationRange& second) {
    Client& client = levels_.Join(edge_);
    Client& other = levels_.Join(edge_);
    levels_.Run();
    link_.stalled = true;
    const RequestId earlier = *client->Fetch(track_, first, Down());
    levels_.Run();
    const RequestId later = *other->Fetch(track_, second, Down());
    levels_.Run();
    link_.stalled = false;
    levels_.Run();
    Brought brought;
    brought.TakeFrom(client.session(), earlier);
    EXPECT_TRUE(brought.fetch_end && brought.fetch_end->complete);
    brought = Brought();
    brought.TakeFrom(other.session(), later);
    EXPECT_TRUE(brought.fetch_end && brought.fetch_end->complete);
    return PlacesOf(brought);
  }
  // Groups and objects that do not exist between those that do, and many who ask in both orders.
  void PlayAtRandom(uint64_t seed);
  // So that the edge knows how far the track goes.
  void FetchLast(Location last) {
    EXPECT_EQ(levels_.Fetch(levels_.Join(edge_), track_, {last, last}).objects.size(), 1u);
  }

 private:
  struct Asked {
    Client* client;
    RequestId request;
    LocationRange range;
    Brought brought;
  };
  void Expect(const Asked& fetch, uint64_t seed) const;

  const TrackName track_ = BlockTrack("p");
  std::set<Location> there_;
  Levels levels_;
  Levels::Node& origin_ = levels_.AddNode();
  Levels::Node& edge_ = levels_.AddNode({{}});
  Levels::Link& link_ = levels_.Connect(edge_, origin_);
  Client& publisher_ = levels_.Join(origin_);
  const RequestId published_ = *publisher_->Publish(track_, {}, {});
};

void JoiningWorld::PlayAtRandom(uint64_t seed) {
  Random random(seed);
  uint64_t group = random.Below(3);
  for (uint64_t missing = group; group < 12; missing = random.Below(3), group += 1 + missing) {
    const uint64_t first = random.Below(3) == 0 ? random.Below(4) : 0;
    Send(group, missing, first, first + random.Below(4), 4'000);
  }
  FetchLast(*there_.rbegin());
  std::vector<Asked> fetches;
  for (int i = 0; i < 16; ++i) {
    const Location first{random.Below(10), random.Below(4)};
    const LocationRange range{first, {first.group + random.Below(5), random.Below(6)}};
    if (range.empty() || *there_.rbegin() < range.first) {
      continue;
    }
    Client& client = levels_.Join(edge_);
    const moqt::Parameters order = random.Below(3) == 0 ? moqt::Parameters() : Down();
    fetches.push_back({&client, *client->Fetch(track_, range, order), range, {}});
    for (uint64_t steps = random.Below(12); steps > 0; --steps) {
      levels_.Step();
    }
  }
  do {
    for (Asked& fetch : fetches) {
      fetch.brought.TakeFrom(fetch.client->session(), fetch.request);
    }
  } while (levels_.Step());
  for (const Asked& fetch : fetches) {
    Expect(fetch, seed);
  }
}

// All of its range, once.
void JoiningWorld::Expect(const Asked& fetch, uint64_t seed) const {
  std::multiset<Location> found;
  for (const Object& object : fetch.brought.objects) {
    found.insert(object.location);
  }
  std::multiset<Location> wanted;
  std::ranges::copy_if(there_, std::inserter(wanted, wanted.end()),
                       [&](Location at) { return fetch.range.Contains(at); });
  const std::string what = "seed " + std::to_string(seed) + ": " + fetch.range.first.ToString() +
                           fetch.range.last.ToString() + " brought " + PlacesOf(fetch.brought);
  EXPECT_EQ(found, wanted) << what;
  EXPECT_TRUE(fetch.brought.fetch_end && fetch.brought.fetch_end->complete) << what;
}

// The first begins in the midst of a group, and all above it is empty: what lies before its first
// object there was not asked for.
TEST(RelayJoinedFetches, BringTheBeginningOfAGroupThatTheOtherLeftOut) {
  JoiningWorld w;
  w.Send(3, 0, 0, 3);
  w.Send(6, 2, 0, 0);
  w.FetchLast({6, 0});
  EXPECT_EQ(w.Joined({{3, 2}, {5, kWhole}}, {{3, 0}, {5, kWhole}}), "3.0 3.1 3.2 3.3");
}

// The first ends in the midst of a group, of which nothing comes.
TEST(RelayJoinedFetches, BringTheRestOfAGroupThatTheOtherLeftOut) {
  JoiningWorld w;
  w.Send(1, 0, 0, 1);
  w.Send(3, 1, 2, 3);
  w.Send(4, 0, 0, 0);
  w.FetchLast({4, 0});
  EXPECT_EQ(w.Joined({{1, 0}, {3, 1}}, {{1, 0}, {3, 3}}), "3.2 3.3 1.0 1.1");
}

// Many at once over groups and objects that do not exist, in both orders: none of those that do is
// left out.
TEST(RelayJoinedFetches, DenyNothingThatExists) {
  for (uint64_t seed = 0; seed < (kSanitized ? 60 : 300) && !testing::Test::HasFailure(); ++seed) {
    JoiningWorld(LittleRoom()).PlayAtRandom(seed);
  }
}

}  // namespace
}  // namespace kvcast::relay
