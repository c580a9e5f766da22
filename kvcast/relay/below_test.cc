#include "kvcast/relay/below.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "kvcast/base/random.h"

namespace kvcast::relay {
namespace {

// Short fields of few letters: many are prefixes of others as strings, but not as namespaces.
TrackNamespace SomeSpace(Random& random, size_t fields_max) {
  std::vector<std::string> fields(random.Below(fields_max + 1));
  for (std::string& field : fields) {
    field.assign(1 + random.Below(130) / 64 * 64 + random.Below(2), 'a');
    field.back() = static_cast<char>('a' + random.Below(3));
  }
  const std::vector<std::string_view> views(fields.begin(), fields.end());
  return *TrackNamespace::Of(views);
}

TEST(VisitBelow, FindsWhatALookAtEveryNameFinds) {
  Random random(7);
  std::map<TrackName, int> tracks;
  std::map<TrackNamespace, int> spaces;
  for (int i = 0; i < 2000; ++i) {
    const TrackNamespace space = SomeSpace(random, 5);
    spaces[space] = i;
    tracks[*TrackName::Of(space, std::string(random.Below(3), 'x'))] = i;
  }
  size_t found = 0;
  for (int i = 0; i < 500; ++i) {
    const TrackNamespace prefix = SomeSpace(random, 3);
    std::vector<TrackName> wanted;
    for (const auto& [track, value] : tracks) {
      if (prefix.IsPrefixOf(track.space())) {
        wanted.push_back(track);
      }
    }
    std::vector<TrackName> seen;
    VisitBelow(tracks, prefix, [&](const TrackName& track, int) {
      seen.push_back(track);
      return true;
    });
    EXPECT_EQ(seen, wanted);
    found += seen.size();
    size_t count = 0;
    VisitBelow(spaces, prefix, [&](const TrackNamespace& space, int) {
      EXPECT_TRUE(prefix.IsPrefixOf(space));
      ++count;
      return true;
    });
    size_t all = 0;
    for (const auto& [space, value] : spaces) {
      all += prefix.IsPrefixOf(space) ? 1u : 0u;
    }
    EXPECT_EQ(count, all);
  }
  EXPECT_GT(found, 10000u);
}

TEST(VisitBelow, StopsWhenItIsToldTo) {
  std::map<TrackNamespace, int> spaces;
  for (const char* field : {"a", "b", "c"}) {
    spaces[*TrackNamespace::Of({field})] = 0;
  }
  int visits = 0;
  VisitBelow(spaces, TrackNamespace(), [&](const TrackNamespace&, int) { return ++visits < 2; });
  EXPECT_EQ(visits, 2);
}

}  // namespace
}  // namespace kvcast::relay
