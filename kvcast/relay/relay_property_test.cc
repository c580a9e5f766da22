// Random peers, in random interleavings, under seeds: whatever happens, bytes are exact, nothing
// that exists is denied, and catalogs list exactly what is whole.
#include <gtest/gtest.h>

#include <set>

#include "kvcast/relay/relay_world_test.h"

namespace kvcast::relay {
namespace {

// What publishers would publish if nothing went wrong: groups of a track, each of so many objects.
struct Truth {
  TrackName track;
  std::map<uint64_t, uint64_t> groups;
  size_t bytes = 0;

  static Truth Of(Random& random, const std::string& name) {
    Truth truth{BlockTrack(name), {}, 1 + random.Below(1500)};
    const uint64_t count = 1 + random.Below(5);
    uint64_t group = random.Below(3);
    for (uint64_t i = 0; i < count; ++i) {
      truth.groups[group] = 1 + random.Below(6);
      group += 1 + random.Below(2);
    }
    return truth;
  }
  bool Has(Location at) const {
    const auto group = groups.find(at.group);
    return group != groups.end() && at.object < group->second;
  }
};

// Sends a truth's groups piece by piece, several at a time.
class Publisher {
 public:
  Publisher(Client& client, const Truth& truth)
      : client_(&client),
        truth_(&truth),
        request_(*client->Publish(truth.track, {}, {})),
        left_(truth.groups.begin(), truth.groups.end()) {}

  bool done() const { return ended_; }
  void Act(Random& random) {
    if (ended_) {
      return;
    }
    if (left_.empty() && open_.empty()) {
      EXPECT_TRUE((*client_)->EndTrack(request_, moqt::DoneCode::kTrackEnded, "").ok());
      ended_ = true;
    } else if (open_.empty() || (!left_.empty() && random.Happens(0.3))) {
      const auto next = left_.begin() + static_cast<std::ptrdiff_t>(random.Below(left_.size()));
      open_.push_back({client_->OpenGroup(request_, next->first), next->first, next->second, 0});
      left_.erase(next);
    } else {
      const size_t which = random.Below(open_.size());
      Open& open = open_[which];
      if (open.sent < open.count) {
        const Object object = ObjectAt(truth_->track, {open.group, open.sent++}, truth_->bytes);
        EXPECT_TRUE((*client_)->SendObject(request_, open.stream, object).ok());
      } else {
        EXPECT_TRUE((*client_)->EndSubgroup(request_, open.stream).ok());
        open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(which));
      }
    }
  }

 private:
  struct Open {
    moqt::StreamId stream;
    uint64_t group;
    uint64_t count;
    uint64_t sent;
  };
  Client* client_;
  const Truth* truth_;
  RequestId request_;
  std::vector<std::pair<uint64_t, uint64_t>> left_;
  std::vector<Open> open_;
  bool ended_ = false;
};

void CheckExact(const Truth& truth, const std::vector<Object>& objects) {
  for (const Object& object : objects) {
    ASSERT_TRUE(truth.Has(object.location)) << object.location.ToString();
    ASSERT_EQ(object.payload.ToString(), PayloadAt(truth.track, object.location, truth.bytes));
    ASSERT_EQ(object.properties.empty(), object.location.object != 0);
  }
}

// A fetch under way, and what it may not deny.
struct FetchCheck {
  const Truth* truth;
  LocationRange range;
  moqt::GroupOrder order;
  RequestId request;
  Brought brought;

  void Check(const moqt::FetchOk& ok) const {
    CheckExact(*truth, brought.objects);
    ASSERT_TRUE(brought.fetch_end && brought.fetch_end->complete);
    std::set<Location> accounted;
    moqt::FetchPrior prior;
    for (const moqt::FetchItem& item : brought.items) {
      const auto* end = std::get_if<moqt::RangeEnd>(&item);
      const Location at = end != nullptr ? end->last : std::get<Object>(item).location;
      ASSERT_TRUE(prior.IsBefore(at, order));
      for (const auto& [group, count] : truth->groups) {
        for (uint64_t object = 0; object < count; ++object) {
          const Location location{group, object};
          const moqt::FetchPrior here{at, {}, {}};
          if (location == at || (end != nullptr && prior.IsBefore(location, order) &&
                                 !here.IsBefore(location, order))) {
            accounted.insert(location);
          }
        }
      }
      prior.location = at;
    }
    for (const auto& [group, count] : truth->groups) {
      for (uint64_t object = 0; object < count; ++object) {
        const Location at{group, object};
        if (range.Contains(at) && at <= ok.last) {
          EXPECT_TRUE(accounted.contains(at)) << at.ToString() << " was denied";
        }
      }
    }
  }
};

void RunWorld(uint64_t seed, bool breaks, size_t ram_bytes, double& evicted) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  const bool little_room = ram_bytes < 10'000'000;
  RelayWorld::Options options;
  options.seed = seed;
  options.connection.cut_max = seed % 3 == 0 ? 300 : 20'000;
  options.session.send_queue_high_bytes = 20'000;
  options.session.send_queue_low_bytes = 5'000;
  options.relay.ram_bytes = ram_bytes;
  options.relay.limits.epoch_bytes_min = seed % 2 == 0 ? 1'000 : 100'000;
  RelayWorld world(options);
  Random& random = world.random();

  std::vector<Truth> truths;
  for (int i = 0; i < 3; ++i) {
    truths.push_back(Truth::Of(random, std::to_string(i)));
  }
  // Each truth is published once or twice, by different peers: the second adds nothing new.
  std::vector<std::pair<Client*, Publisher>> publishers;
  for (const Truth& truth : truths) {
    for (uint64_t i = 0; i < 1 + random.Below(2); ++i) {
      Client& client = world.Join();
      publishers.emplace_back(&client, Publisher(client, truth));
    }
  }
  Client& reader = world.Join();
  CatalogFollower follower(reader);
  std::map<RequestId, FetchCheck> fetches;
  std::map<RequestId, std::pair<const Truth*, Brought>> subscriptions;
  const auto take = [&] {
    follower.Follow();
    for (auto& [request, fetch] : fetches) {
      fetch.brought.TakeFrom(reader.session(), request);
    }
    for (auto& [request, subscription] : subscriptions) {
      subscription.second.TakeFrom(reader.session(), request);
    }
  };
  for (int round = 0; round < 400; ++round) {
    if (!publishers.empty()) {
      const size_t which = random.Below(publishers.size());
      auto& [client, publisher] = publishers[which];
      publisher.Act(random);
      if (breaks && random.Happens(0.01)) {
        client->connection().Break();
        publishers.erase(publishers.begin() + static_cast<std::ptrdiff_t>(which));
      }
    }
    if (random.Happens(0.05)) {
      const Truth& truth = truths[random.Below(truths.size())];
      const LocationRange range{{random.Below(4), random.Below(3)}, {4 + random.Below(8), 2}};
      moqt::Parameters parameters;
      parameters.group_order =
          random.Happens(0.5) ? moqt::GroupOrder::kAscending : moqt::GroupOrder::kDescending;
      const RequestId request = *reader->Fetch(truth.track, range, parameters);
      fetches.emplace(request, FetchCheck{&truth, range, *parameters.group_order, request, {}});
    }
    if (random.Happens(0.03)) {
      const Truth& truth = truths[random.Below(truths.size())];
      const Result<RequestId> request = reader->Subscribe(truth.track, {});
      if (request.ok()) {
        subscriptions.emplace(*request, std::pair(&truth, Brought()));
      }
    }
    for (uint64_t i = random.Below(10); i > 0; --i) {
      (void)world.Step();
    }
    take();
  }
  while (std::ranges::any_of(publishers, [](const auto& p) { return !p.second.done(); })) {
    for (auto& [client, publisher] : publishers) {
      publisher.Act(random);
      (void)world.Step();
    }
    take();
  }
  do {
    take();
  } while (world.Step());
  take();

  ASSERT_FALSE(reader.connection().closed());
  for (const auto& accepted : reader.Take<moqt::FetchAccepted>()) {
    const auto fetch = fetches.find(accepted.request);
    if (fetch != fetches.end()) {
      fetch->second.Check(accepted.answer);
    }
  }
  for (const auto& [request, subscription] : subscriptions) {
    CheckExact(*subscription.first, subscription.second.objects);
    std::set<Location> seen;
    for (const Object& object : subscription.second.objects) {
      // Once evicted, an object that is published again is new.
      EXPECT_TRUE(seen.insert(object.location).second || little_room) << "sent twice";
    }
  }
  // What is listed can be fetched, whole; with room for all and no breaks, all is listed.
  for (const Truth& truth : truths) {
    const std::map<uint64_t, Digest> listed = follower.Listed(truth.track);
    for (const auto& [group, key] : listed) {
      ASSERT_TRUE(truth.groups.contains(group));
      EXPECT_EQ(key, KeyOf(truth.track, group));
      const Brought brought = world.Fetch(reader, truth.track, LocationRange::Groups(group, group));
      EXPECT_EQ(brought.objects.size(), truth.groups.at(group));
      CheckExact(truth, brought.objects);
      follower.Follow();
    }
    if (!breaks && !little_room) {
      EXPECT_EQ(listed.size(), truth.groups.size());
    }
  }
  EXPECT_LE(world.relay().stored_bytes(), ram_bytes);
  evicted += world.metrics().Value("kvcast_relay_evicted_groups_total");
}

TEST(RelayProperty, BytesAreExactAndEverythingIsListed) {
  double evicted = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    RunWorld(seed, false, 100'000'000, evicted);
  }
  EXPECT_EQ(evicted, 0);
}

TEST(RelayProperty, BytesAreExactWhenPublishersVanish) {
  double evicted = 0;
  for (uint64_t seed = 100; seed < 120; ++seed) {
    RunWorld(seed, true, 100'000'000, evicted);
  }
}

TEST(RelayProperty, BytesAreExactWhenThereIsLittleRoom) {
  double evicted = 0;
  for (uint64_t seed = 200; seed < 220; ++seed) {
    RunWorld(seed, seed % 2 == 0, 20'000, evicted);
  }
  EXPECT_GT(evicted, 50);
}

}  // namespace
}  // namespace kvcast::relay
