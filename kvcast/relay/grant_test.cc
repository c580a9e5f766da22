#include "kvcast/relay/grant.h"

#include <gtest/gtest.h>

#include <vector>

namespace kvcast::relay {
namespace {

TrackNamespace NamesOf(std::initializer_list<std::string_view> fields) {
  return *TrackNamespace::Of(fields);
}
TrackNamespace BlocksOf(std::string_view scope) {
  return NamesOf({kServiceField, scope, "prefix", "generation"});
}
Grant GrantOf(std::vector<std::string> tenants, std::vector<std::string> may) {
  return *Grant::Of(tenants, may);
}
bool MayRead(const Grant& grant, const TrackNamespace& space, uint64_t now_us = 0) {
  return grant.Allows(Act::kRead, space, "BF16", now_us);
}

TEST(Grant, ComparesATenantExactlyAndUpToTheFirstSlash) {
  const Grant grant = GrantOf({"acme"}, {"read"});
  EXPECT_TRUE(MayRead(grant, BlocksOf("acme/llama@0123456789abcdef")));
  EXPECT_TRUE(MayRead(grant, BlocksOf("acme/llama/with/slashes@0123456789abcdef")));
  EXPECT_FALSE(MayRead(grant, BlocksOf("acme2/llama@0123456789abcdef")));
  EXPECT_FALSE(MayRead(grant, BlocksOf("acm/llama@0123456789abcdef")));
  EXPECT_FALSE(MayRead(grant, BlocksOf("Acme/llama@0123456789abcdef")));
  EXPECT_FALSE(MayRead(grant, BlocksOf("globex/acme/llama@0123456789abcdef")));
}

// A name is a stranger's: what it says in a tenant's place never means everybody.
TEST(Grant, TakesNoNameForTheWordsThatMeanAll) {
  EXPECT_FALSE(MayRead(GrantOf({"_plain"}, {"read"}), BlocksOf("_plain/model@0")));
  EXPECT_TRUE(MayRead(GrantOf({"_all"}, {"read"}), BlocksOf("_all/model@0")));
  EXPECT_FALSE(MayRead(GrantOf({"_all"}, {"read"}), NamesOf({"_all", "clock"})));
}

TEST(Grant, LeavesPlainNamesToThoseWhoseGrantSaysSo) {
  const TrackNamespace plain = NamesOf({"demo", "acme/clock"});
  EXPECT_FALSE(MayRead(GrantOf({"acme"}, {"read"}), plain));
  EXPECT_FALSE(MayRead(GrantOf({"_all"}, {"read"}), plain));
  EXPECT_TRUE(MayRead(GrantOf({"_plain"}, {"read"}), plain));
  EXPECT_FALSE(MayRead(GrantOf({"_plain"}, {"read"}), BlocksOf("acme/model@0")));
}

TEST(Grant, LeavesPrefixesAboveTenantsToAGrantForAll) {
  const auto lists = [](const Grant& grant, std::initializer_list<std::string_view> prefix) {
    return grant.Allows(Act::kList, NamesOf(prefix), "", 0);
  };
  EXPECT_FALSE(lists(GrantOf({"acme"}, {"read"}), {kServiceField}));
  EXPECT_FALSE(lists(GrantOf({"acme"}, {"read"}), {}));
  EXPECT_TRUE(lists(GrantOf({"acme"}, {"read"}), {kServiceField, "acme/model@0"}));
  EXPECT_TRUE(lists(GrantOf({"_all"}, {"read"}), {kServiceField}));
  EXPECT_FALSE(lists(GrantOf({"_all"}, {"read"}), {}));
  EXPECT_TRUE(lists(GrantOf({"_all", "_plain"}, {"read"}), {}));
  EXPECT_TRUE(IsAboveTenants(NamesOf({})));
  EXPECT_TRUE(IsAboveTenants(NamesOf({kServiceField})));
  EXPECT_FALSE(IsAboveTenants(NamesOf({"demo"})));
}

TEST(Grant, LetsAPublisherReadWhatItNeedsToPublishAndNoBlocks) {
  const Grant grant = GrantOf({"acme"}, {"publish"});
  const TrackNamespace blocks = BlocksOf("acme/model@0");
  const TrackNamespace catalogs = NamesOf({kServiceField, "acme/model@0", "catalog"});
  EXPECT_TRUE(grant.Allows(Act::kPublish, blocks, "BF16", 0));
  EXPECT_TRUE(grant.Allows(Act::kRead, blocks, "ack", 0));
  EXPECT_TRUE(grant.Allows(Act::kList, catalogs, "", 0));
  EXPECT_TRUE(grant.Allows(Act::kRead, *catalogs.Join(NamesOf({"node"})), "v1", 0));
  EXPECT_FALSE(grant.Allows(Act::kRead, blocks, "BF16", 0));
  EXPECT_FALSE(grant.Allows(Act::kList, blocks, "", 0));
  EXPECT_FALSE(grant.Allows(Act::kForget, blocks, "", 0));
}

TEST(Grant, LetsRelaysAloneBringCatalogs) {
  const TrackNamespace catalog = NamesOf({kServiceField, "acme/model@0", "catalog", "node"});
  EXPECT_FALSE(GrantOf({"acme"}, {"engine"}).Allows(Act::kPublish, catalog, "v1", 0));
  EXPECT_TRUE(GrantOf({"acme"}, {"relay"}).Allows(Act::kPublish, catalog, "v1", 0));
  EXPECT_TRUE(GrantOf({"acme"}, {"relay"}).Allows(Act::kRead, catalog, "v1", 0));
  EXPECT_FALSE(GrantOf({"acme"}, {"relay"}).Allows(Act::kForget, catalog, "", 0));
}

TEST(Grant, LetsAReaderPublishNothing) {
  const Grant grant = GrantOf({"acme"}, {"read"});
  EXPECT_FALSE(grant.Allows(Act::kPublish, BlocksOf("acme/m@0"), "BF16", 0));
  EXPECT_FALSE(grant.Allows(Act::kAnnounce, BlocksOf("acme/m@0"), "", 0));
}

TEST(Grant, IsVoidFromItsEndOn) {
  Grant grant = GrantOf({"acme"}, {"read"});
  grant.until_us = 1000;
  EXPECT_TRUE(MayRead(grant, BlocksOf("acme/m@0"), 999));
  EXPECT_FALSE(MayRead(grant, BlocksOf("acme/m@0"), 1000));
}

TEST(Grant, IsNeverMoreThanItsBound) {
  Grant token = GrantOf({"acme", "globex", "_plain"}, {"publish", "read"});
  token.until_us = 50;
  const Grant certificate = GrantOf({"acme"}, {"read", "forget"});
  Grant left = GrantOf({"acme"}, {"read"});
  left.until_us = 50;
  EXPECT_EQ(token.Within(certificate), left);
  EXPECT_EQ(certificate.Within(token), left);
  const Grant all = GrantOf({"_all"}, {"engine"});
  EXPECT_EQ(token.Within(all).tenants, (std::set<std::string, std::less<>>{"acme", "globex"}));
  EXPECT_EQ(all.Within(all).tenants, all.tenants);
  EXPECT_EQ(token.Within(Grant::Everything()), token);
}

TEST(Grant, RefusesWordsItDoesNotKnow) {
  const std::vector<std::string> acme{"acme"}, read{"read"}, none;
  EXPECT_FALSE(Grant::Of(none, read).ok());
  EXPECT_FALSE(Grant::Of(acme, none).ok());
  EXPECT_FALSE(Grant::Of(std::vector<std::string>{"Acme"}, read).ok());
  EXPECT_FALSE(Grant::Of(std::vector<std::string>{"a/b"}, read).ok());
  EXPECT_FALSE(Grant::Of(acme, std::vector<std::string>{"write"}).ok());
  EXPECT_FALSE(Grant::PermissionsOf("root").ok());
  EXPECT_EQ(*Grant::PermissionsOf("engine"), Grant::kPublish | Grant::kRead);
}

}  // namespace
}  // namespace kvcast::relay
