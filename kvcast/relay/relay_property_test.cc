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

// Publishers and a reader, at random.
class RandomWorld {
 public:
  RandomWorld(uint64_t seed, bool breaks, size_t ram_bytes)
      : breaks_(breaks),
        little_room_(ram_bytes < 10'000'000),
        ram_bytes_(ram_bytes),
        world_(OptionsOf(seed, ram_bytes)),
        random_(world_.random()) {
    for (int i = 0; i < 3; ++i) {
      truths_.push_back(Truth::Of(random_, std::to_string(i)));
    }
    // Each truth is published once or twice, by different peers: the second adds nothing new.
    for (const Truth& truth : truths_) {
      for (uint64_t i = 0; i < 1 + random_.Below(2); ++i) {
        Client& client = world_.Join();
        publishers_.emplace_back(&client, Publisher(client, truth));
      }
    }
    reader_ = &world_.Join();
    follower_.emplace(*reader_);
  }

  void Run() {
    for (int round = 0; round < 400; ++round) {
      Publish();
      if (random_.Happens(0.05)) {
        Fetch();
      }
      if (random_.Happens(0.03)) {
        Subscribe();
      }
      for (uint64_t i = random_.Below(10); i > 0; --i) {
        (void)world_.Step();
      }
      Take();
    }
    while (std::ranges::any_of(publishers_, [](const auto& p) { return !p.second.done(); })) {
      for (auto& [client, publisher] : publishers_) {
        publisher.Act(random_);
        (void)world_.Step();
      }
      Take();
    }
    do {
      Take();
    } while (world_.Step());
    Take();
  }

  void Check() {
    ASSERT_FALSE(reader_->connection().closed());
    for (const auto& accepted : reader_->Take<moqt::FetchAccepted>()) {
      const auto fetch = fetches_.find(accepted.request);
      if (fetch != fetches_.end()) {
        fetch->second.Check(accepted.answer);
      }
    }
    for (const auto& [request, subscription] : subscriptions_) {
      CheckExact(*subscription.first, subscription.second.objects);
      std::set<Location> seen;
      for (const Object& object : subscription.second.objects) {
        // Once evicted, an object that is published again is new.
        EXPECT_TRUE(seen.insert(object.location).second || little_room_) << "sent twice";
      }
    }
    for (const Truth& truth : truths_) {
      CheckListed(truth);
    }
    EXPECT_LE(world_.relay().stored_bytes(), ram_bytes_);
  }
  double evicted() { return world_.metrics().Value("kvcast_relay_evicted_groups_total"); }

 private:
  static RelayWorld::Options OptionsOf(uint64_t seed, size_t ram_bytes) {
    RelayWorld::Options options;
    options.seed = seed;
    options.connection.cut_max = seed % 3 == 0 ? 300 : 20'000;
    options.session.send_queue_high_bytes = 20'000;
    options.session.send_queue_low_bytes = 5'000;
    options.relay.ram_bytes = ram_bytes;
    options.relay.limits.epoch_bytes_min = seed % 2 == 0 ? 1'000 : 100'000;
    return options;
  }

  void Publish() {
    if (publishers_.empty()) {
      return;
    }
    const size_t which = random_.Below(publishers_.size());
    auto& [client, publisher] = publishers_[which];
    publisher.Act(random_);
    if (breaks_ && random_.Happens(0.01)) {
      client->connection().Break();
      publishers_.erase(publishers_.begin() + static_cast<std::ptrdiff_t>(which));
    }
  }
  void Fetch() {
    const Truth& truth = truths_[random_.Below(truths_.size())];
    const LocationRange range{{random_.Below(4), random_.Below(3)}, {4 + random_.Below(8), 2}};
    moqt::Parameters parameters;
    parameters.group_order =
        random_.Happens(0.5) ? moqt::GroupOrder::kAscending : moqt::GroupOrder::kDescending;
    const RequestId request = *(*reader_)->Fetch(truth.track, range, parameters);
    fetches_.emplace(request, FetchCheck{&truth, range, *parameters.group_order, request, {}});
  }
  void Subscribe() {
    const Truth& truth = truths_[random_.Below(truths_.size())];
    const Result<RequestId> request = (*reader_)->Subscribe(truth.track, {});
    if (request.ok()) {
      subscriptions_.emplace(*request, std::pair(&truth, Brought()));
    }
  }
  void Take() {
    follower_->Follow();
    for (auto& [request, fetch] : fetches_) {
      fetch.brought.TakeFrom(reader_->session(), request);
    }
    for (auto& [request, subscription] : subscriptions_) {
      subscription.second.TakeFrom(reader_->session(), request);
    }
  }
  // What is listed can be fetched, whole; with room for all and no breaks, all is listed.
  void CheckListed(const Truth& truth) {
    const std::map<uint64_t, Digest> listed = follower_->Listed(truth.track);
    for (const auto& [group, key] : listed) {
      ASSERT_TRUE(truth.groups.contains(group));
      EXPECT_EQ(key, KeyOf(truth.track, group));
      const Brought brought =
          world_.Fetch(*reader_, truth.track, LocationRange::Groups(group, group));
      EXPECT_EQ(brought.objects.size(), truth.groups.at(group));
      CheckExact(truth, brought.objects);
      follower_->Follow();
    }
    if (!breaks_ && !little_room_) {
      EXPECT_EQ(listed.size(), truth.groups.size());
    }
  }

  bool breaks_;
  bool little_room_;
  size_t ram_bytes_;
  RelayWorld world_;
  Random& random_;
  std::vector<Truth> truths_;
  std::vector<std::pair<Client*, Publisher>> publishers_;
  Client* reader_ = nullptr;
  std::optional<CatalogFollower> follower_;
  std::map<RequestId, FetchCheck> fetches_;
  std::map<RequestId, std::pair<const Truth*, Brought>> subscriptions_;
};

// How many groups were evicted.
double RunWorld(uint64_t seed, bool breaks, size_t ram_bytes) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomWorld world(seed, breaks, ram_bytes);
  world.Run();
  world.Check();
  return world.evicted();
}

TEST(RelayProperty, BytesAreExactAndEverythingIsListed) {
  double evicted = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    evicted += RunWorld(seed, false, 100'000'000);
  }
  EXPECT_EQ(evicted, 0);
}

TEST(RelayProperty, BytesAreExactWhenPublishersVanish) {
  for (uint64_t seed = 100; seed < 120; ++seed) {
    EXPECT_EQ(RunWorld(seed, true, 100'000'000), 0);
  }
}

TEST(RelayProperty, BytesAreExactWhenThereIsLittleRoom) {
  double evicted = 0;
  for (uint64_t seed = 200; seed < 220; ++seed) {
    evicted += RunWorld(seed, seed % 2 == 0, 70'000);
  }
  EXPECT_GT(evicted, 5);
}

}  // namespace
}  // namespace kvcast::relay
