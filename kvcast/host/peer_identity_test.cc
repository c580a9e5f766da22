#include "kvcast/host/peer_identity.h"

#include <gtest/gtest.h>

namespace kvcast {
namespace {

CertificateFacts HolderOf(std::vector<std::string> uris) {
  CertificateFacts facts;
  facts.subject = "CN=engine-3";
  facts.fingerprint = Sha256::Of("certificate");
  facts.uris = std::move(uris);
  return facts;
}
relay::Grant HolderGrant(const std::string& tenant, const std::string& may) {
  return *relay::Grant::Of(std::vector<std::string>{tenant}, std::vector<std::string>{may});
}

TEST(PeerIdentity, ReadsTenantAndRoleOutOfACertificate) {
  const std::string uri = *HolderUri("example.org", "acme", "engine");
  EXPECT_EQ(uri, "spiffe://example.org/tenant/acme/role/engine");
  EXPECT_EQ(*GrantOfUri(uri), HolderGrant("acme", "engine"));
  const relay::Credential credential = CredentialOf(
      HolderOf({"https://example.org", uri, *HolderUri("example.org", "globex", "subscriber")}),
      {});
  EXPECT_TRUE(credential.name.starts_with("engine-3 "));
  EXPECT_EQ(*credential.grants,
            (std::vector{HolderGrant("acme", "engine"), HolderGrant("globex", "read")}));
}

TEST(PeerIdentity, GrantsNothingByWhatItDoesNotUnderstand) {
  for (const char* uri :
       {"spiffe://d/tenant/acme", "spiffe://d/tenant/acme/role/root",
        "spiffe://d/tenant//role/admin", "spiffe://d/tenant/a/b/role/admin",
        "spiffe:///tenant/acme/role/admin", "spiffe://d/tenant/acme/role/admin/",
        "spiffe://d/tenant/ACME/role/admin", "spiffe://d/x/tenant/acme/role/admin",
        "spiffe://d/tenant/acme/role/publish"}) {
    EXPECT_FALSE(GrantOfUri(uri).ok()) << uri;
    const relay::Credential credential = CredentialOf(HolderOf({uri}), {});
    ASSERT_TRUE(credential.grants.has_value()) << uri;  // Nor may a token then.
    EXPECT_TRUE(credential.grants->empty()) << uri;
  }
  EXPECT_FALSE(HolderUri("d/e", "acme", "engine").ok());
  EXPECT_FALSE(HolderUri("d", "a/b", "engine").ok());
  EXPECT_FALSE(HolderUri("d", "acme", "boss").ok());
}

TEST(PeerIdentity, SaysNothingOfTenantsWhereACertificateDoesNot) {
  EXPECT_FALSE(CredentialOf(HolderOf({}), {}).grants.has_value());
  EXPECT_FALSE(CredentialOf(HolderOf({"spiffe://d/ns/prod/sa/engine"}), {}).grants.has_value());
}

TEST(PeerIdentity, TakesTheNodesWordOverTheCertificates) {
  CertificateGrants grants;
  const CertificateFacts facts = HolderOf({*HolderUri("d", "acme", "admin")});
  grants.by_subject["engine-3"] = {"engine-3", HolderGrant("globex", "read")};
  EXPECT_EQ(*CredentialOf(facts, grants).grants, std::vector{HolderGrant("globex", "read")});
  grants.by_fingerprint[facts.fingerprint] = {"it", HolderGrant("initech", "read")};
  EXPECT_EQ(*CredentialOf(facts, grants).grants, std::vector{HolderGrant("initech", "read")});
}

}  // namespace
}  // namespace kvcast
