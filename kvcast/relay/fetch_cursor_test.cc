#include "kvcast/relay/fetch_cursor.h"

#include <gtest/gtest.h>

#include <set>

#include "kvcast/base/random.h"

namespace kvcast::relay {
namespace {

using moqt::FetchItem;
using moqt::GroupOrder;
using moqt::RangeEnd;

constexpr uint64_t kEnd = LocationRange::kWholeGroup;

TrackName Name() { return *TrackName::Of(*TrackNamespace::Of({"a"}), "t"); }

Object CursorObject(Location at) {
  Object object;
  object.location = at;
  return object;
}

// A store of RAM alone.
struct RamStore : Store {
  explicit RamStore(const std::vector<Location>& objects = {},
                    const std::vector<std::pair<uint64_t, uint64_t>>& ends = {})
      : Store({.ram_bytes = 1 << 20}) {
    for (const Location& at : objects) {
      Add(at);
    }
    for (const auto& [group, end] : ends) {
      End(group, end);
    }
  }
  void Add(Location at) {
    EXPECT_TRUE(Put(Name(), CursorObject(at), Durability::kMemory, Instant()).ok());
  }
  void End(uint64_t group, uint64_t end) {
    EXPECT_TRUE(EndGroup(Name(), group, end, Durability::kMemory, Instant()).ok());
  }
};

// "0.1" for an object, "?2.3" for the end of an unknown range, "?2.*" at the end of a group.
std::string Walk(Store& store, const LocationRange& range,
                 GroupOrder order = GroupOrder::kAscending) {
  FetchCursor cursor(Name(), range, order);
  std::string walk;
  while (const std::optional<FetchItem> item = cursor.Next(store, Instant())) {
    const RangeEnd* end = std::get_if<RangeEnd>(&*item);
    const Location at = end != nullptr ? end->last : std::get<Object>(*item).location;
    walk += (walk.empty() ? "" : " ") + std::string(end != nullptr ? "?" : "") +
            std::to_string(at.group) + "." + (at.object == kEnd ? "*" : std::to_string(at.object));
  }
  EXPECT_FALSE(cursor.Next(store, Instant()).has_value());
  return walk;
}

TEST(FetchCursor, SaysNothingOfWholeGroups) {
  RamStore store({{0, 0}, {0, 1}, {1, 0}}, {{0, 2}, {1, 1}});
  EXPECT_EQ(Walk(store, LocationRange::Groups(0, 1)), "0.0 0.1 1.0");
  EXPECT_EQ(Walk(store, LocationRange::Groups(0, 1), GroupOrder::kDescending), "1.0 0.0 0.1");
}

TEST(FetchCursor, TellsWhatMayExist) {
  RamStore store({{1, 1}, {1, 4}, {3, 0}}, {{3, 1}});
  // Group 0 and object 0 of group 1 are not here, nor are those between, nor group 2.
  EXPECT_EQ(Walk(store, LocationRange::Groups(0, 3)), "?1.0 1.1 ?1.3 1.4 ?2.* 3.0");
  EXPECT_EQ(Walk(store, LocationRange::Groups(0, 3), GroupOrder::kDescending),
            "3.0 ?1.0 1.1 ?1.3 1.4 ?0.*");
}

TEST(FetchCursor, EndsWithWhatIsUnknown) {
  RamStore store({{0, 0}, {0, 1}}, {});
  EXPECT_EQ(Walk(store, LocationRange::Groups(0, 0)), "0.0 0.1 ?0.*");
  EXPECT_EQ(Walk(store, {{0, 0}, {0, 1}}), "0.0 0.1");
  EXPECT_EQ(Walk(store, {{0, 0}, {0, 3}}), "0.0 0.1 ?0.3");
  EXPECT_EQ(Walk(store, LocationRange::Groups(0, 1)), "0.0 0.1 ?1.*");
  EXPECT_EQ(Walk(store, LocationRange::Groups(5, 9)), "?9.*");
  EXPECT_EQ(Walk(store, LocationRange::Groups(5, 9), GroupOrder::kDescending), "?5.*");
  EXPECT_EQ(Walk(store, {{0, 2}, {0, 7}}), "?0.7");
}

TEST(FetchCursor, KeepsToItsRange) {
  RamStore store({{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {2, 0}}, {{0, 3}, {1, 2}});
  EXPECT_EQ(Walk(store, {{0, 1}, {1, 0}}), "0.1 0.2 1.0");
  EXPECT_EQ(Walk(store, {{0, 1}, {1, 0}}, GroupOrder::kDescending), "1.0 0.1 0.2");
  EXPECT_EQ(Walk(store, {{0, 2}, {0, 2}}), "0.2");
}

// What is here last is given however large its number, and the walk ends.
TEST(FetchCursor, GoesToTheLastLocationThereIs) {
  RamStore store({{kEnd, 0}, {kEnd, kEnd}});
  const std::string group = std::to_string(kEnd);
  EXPECT_EQ(Walk(store, {{kEnd, 0}, {kEnd, kEnd}}),
            group + ".0 ?" + group + "." + std::to_string(kEnd - 1) + " " + group + ".*");
}

// Groups may be evicted while a slow reader takes its time.
TEST(FetchCursor, TurnsWhatIsEvictedMeanwhileIntoUnknown) {
  RamStore store;
  for (uint64_t group = 0; group < 3; ++group) {
    for (uint64_t object = 0; object < 40; ++object) {
      store.Add({group, object});
    }
    store.End(group, 40);
  }
  FetchCursor cursor(Name(), LocationRange::Groups(0, 2), GroupOrder::kAscending);
  ASSERT_TRUE(std::holds_alternative<Object>(*cursor.Next(store, Instant())));
  store.Remove(Name(), 0, Instant());
  store.Remove(Name(), 1, Instant());
  uint64_t next = 1;  // What had been looked up may still come.
  std::optional<FetchItem> item = cursor.Next(store, Instant());
  for (; std::holds_alternative<Object>(*item); item = cursor.Next(store, Instant())) {
    EXPECT_EQ(std::get<Object>(*item).location, (Location{0, next++}));
  }
  EXPECT_EQ(std::get<RangeEnd>(*item), (RangeEnd{{1, kEnd}, true}));
  EXPECT_EQ(std::get<Object>(*cursor.Next(store, Instant())).location, (Location{2, 0}));
}

// Whatever is here, whatever is asked for: objects come once, in order, and every location that is
// left out is said to be unknown, unless its group is whole.
TEST(FetchCursor, AccountsForEveryLocation) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    RamStore store;
    std::set<Location> here;
    std::set<uint64_t> whole;
    for (uint64_t group = 0; group < 6; ++group) {
      const bool all = random.Happens(0.4);
      for (uint64_t object = 0; object < 4; ++object) {
        if (all || random.Happens(0.4)) {
          here.insert({group, object});
          store.Add({group, object});
        }
      }
      if (all) {
        whole.insert(group);
        store.End(group, 4);
      }
    }
    const GroupOrder order = random.Happens(0.5) ? GroupOrder::kAscending : GroupOrder::kDescending;
    LocationRange range{{random.Below(6), random.Below(5)}, {random.Below(7), random.Below(6)}};
    if (range.empty()) {
      std::swap(range.first, range.last);
    }
    FetchCursor cursor(Name(), range, order);
    std::set<Location> unknown;
    std::set<Location> given;
    moqt::FetchPrior prior;
    while (const std::optional<FetchItem> item = cursor.Next(store, Instant())) {
      const RangeEnd* end = std::get_if<RangeEnd>(&*item);
      const Location at = end != nullptr ? end->last : std::get<Object>(*item).location;
      ASSERT_TRUE(prior.IsBefore(at, order)) << "seed " << seed;
      ASSERT_TRUE(range.Contains(at)) << "seed " << seed;
      for (uint64_t group = 0; group < 7; ++group) {
        for (uint64_t object = 0; object < 6; ++object) {
          const Location location{group, object};
          const moqt::FetchPrior to{at, {}, {}};
          if (end != nullptr && range.Contains(location) && prior.IsBefore(location, order) &&
              (location == at || !to.IsBefore(location, order))) {
            unknown.insert(location);
          }
        }
      }
      if (end == nullptr) {
        given.insert(at);
      }
      prior.location = at;
    }
    for (uint64_t group = 0; group < 7; ++group) {
      for (uint64_t object = 0; object < 6; ++object) {
        const Location at{group, object};
        const bool wanted = range.Contains(at);
        EXPECT_EQ(given.contains(at), wanted && here.contains(at)) << "seed " << seed;
        if (wanted && !here.contains(at) && !whole.contains(group)) {
          EXPECT_TRUE(unknown.contains(at)) << "seed " << seed << " " << at.ToString();
        }
        EXPECT_FALSE(unknown.contains(at) && here.contains(at)) << "seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace kvcast::relay
