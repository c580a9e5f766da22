#include "kvcast/host/token_file.h"

#include <gtest/gtest.h>

#include "kvcast/io/file.h"
#include "kvcast/io/scratch_directory.h"
#include "kvcast/kv/cache_track.h"

namespace kvcast {
namespace {

TEST(TokenFile, ReadsBackWhatATokenWasMadeWith) {
  relay::Grant grant = *relay::Grant::Of(std::vector<std::string>{"acme", "globex"},
                                         std::vector<std::string>{"publish", "read"});
  grant.until_us = 1'930'000'000'000'000;
  const NewToken made = *MakeToken("engine-3", grant);
  EXPECT_EQ(made.line.find(made.token), std::string::npos);
  const TokenFile file = *TokenFile::Parse("# who may do what\n\n" + made.line);
  const relay::TokenTable::Entry* const entry = file.tokens.Find(made.token);
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->name, "engine-3");
  EXPECT_EQ(entry->grant, grant);
  EXPECT_EQ(file.tokens.Find(made.token + "x"), nullptr);
  EXPECT_NE(MakeToken("engine-3", grant)->token, made.token);
}

TEST(TokenFile, KnowsCertificatesByFingerprintAndBySubject) {
  const std::string hex(64, 'a');
  const TokenFile file = *TokenFile::Parse(
      R"({"certificate": ")" + hex + R"(", "tenants": ["acme"], "may": ["read"]})" + "\n" +
      R"({"certificate": "engine-3", "tenants": ["_all"], "may": ["relay"]})");
  EXPECT_TRUE(file.certificates.by_fingerprint.contains(*Digest::FromHex(hex)));
  EXPECT_TRUE(file.certificates.by_subject.contains("engine-3"));
}

TEST(TokenFile, NamesTheLineThatItDoesNotUnderstand) {
  const std::string good = R"({"certificate": "a", "tenants": ["acme"], "may": ["read"]})";
  const std::string hex(64, 'a');
  for (const std::string& bad : std::vector<std::string>{
           "no json", "[]", "{}", R"({"token": "a", "tenants": ["acme"], "may": ["read"]})",
           R"({"token": "a b", "sha256": ")" + hex + R"(", "tenants": ["acme"], "may": ["read"]})",
           R"({"token": "a", "sha256": "abc", "tenants": ["acme"], "may": ["read"]})",
           R"({"token": "a", "sha256": ")" + hex + R"(", "tenants": [], "may": ["read"]})",
           R"({"token": "a", "sha256": ")" + hex + R"(", "tenants": ["A"], "may": ["read"]})",
           R"({"token": "a", "sha256": ")" + hex + R"(", "tenants": ["a"], "may": "read"})",
           R"({"token": "a", "sha256": ")" + hex + R"(", "tenants": ["a"], "may": ["write"]})",
           R"({"certificate": "b", "tenants": ["a"], "may": ["read"], "tennant": 1})",
           R"({"certificate": "b", "tenants": ["a"], "may": ["read"], "expires": "soon"})", good}) {
    const Result<TokenFile> file = TokenFile::Parse(good + "\n" + bad);
    ASSERT_FALSE(file.ok()) << bad;
    EXPECT_NE(file.error().ToString().find("line 2"), std::string::npos) << bad;
  }
}

TEST(TokenFile, ReadsATokenAndNeverShowsIt) {
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  ASSERT_TRUE(WriteFileAtomically(scratch / "good", AsBytes("secret-token\n")).ok());
  EXPECT_EQ(*ReadToken(scratch / "good"), "secret-token");
  for (const std::string& bad :
       {std::string("two secrets\n"), std::string("\n"), std::string(4097, 's')}) {
    ASSERT_TRUE(WriteFileAtomically(scratch / "bad", AsBytes(bad)).ok());
    const Result<std::string> read = ReadToken(scratch / "bad");
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().ToString().find("secrets"), std::string::npos);
  }
}

TEST(TokenFile, UnderstandsTermsAndTimes) {
  EXPECT_EQ(*ParseTerm("30d"), std::chrono::hours(720));
  EXPECT_EQ(*ParseTerm("90min"), std::chrono::minutes(90));
  EXPECT_EQ(*ParseTerm("1s"), std::chrono::seconds(1));
  for (const char* wrong : {"", "d", "0d", "-1d", "1.5h", "1m", "30 d", "99999999999d"}) {
    EXPECT_FALSE(ParseTerm(wrong).ok()) << wrong;
  }
  EXPECT_EQ(*ParseTimeOfDay("1970-01-02T00:00:01Z"), 86'401'000'000u);
  EXPECT_EQ(*ParseTimeOfDay("2031-05-04T03:02:01Z"), 1'935'630'121'000'000u);
  for (const char* wrong :
       {"", "2031-05-04", "2031-13-04T03:02:01Z", "2031-02-30T03:02:01Z", "2031-05-04T25:02:01Z",
        "2031-05-04T03:02:01+", "1969-05-04T03:02:01Z"}) {
    EXPECT_FALSE(ParseTimeOfDay(wrong).ok()) << wrong;
  }
}

// A relay knows nothing of caches, and yet whose they are: both sides must mean the same name.
TEST(TokenFile, GrantsNameTenantsAsCachesDo) {
  const ModelScope scope = *ModelScope::Of(*Tenant::Of("acme"), "llama", Digest());
  EXPECT_EQ(relay::TenantOf(scope.Namespace()), "acme");
}

}  // namespace
}  // namespace kvcast
