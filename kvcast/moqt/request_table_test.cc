#include "kvcast/moqt/request_table.h"

#include <gtest/gtest.h>

namespace kvcast::moqt {
namespace {

// A publisher may use an alias again; what we remember of its last track does not grow by that, nor
// is it forgotten before its time.
TEST(RequestTable, RemembersAnAliasThatWasRetiredTwiceAsLongAsOthers) {
  RequestTable table(0);
  const auto use = [&table](uint64_t alias) {
    ASSERT_TRUE(table.AddAlias(alias, 1).ok());
    EXPECT_FALSE(table.IsRetired(alias));
    table.RetireAlias(alias, 1);
    EXPECT_TRUE(table.IsRetired(alias));
  };
  use(0);
  for (uint64_t alias = 0; alias < 1024; ++alias) {
    use(alias);
  }
  EXPECT_TRUE(table.IsRetired(0));
  use(1024);
  EXPECT_FALSE(table.IsRetired(0));
  EXPECT_TRUE(table.IsRetired(1));
}

TEST(RequestTable, NamesTheAliasesThatChanged) {
  RequestTable table(0);
  ASSERT_TRUE(table.AddAlias(7, 1).ok());
  table.RetireAlias(8);
  EXPECT_EQ(table.TakeChangedAliases(), (std::vector<uint64_t>{7, 8}));
  table.RetireAlias(7);  // It has a request, which would have to say so.
  table.RetireAlias(7, 3);
  EXPECT_TRUE(table.TakeChangedAliases().empty());
  EXPECT_FALSE(table.IsRetired(7));
}

}  // namespace
}  // namespace kvcast::moqt
