#include "kvcast/relay/access.h"

#include <gtest/gtest.h>

#include <vector>

namespace kvcast::relay {
namespace {

using moqt::SessionCode;

TrackNamespace AccessBlocks(std::string_view tenant) {
  return *TrackNamespace::Of({kServiceField, std::string(tenant) + "/model@0", "prefix", "g"});
}
Grant AccessGrant(std::vector<std::string> tenants, std::vector<std::string> may) {
  return *Grant::Of(tenants, may);
}
moqt::AuthToken TokenOf(std::string value) {
  return {moqt::AuthToken::AliasType::kUseValue, 0, 0, std::move(value)};
}

// Tokens are called as they are: "acme" is for the tenant acme.
Access::Options TwoTenants() {
  Access::Options options;
  options.required = true;
  options.tokens.Add(Sha256::Of("acme"), {"acme's engine", AccessGrant({"acme"}, {"engine"})});
  options.tokens.Add(Sha256::Of("globex"), {"globex", AccessGrant({"globex"}, {"engine"})});
  Grant old = AccessGrant({"acme"}, {"engine"});
  old.until_us = 1000;
  options.tokens.Add(Sha256::Of("old"), {"old", old});
  return options;
}
Access::Welcome GreetBy(const Access& access, const Credential& credential,
                        std::vector<std::string> tokens, uint64_t now_us = 5000) {
  std::vector<moqt::AuthToken> sent;
  for (std::string& token : tokens) {
    sent.push_back(TokenOf(std::move(token)));
  }
  return access.Greet(credential, sent, "session 7", now_us);
}
bool MayReadOf(const Access& access, const Credential& credential, const Identity& identity,
               std::string_view tenant, std::vector<moqt::AuthToken> tokens = {}) {
  return access.Decide(credential, identity, Act::kRead, AccessBlocks(tenant), "BF16", tokens, 5000)
      .allowed;
}

TEST(Access, AsksNobodyUnlessItIsTold) {
  const Access access(Access::Options{});
  const Access::Welcome welcome = GreetBy(access, {}, {"whatever"});
  EXPECT_FALSE(welcome.refusal);
  EXPECT_EQ(welcome.identity.name, "session 7");
  EXPECT_TRUE(MayReadOf(access, {}, welcome.identity, "acme"));
}

TEST(Access, TakesATokenForWhatItIsFor) {
  const Access access(TwoTenants());
  const Access::Welcome welcome = GreetBy(access, {}, {"acme"});
  ASSERT_FALSE(welcome.refusal);
  EXPECT_EQ(welcome.identity.name, "token acme's engine");
  EXPECT_TRUE(MayReadOf(access, {}, welcome.identity, "acme"));
  EXPECT_FALSE(MayReadOf(access, {}, welcome.identity, "globex"));
}

TEST(Access, LetsNobodyInWhoHasNothingToShow) {
  const Access access(TwoTenants());
  EXPECT_EQ(GreetBy(access, {}, {}).refusal->code, SessionCode::kUnauthorized);
  EXPECT_EQ(GreetBy(access, {}, {"guess"}).refusal->code, SessionCode::kUnauthorized);
  EXPECT_EQ(GreetBy(access, {}, {"acme", "guess"}).refusal->code, SessionCode::kUnauthorized);
  EXPECT_EQ(GreetBy(access, {}, {std::string(5000, 'x')}).refusal->code,
            SessionCode::kUnauthorized);
  EXPECT_EQ(GreetBy(access, {}, {"old"}).refusal->code, SessionCode::kExpiredAuthToken);
  EXPECT_FALSE(GreetBy(access, {}, {"old"}, 999).refusal);
}

TEST(Access, NeverTellsATokenInAReason) {
  const Access access(TwoTenants());
  EXPECT_EQ(GreetBy(access, {}, {"guess"}).refusal->reason.find("guess"), std::string::npos);
}

// A token refines what a certificate allows.
TEST(Access, LetsATokenAddNothingToACertificateThatNamesTenants) {
  const Access access(TwoTenants());
  const Credential certificate{"engine-3", std::vector{AccessGrant({"acme"}, {"read"})}};
  const Access::Welcome plain = GreetBy(access, certificate, {});
  ASSERT_FALSE(plain.refusal);
  EXPECT_TRUE(MayReadOf(access, certificate, plain.identity, "acme"));
  const Access::Welcome both = GreetBy(access, certificate, {"acme"});
  ASSERT_FALSE(both.refusal);
  EXPECT_EQ(both.identity.name, "certificate engine-3");
  EXPECT_FALSE(
      access
          .Decide(certificate, both.identity, Act::kPublish, AccessBlocks("acme"), "BF16", {}, 5000)
          .allowed);
  EXPECT_TRUE(GreetBy(access, certificate, {"globex"}).refusal);
  EXPECT_FALSE(MayReadOf(access, certificate, plain.identity, "globex", {TokenOf("globex")}));
}

TEST(Access, LetsATokenDecideWhereACertificateNamesNoTenant) {
  const Access access(TwoTenants());
  const Credential certificate{"engine-3", std::nullopt};
  const Access::Welcome welcome = GreetBy(access, certificate, {});
  ASSERT_FALSE(welcome.refusal);
  EXPECT_FALSE(MayReadOf(access, certificate, welcome.identity, "acme"));
  EXPECT_TRUE(MayReadOf(access, certificate, welcome.identity, "acme", {TokenOf("acme")}));
  const Access no_tokens(Access::Options{true, {}});
  EXPECT_TRUE(GreetBy(no_tokens, certificate, {}).refusal);
}

TEST(Access, TakesARequestsOwnTokenForThatRequest) {
  const Access access(TwoTenants());
  const Identity identity = GreetBy(access, {}, {"acme"}).identity;
  EXPECT_TRUE(MayReadOf(access, {}, identity, "globex", {TokenOf("globex")}));
  EXPECT_FALSE(MayReadOf(access, {}, identity, "globex", {TokenOf("guess")}));
  EXPECT_FALSE(MayReadOf(access, {}, identity, "globex"));
}

TEST(Access, NoticesWhenATokenIsNoLongerThere) {
  Access access(TwoTenants());
  const Identity identity = GreetBy(access, {}, {"acme"}).identity;
  EXPECT_FALSE(access.GreetAgain({}, identity, 5000).refusal);
  access = Access({true, {}});
  EXPECT_EQ(access.GreetAgain({}, identity, 5000).refusal->code, SessionCode::kUnauthorized);
}

TEST(Access, LetsNobodyUseTheNameOfWhatIsHidden) {
  const Access access(Access::Options{});
  const Identity identity = GreetBy(access, {}, {}).identity;
  for (const Act act : {Act::kPublish, Act::kAnnounce, Act::kRead, Act::kList}) {
    EXPECT_FALSE(access.Decide({}, identity, act, Access::Hidden(), "", {}, 0).allowed);
  }
}

}  // namespace
}  // namespace kvcast::relay
