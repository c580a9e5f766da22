#include "kvcast/io/certificate.h"

#include <gtest/gtest.h>

#include <chrono>

namespace kvcast {
namespace {

using std::chrono::hours;

CertificateTerms Terms(std::string subject, std::vector<std::string> hosts, hours until) {
  return {std::move(subject), std::move(hosts), WallNow() - hours(1), WallNow() + until};
}

TEST(Certificate, SaysWhatItWasMadeFor) {
  const std::vector<std::string> hosts = {"node7.example", "*.nodes.example", "192.0.2.7",
                                          "2001:db8::7"};
  const CertificateAndKey authority = *MakeAuthority(Terms("an authority", {}, hours(48)));
  const CertificateAndKey made =
      *MakeSigned(authority, Terms("a node", hosts, hours(24)), CertificateUse::kServer);
  const CertificateFacts facts = *ReadCertificate(made.certificate);
  EXPECT_EQ(facts.subject, "CN=a node");
  EXPECT_EQ(facts.issuer, "CN=an authority");
  EXPECT_EQ(facts.hosts, hosts);
  EXPECT_TRUE(facts.for_servers);
  EXPECT_TRUE(facts.for_clients);
  EXPECT_FALSE(facts.is_authority);
  EXPECT_LT(facts.from, WallNow());
  EXPECT_GT(facts.until, WallNow() + hours(23));
  EXPECT_LT(facts.until, WallNow() + hours(25));

  const CertificateFacts above = *ReadCertificate(authority.certificate);
  EXPECT_TRUE(above.is_authority);
  EXPECT_FALSE(above.for_servers);
  EXPECT_FALSE(above.for_clients);
}

TEST(Certificate, AClientsIsNotForServers) {
  const CertificateAndKey authority = *MakeAuthority(Terms("an authority", {}, hours(48)));
  const CertificateFacts facts = *ReadCertificate(
      MakeSigned(authority, Terms("a client", {}, hours(24)), CertificateUse::kClient)
          ->certificate);
  EXPECT_TRUE(facts.for_clients);
  EXPECT_FALSE(facts.for_servers);
}

TEST(Certificate, SaysWhoItsHolderIs) {
  const CertificateAndKey authority = *MakeAuthority(Terms("an authority", {}, hours(48)));
  CertificateTerms terms = Terms("a client", {}, hours(24));
  terms.uris = {"spiffe://example.org/tenant/acme/role/engine", "https://example.org/a"};
  const CertificateFacts facts =
      *ReadCertificate(MakeSigned(authority, terms, CertificateUse::kClient)->certificate);
  EXPECT_EQ(facts.uris, terms.uris);
  EXPECT_TRUE(facts.hosts.empty());
  EXPECT_FALSE(ReadDerCertificate("no certificate").ok());
}

TEST(Certificate, NoTwoAreAlike) {
  const CertificateTerms terms = Terms("same", {"localhost"}, hours(1));
  const CertificateAndKey a = *MakeSelfSigned(terms);
  const CertificateAndKey b = *MakeSelfSigned(terms);
  EXPECT_NE(a.key, b.key);
  EXPECT_NE(ReadCertificate(a.certificate)->fingerprint,
            ReadCertificate(b.certificate)->fingerprint);
}

TEST(Certificate, DoesNotOutliveItsAuthority) {
  const CertificateAndKey authority = *MakeAuthority(Terms("an authority", {}, hours(10)));
  const auto made =
      MakeSigned(authority, Terms("a node", {"a"}, hours(11)), CertificateUse::kServer);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code(), ErrorCode::kInvalid);
}

TEST(Certificate, IsNotSignedWithAnotherAuthoritysKey) {
  CertificateAndKey authority = *MakeAuthority(Terms("an authority", {}, hours(10)));
  authority.key = "-----BEGIN EC PRIVATE KEY-----\n!\n-----END EC PRIVATE KEY-----\n";
  EXPECT_FALSE(
      MakeSigned(authority, Terms("a node", {"a"}, hours(1)), CertificateUse::kServer).ok());
}

TEST(Certificate, HostsAreNamesOrAddresses) {
  for (const char* name : {"localhost", "node7.example", "*.example", "10.0.0.1", "::1", "a_b-c"}) {
    EXPECT_TRUE(IsHostName(name)) << name;
  }
  for (const char* name :
       {"", "*", "a b", "a:4433", "[::1]", ".a", "a..b", "http://a", "a/b", "a*.b", "a\n"}) {
    EXPECT_FALSE(IsHostName(name)) << name;
    EXPECT_FALSE(MakeSelfSigned(Terms("x", {name}, hours(1))).ok()) << name;
  }
  EXPECT_FALSE(IsHostName(std::string(254, 'a')));
}

TEST(Certificate, WhatIsNoneIsMalformed) {
  for (const char* pem : {"", "hello", "-----BEGIN CERTIFICATE-----\nAAAA\n"}) {
    const auto facts = ReadCertificate(pem);
    ASSERT_FALSE(facts.ok());
    EXPECT_EQ(facts.error().code(), ErrorCode::kMalformed);
  }
}

}  // namespace
}  // namespace kvcast
