// What one who is asked does not know, the next is asked for: "unknown" is said when nobody knows.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kvcast/relay/relay_levels_test.h"

namespace kvcast::relay {
namespace {

using moqt::GroupOrder;

const char* const kFetches = "kvcast_upstream_fetches_total";
const char* const kObjectsCounter = "kvcast_upstream_objects_total";
const char* const kServed = "kvcast_relay_fetches_total";

// How many objects of each group a node has; it does not know whether there are more, nor of other
// groups.
using Share = std::map<uint64_t, uint64_t>;

class RelayNextSource : public testing::Test {
 protected:
  // The last group of a share is told to its end.
  void Give(Levels::Node& node, const Share& share, size_t bytes = 100) {
    Client& publisher = levels_->Join(node);
    const RequestId request = *publisher->Publish(track_, {}, {});
    for (const auto& [group, objects] : share) {
      const moqt::StreamId stream = publisher.OpenGroup(request, group);
      for (uint64_t i = 0; i < objects; ++i) {
        ASSERT_TRUE(
            publisher->SendObject(request, stream, ObjectAt(track_, {group, i}, bytes)).ok());
      }
      if (group == share.rbegin()->first) {
        ASSERT_TRUE(publisher->EndSubgroup(request, stream).ok());
      }
    }
    levels_->Run();
    levels_->Leave(publisher);
  }

  std::unique_ptr<Levels> levels_ = std::make_unique<Levels>();
  const TrackName track_ = BlockTrack("p");
};

// An edge with two upstreams, each of which has a share.
class RelayTwoSources : public RelayNextSource {
 protected:
  void Give(const Share& first, const Share& second) {
    RelayNextSource::Give(first_, first);
    RelayNextSource::Give(second_, second);
  }

  Levels::Node& first_ = levels_->AddNode();
  Levels::Node& second_ = levels_->AddNode();
  Levels::Node& edge_ = levels_->AddNode({{}, {}});
  Levels::Link& to_first_ = levels_->Connect(edge_, first_, 0);
  Levels::Link& to_second_ = levels_->Connect(edge_, second_, 1);
};

TEST_F(RelayTwoSources, TheSecondGivesWhatTheFirstDoesNotKnow) {
  Give({{0, 2}, {3, 2}}, {{0, 2}, {1, 2}, {2, 2}, {3, 2}});
  Client& client = levels_->Join(edge_);
  EXPECT_EQ(PlacesOf(levels_->Fetch(client, track_, {{0, 0}, {3, 1}})),
            "0.0 0.1 ?0.* 1.0 1.1 ?1.* 2.0 2.1 ?2.* 3.0 3.1");
  // The end of a group nobody knows. What was brought once is not asked for again.
  EXPECT_EQ(edge_.Count(kObjectsCounter), 8u);
}

TEST_F(RelayTwoSources, InDescendingOrderToo) {
  Give({{0, 2}, {3, 2}}, {{0, 2}, {1, 2}, {2, 2}, {3, 2}});
  Client& client = levels_->Join(edge_);
  EXPECT_EQ(PlacesOf(levels_->Fetch(client, track_, {{0, 0}, {3, 1}}, GroupOrder::kDescending)),
            "3.0 3.1 2.0 2.1 ?2.* 1.0 1.1 ?1.* 0.0 0.1 ?0.*");
  EXPECT_EQ(edge_.Count(kObjectsCounter), 8u);
}

// The first does not know that the track goes on, and is not believed that it does not.
TEST_F(RelayTwoSources, TheSecondGivesWhatLiesBeyondTheFirst) {
  Give({{0, 2}, {1, 2}}, {{0, 2}, {1, 2}, {2, 2}, {3, 2}});
  Client& client = levels_->Join(edge_);
  EXPECT_EQ(PlacesOf(levels_->Fetch(client, track_, {{3, 0}, {3, 1}})), "3.0 3.1");
  EXPECT_EQ(PlacesOf(levels_->Fetch(client, track_, {{1, 0}, {3, 1}}, GroupOrder::kDescending)),
            "3.0 3.1 2.0 2.1 ?2.* 1.0 1.1 ?1.*");
  Client& other = levels_->Join(edge_);
  EXPECT_EQ(PlacesOf(levels_->Fetch(other, track_, {{0, 0}, {3, 1}})),
            "0.0 0.1 ?0.* 1.0 1.1 ?1.* 2.0 2.1 ?2.* 3.0 3.1");
}

// The rest of a group, in the midst of what the first knows.
TEST_F(RelayTwoSources, EachAddsWhatTheOtherLacks) {
  Give({{0, 1}, {1, 3}, {2, 1}, {3, 2}}, {{0, 3}, {1, 1}, {2, 2}, {3, 2}});
  Client& client = levels_->Join(edge_);
  EXPECT_EQ(PlacesOf(levels_->Fetch(client, track_, {{0, 0}, {3, 1}})),
            "0.0 0.1 0.2 ?0.* 1.0 1.1 1.2 ?1.* 2.0 2.1 ?2.* 3.0 3.1");
  Client& other = levels_->Join(edge_);
  EXPECT_EQ(PlacesOf(levels_->Fetch(other, track_, {{0, 0}, {3, 1}}, GroupOrder::kDescending)),
            "3.0 3.1 2.0 2.1 ?2.* 1.0 1.1 1.2 ?1.* 0.0 0.1 0.2 ?0.*");
  EXPECT_EQ(edge_.Count(kObjectsCounter), 10u);
}

TEST_F(RelayTwoSources, WhatNobodyKnowsIsUnknownAndEachWasAskedForItOnce) {
  Give({{0, 2}, {3, 2}}, {{0, 2}, {3, 2}});
  Client& client = levels_->Join(edge_);
  EXPECT_EQ(PlacesOf(levels_->Fetch(client, track_, {{0, 0}, {3, 1}})), "0.0 0.1 ?2.* 3.0 3.1");
  EXPECT_EQ(edge_.Count(kFetches), 2u);
  EXPECT_EQ(first_.Count(kServed), 1u);
  EXPECT_EQ(second_.Count(kServed), 1u);
  const Miss& miss = edge_.relay.misses().misses().front();
  ASSERT_EQ(miss.upstreams.size(), 2u);
  EXPECT_EQ(miss.upstreams[0].outcome, UpstreamTrial::Outcome::kUnknown);
  EXPECT_EQ(miss.upstreams[1].outcome, UpstreamTrial::Outcome::kUnknown);
}

TEST_F(RelayTwoSources, ASecondThatRefusesChangesNothing) {
  RelayNextSource::Give(first_, {{0, 2}, {3, 2}});
  Client& client = levels_->Join(edge_);
  EXPECT_EQ(PlacesOf(levels_->Fetch(client, track_, {{0, 0}, {3, 1}})), "0.0 0.1 ?2.* 3.0 3.1");
}

// However many stand there: each object comes once.
TEST_F(RelayTwoSources, TheSecondIsAskedOnceForMany) {
  Give({{0, 2}, {3, 2}}, {{0, 2}, {1, 2}, {2, 2}, {3, 2}});
  std::vector<Client*> clients;
  std::vector<RequestId> requests;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(&levels_->Join(edge_));
  }
  levels_->Run();
  to_first_.stalled = to_second_.stalled = true;
  for (size_t i = 0; i < clients.size(); ++i) {
    moqt::Parameters parameters;
    parameters.group_order = i % 2 == 0 ? GroupOrder::kAscending : GroupOrder::kDescending;
    requests.push_back(*(*clients[i])->Fetch(track_, {{i % 3, 0}, {3, 1}}, parameters));
  }
  levels_->Run();
  to_first_.stalled = to_second_.stalled = false;
  levels_->Run();
  for (size_t i = 0; i < clients.size(); ++i) {
    Brought brought;
    brought.TakeFrom(clients[i]->session(), requests[i]);
    EXPECT_EQ(brought.objects.size(), 8 - i % 3 * 2) << i << ": " << PlacesOf(brought);
    EXPECT_TRUE(brought.fetch_end && brought.fetch_end->complete);
  }
  EXPECT_EQ(edge_.Count(kObjectsCounter), 8u);
}

// A second that does not answer is waited for once, however many holes the first leaves.
TEST_F(RelayTwoSources, ASilentSecondCostsItsPatienceOnce) {
  Give({{0, 2}, {2, 2}, {4, 2}, {6, 2}, {8, 2}}, {{0, 2}, {8, 2}});
  Client& client = levels_->Join(edge_);
  levels_->Run();
  to_second_.stalled = true;
  const RequestId request = *client->Fetch(track_, {{0, 0}, {8, 1}}, {});
  levels_->Run();
  Brought brought;
  brought.TakeFrom(client.session(), request);
  EXPECT_EQ(PlacesOf(brought), "0.0 0.1");
  levels_->Wait(std::chrono::seconds(5));
  brought.TakeFrom(client.session(), request);
  EXPECT_EQ(PlacesOf(brought), "0.0 0.1 ?1.* 2.0 2.1 ?3.* 4.0 4.1 ?5.* 6.0 6.1 ?7.* 8.0 8.1");
  EXPECT_TRUE(brought.fetch_end && brought.fetch_end->complete);
}

// Nor longer than its own patience, over all who are asked.
TEST_F(RelayTwoSources, PatienceIsForAllTogether) {
  Give({{0, 2}, {3, 2}}, {{0, 2}, {1, 2}, {2, 2}, {3, 2}});
  Client& client = levels_->Join(edge_);
  levels_->Run();
  to_second_.stalled = true;
  moqt::Parameters parameters;
  parameters.fill_timeout_ms = 1000;
  const RequestId request = *client->Fetch(track_, {{0, 0}, {3, 1}}, parameters);
  levels_->Run();
  levels_->Wait(std::chrono::milliseconds(1100));
  Brought brought;
  brought.TakeFrom(client.session(), request);
  EXPECT_TRUE(brought.fetch_end && brought.fetch_end->complete);
  EXPECT_EQ(brought.objects.front().location, (Location{0, 0}));
}

TEST_F(RelayTwoSources, ASecondThatLeavesIsAsOneThatDoesNotKnow) {
  Give({{0, 2}, {3, 2}}, {{0, 2}, {1, 2}, {2, 2}, {3, 2}});
  Client& client = levels_->Join(edge_);
  levels_->Run();
  to_second_.stalled = true;
  const RequestId request = *client->Fetch(track_, {{0, 0}, {3, 1}}, {});
  levels_->Run();
  levels_->Disconnect(to_second_);
  Brought brought;
  brought.TakeFrom(client.session(), request);
  EXPECT_EQ(PlacesOf(brought), "0.0 0.1 ?2.* 3.0 3.1");
}

TEST_F(RelayTwoSources, WhoGivesUpLeavesNothingUnderWay) {
  Give({{0, 2}, {3, 2}}, {{0, 2}, {1, 2}, {2, 2}, {3, 2}});
  Client& client = levels_->Join(edge_);
  levels_->Run();
  to_second_.stalled = true;
  const RequestId request = *client->Fetch(track_, {{0, 0}, {3, 1}}, {});
  levels_->Run();
  client->Cancel(request, moqt::ResetCode::kCancelled);
  levels_->Run();
  to_second_.stalled = false;
  levels_->Run();
  EXPECT_EQ(edge_.Count(kObjectsCounter), 4u);  // Of the first.
}

// A node that was asked for part of a track below it asks those upstream for the rest, and the
// other way round.
TEST_F(RelayNextSource, NodesBelowAndAboveAddToEachOther) {
  Levels::Node& origin = levels_->AddNode();
  Levels::Node& middle = levels_->AddNode({{}});
  Levels::Node& left = levels_->AddNode({{}});
  levels_->Connect(middle, origin);
  levels_->Connect(left, middle);
  Give(left, {{0, 2}, {1, 2}, {3, 2}});
  Give(origin, {{0, 2}, {2, 2}, {3, 2}});
  Client& client = levels_->Join(middle);
  EXPECT_EQ(PlacesOf(levels_->Fetch(client, track_, {{0, 0}, {3, 1}})),
            "0.0 0.1 ?0.* 1.0 1.1 ?1.* 2.0 2.1 ?2.* 3.0 3.1");
  Client& far = levels_->Join(origin);
  EXPECT_EQ(levels_->Fetch(far, track_, {{0, 0}, {3, 1}}).objects.size(), 8u);
}

// A fetch that somebody makes, and what it is to bring.
struct RandomFetch {
  Client* client;
  RequestId request;
  LocationRange range;
  GroupOrder order;
  Brought brought;
};

// Everything that anybody has of its range came, once, as it was published.
void ExpectAll(const RandomFetch& fetch, const std::map<uint64_t, uint64_t>& all, uint64_t seed) {
  const TrackName track = BlockTrack("p");
  const std::string what = "seed " + std::to_string(seed) + ": " + fetch.range.first.ToString() +
                           fetch.range.last.ToString() +
                           (fetch.order == GroupOrder::kAscending ? " up" : " down") + " brought " +
                           std::to_string(fetch.brought.items.size()) + " items";
  EXPECT_TRUE(fetch.brought.fetch_end && fetch.brought.fetch_end->complete) << what;
  std::set<Location> found;
  for (const Object& object : fetch.brought.objects) {
    EXPECT_EQ(object.payload.ToString(), PayloadAt(track, object.location, 8'000)) << what;
    EXPECT_TRUE(found.insert(object.location).second) << what;
  }
  for (const auto& [group, objects] : all) {
    for (uint64_t object = 0; object < objects; ++object) {
      if (fetch.range.Contains({group, object})) {
        EXPECT_TRUE(found.contains({group, object})) << what << " lacks " << group << "." << object;
      }
    }
  }
}

// Three sources with shares of their own, one of which may fail: each fetch brings what any of them
// has, in its order, once, and denies nothing.
TEST_F(RelayNextSource, EveryFetchBringsWhatAnybodyHas) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    RelayWorld::Options options = LittleRoom();
    options.relay.limits.upstream_ahead_bytes = 10'000;
    levels_ = std::make_unique<Levels>(options);
    std::vector<Levels::Node*> sources;
    for (int i = 0; i < 3; ++i) {
      sources.push_back(&levels_->AddNode());
    }
    Levels::Node& edge = levels_->AddNode({{}, {}, {}}, seed % 3 == 0 ? 150'000 : 10'000'000);
    Levels::Link* failing = nullptr;
    std::map<uint64_t, uint64_t> all;
    for (size_t i = 0; i < sources.size(); ++i) {
      Levels::Link& link = levels_->Connect(edge, *sources[i], i);
      Share share;
      for (uint64_t group = 0; group < 8; ++group) {
        if (random.Below(2) == 0 || group == 7) {
          share[group] = group == 7 ? 3 : 1 + random.Below(5);
        }
      }
      const bool fails = seed % 2 == 1 && i == seed / 2 % 3;
      failing = fails ? &link : failing;
      for (const auto& [group, objects] : share) {
        all[group] = fails ? all[group] : std::max(all[group], objects);
      }
      Give(*sources[i], share, 8'000);
    }
    std::vector<Client*> clients = {&levels_->Join(edge), &levels_->Join(edge),
                                    &levels_->Join(edge)};
    std::vector<RandomFetch> fetches;
    for (int i = 0; i < 10; ++i) {
      const Location first{random.Below(8), random.Below(3)};
      const Location last{std::min<uint64_t>(7, first.group + random.Below(5)), random.Below(3)};
      const LocationRange range{std::min(first, last), std::max(first, last)};
      moqt::Parameters parameters;
      parameters.group_order =
          random.Below(2) == 0 ? GroupOrder::kAscending : GroupOrder::kDescending;
      Client* const client = clients[random.Below(clients.size())];
      fetches.push_back({client,
                         *(*client)->Fetch(track_, range, parameters),
                         range,
                         *parameters.group_order,
                         {}});
      for (uint64_t steps = random.Below(40); steps > 0; --steps) {
        levels_->Step();
        RandomFetch& lucky = fetches[random.Below(fetches.size())];
        lucky.brought.TakeFrom(lucky.client->session(), lucky.request);
      }
      if (failing != nullptr && random.Below(8) == 0) {
        levels_->Disconnect(*std::exchange(failing, nullptr));
      }
    }
    do {
      for (RandomFetch& fetch : fetches) {
        fetch.brought.TakeFrom(fetch.client->session(), fetch.request);
      }
    } while (levels_->Step());
    for (RandomFetch& fetch : fetches) {
      fetch.brought.TakeFrom(fetch.client->session(), fetch.request);
      ExpectAll(fetch, all, seed);
    }
    if (HasFailure()) {
      return;
    }
    levels_.reset();
  }
}

}  // namespace
}  // namespace kvcast::relay
