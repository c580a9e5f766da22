#include "kvcast/relay/prefix_book.h"

#include <gtest/gtest.h>

#include "kvcast/base/random.h"

namespace kvcast::relay {
namespace {

using Ids = std::vector<SubscriberId>;

TrackNamespace Prefix(std::initializer_list<std::string_view> fields) {
  return *TrackNamespace::Of(fields);
}

TEST(PrefixBook, FindsThoseWhosePrefixANameBeginsWith) {
  PrefixBook book;
  book.Add({}, {1, 0});
  book.Add(Prefix({"a"}), {2, 4});
  book.Add(Prefix({"a", "b"}), {1, 2});
  book.Add(Prefix({"a", "b"}), {3, 0});
  book.Add(Prefix({"a", "bc"}), {4, 0});
  book.Add(Prefix({"a", "b", "c"}), {5, 0});
  EXPECT_EQ(book.Above(Prefix({"a", "b"})), (Ids{{1, 0}, {2, 4}, {1, 2}, {3, 0}}));
  EXPECT_EQ(book.Above(Prefix({"ab"})), (Ids{{1, 0}}));
  EXPECT_EQ(book.Above({}), (Ids{{1, 0}}));
}

TEST(PrefixBook, ForgetsWhoHasGone) {
  PrefixBook book;
  book.Add(Prefix({"a"}), {1, 0});
  book.Add(Prefix({"a"}), {2, 0});
  book.Remove(Prefix({"a"}), {1, 0});
  book.Remove(Prefix({"b"}), {2, 0});  // It never asked for that.
  EXPECT_EQ(book.Above(Prefix({"a", "b"})), (Ids{{2, 0}}));
  book.Remove(Prefix({"a"}), {2, 0});
  EXPECT_TRUE(book.empty());
}

TEST(PrefixBook, FindsWhatLookingAtEveryPrefixFinds) {
  Random random(5);
  const auto any = [&random] {
    std::vector<std::string> fields(random.Below(4));
    for (std::string& field : fields) {
      field = std::string(1 + random.Below(2), static_cast<char>('a' + random.Below(2)));
    }
    return *TrackNamespace::Of(std::vector<std::string_view>(fields.begin(), fields.end()));
  };
  PrefixBook book;
  std::map<SubscriberId, TrackNamespace> all;
  for (uint64_t i = 0; i < 2000; ++i) {
    const SubscriberId id{random.Below(50), random.Below(2)};
    if (const auto known = all.extract(id)) {
      book.Remove(known.mapped(), id);
    } else {
      book.Add(all[id] = any(), id);
    }
    const TrackNamespace space = any();
    std::set<SubscriberId> expected;
    for (const auto& [each, prefix] : all) {
      if (prefix.IsPrefixOf(space)) {
        expected.insert(each);
      }
    }
    const Ids found = book.Above(space);
    ASSERT_EQ(std::set<SubscriberId>(found.begin(), found.end()), expected);
    ASSERT_EQ(found.size(), expected.size());
  }
}

}  // namespace
}  // namespace kvcast::relay
