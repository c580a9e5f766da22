#include <gtest/gtest.h>

#include "kvcast/io/certificate.h"
#include "kvcast/io/file.h"
#include "kvcast/io/quic_pair_test.h"

namespace kvcast {
namespace {

using std::chrono::hours;

// Who lets whom in: every case is a handshake over loopback.
class QuicTrustTest : public QuicPairTest {
 protected:
  void SetUp() override {
    QuicPairTest::SetUp();
    authority_ = NewAuthority("our authority");
    stranger_ = NewAuthority("another authority");
    Write("authority", authority_);
    Write("stranger", stranger_);
  }

  static CertificateTerms Terms(std::string subject, std::vector<std::string> hosts) {
    return {std::move(subject), std::move(hosts), WallNow() - hours(48), WallNow() + hours(1)};
  }
  // Outlives whatever it signs.
  static CertificateAndKey NewAuthority(std::string subject) {
    CertificateTerms terms = Terms(std::move(subject), {});
    terms.until += hours(1);
    return *MakeAuthority(terms);
  }
  static CertificateTerms Expired(std::string subject, std::vector<std::string> hosts) {
    CertificateTerms terms = Terms(std::move(subject), std::move(hosts));
    terms.until = WallNow() - hours(24);
    return terms;
  }

  CertificateFiles FilesOf(const std::string& name) const {
    return {scratch_->path() / (name + ".pem"), scratch_->path() / (name + ".key")};
  }
  CertificateFiles Write(const std::string& name, const CertificateAndKey& made) {
    CertificateFiles files = FilesOf(name);
    EXPECT_TRUE(WriteFileAtomically(files.certificate, AsBytes(made.certificate)).ok());
    EXPECT_TRUE(WriteFileAtomically(files.key, AsBytes(made.key), 0600).ok());
    return files;
  }
  CertificateFiles Signed(const std::string& name, const CertificateTerms& terms,
                          CertificateUse use = CertificateUse::kServer) {
    return Write(name, *MakeSigned(authority_, terms, use));
  }
  TrustedAuthorities OurAuthority() const { return {FilesOf("authority").certificate}; }

  void ListenAs(const CertificateFiles& files, const std::string& client_authority = {}) {
    ServerCredentials credentials = *ServerCredentials::FromFiles(files);
    fingerprint_ = credentials.fingerprint();
    if (!client_authority.empty()) {
      ASSERT_TRUE(credentials.RequireClientsOf(FilesOf(client_authority).certificate).ok());
    }
    QuicServer::Options options;
    options.on_untrusted = [this](const SocketAddress& from, const std::string& reason) {
      EXPECT_TRUE(from.is_loopback());
      turned_away_.push_back(reason);
    };
    server_ = *QuicServer::Listen(*loop_, SocketAddress::Loopback(0), credentials, options,
                                  [this](QuicConnection& connection) {
                                    auto user = std::make_unique<TestUser>();
                                    user->connection = &connection;
                                    server_user_ = user.get();
                                    return user;
                                  });
  }

  // Why it was refused, or "let in" once the server has a session and the client knows no
  // objection of the server's.
  std::string Knock(const ServerTrust& trust, const std::string& name = "localhost",
                    const std::optional<CertificateFiles>& own = {}) {
    server_user_ = nullptr;
    client_ =
        *QuicClient::Connect(*loop_, {server_->local(), name}, *ClientCredentials::Make(trust, own),
                             {}, [this](QuicConnection& connection) {
                               auto user = std::make_unique<TestUser>();
                               user->connection = &connection;
                               client_user_ = user.get();
                               return user;
                             });
    EXPECT_TRUE(Until([&] { return server_user_ != nullptr || client_user_->closed; }));
    if (server_user_ != nullptr) {
      // An answer of the server's session is the proof that both sides are through.
      server_user_->Act(moqt::CloseConnection{0x77, "let in"});
      EXPECT_TRUE(Until([&] { return client_user_->closed.has_value(); }));
    }
    return client_user_->closed ? client_user_->closed->second : "(still open)";
  }

  void ExpectRefused(const std::string& outcome, const std::string& because) {
    EXPECT_NE(outcome.find(because), std::string::npos) << outcome;
    EXPECT_EQ(server_user_, nullptr);
  }

  CertificateAndKey authority_;
  CertificateAndKey stranger_;
  Digest fingerprint_;
  std::vector<std::string> turned_away_;  // By the server, and why.
};

TEST_F(QuicTrustTest, AServerThatTheAuthoritySignedForThisNameIsTrusted) {
  ListenAs(Signed("node", Terms("a node", {"node7.example", "localhost", "127.0.0.1", "::1"})));
  for (const char* name : {"localhost", "node7.example", "127.0.0.1", "::1"}) {
    EXPECT_EQ(Knock(OurAuthority(), name), "let in") << name;
  }
}

TEST_F(QuicTrustTest, AServerThatAnotherAuthoritySignedIsRefused) {
  ListenAs(Write("node",
                 *MakeSigned(stranger_, Terms("a node", {"localhost"}), CertificateUse::kServer)));
  ExpectRefused(Knock(OurAuthority()), "not trusted for \"localhost\"");
  EXPECT_EQ(Knock(TrustedAuthorities{FilesOf("stranger").certificate}), "let in");
}

// Of the same name, and perhaps made to be confused with ours.
TEST_F(QuicTrustTest, AnAuthorityOfTheSameNameIsNotTheSameAuthority) {
  const CertificateAndKey impostor = NewAuthority("our authority");
  ListenAs(Write("node",
                 *MakeSigned(impostor, Terms("a node", {"localhost"}), CertificateUse::kServer)));
  ExpectRefused(Knock(OurAuthority()), "not trusted");
}

TEST_F(QuicTrustTest, AServerWhoseCertificateHasExpiredIsRefused) {
  ListenAs(Signed("node", Expired("a node", {"localhost"})));
  ExpectRefused(Knock(OurAuthority()), "expired");
}

TEST_F(QuicTrustTest, AServerOfAnotherNameIsRefused) {
  ListenAs(Signed("node", Terms("localhost", {"node7.example", "192.0.2.7"})));
  ExpectRefused(Knock(OurAuthority(), "localhost"), "The name in the certificate does not match");
  ExpectRefused(Knock(OurAuthority(), "127.0.0.1"), "The name in the certificate does not match");
  ExpectRefused(Knock(OurAuthority(), ""), "no name");
}

TEST_F(QuicTrustTest, AClientsCertificateMakesNoServer) {
  ListenAs(Signed("client", Terms("a client", {"localhost"}), CertificateUse::kClient));
  ExpectRefused(Knock(OurAuthority()), "not trusted");
}

// Whoever has a node's key can sign with it, but nobody believes that.
TEST_F(QuicTrustTest, WhatANodesCertificateSignedIsRefused) {
  const CertificateAndKey node =
      *MakeSigned(authority_, Terms("a node", {"localhost"}), CertificateUse::kServer);
  CertificateTerms terms = Terms("below", {"localhost"});
  terms.until -= std::chrono::minutes(5);
  CertificateAndKey below = *MakeSigned(node, terms, CertificateUse::kServer);
  below.certificate += node.certificate;
  ListenAs(Write("below", below));
  ExpectRefused(Knock(OurAuthority()), "not trusted");
}

TEST_F(QuicTrustTest, APinnedCertificateNeedsNoAuthorityNameOrDate) {
  ListenAs(Write("node", *MakeSelfSigned(Expired("a node", {"elsewhere.example"}))));
  EXPECT_EQ(Knock(PinnedCertificate{fingerprint_}, "localhost"), "let in");
}

TEST_F(QuicTrustTest, AnotherCertificateThanThePinnedOneIsRefused) {
  ListenAs(Signed("node", Terms("a node", {"localhost"})));
  ExpectRefused(Knock(PinnedCertificate{Sha256::Of("another")}), fingerprint_.ToHex());
}

TEST_F(QuicTrustTest, WithoutAnythingToCheckByTheClientIsToldWhatToDo) {
  ListenAs(Signed("node", Terms("a node", {"localhost"})));
  const auto credentials = ClientCredentials::Make(SystemTrust{});
  if (!credentials.ok()) {  // This machine trusts nobody at all.
    EXPECT_NE(credentials.error().message().find("#FINGERPRINT"), std::string::npos);
    return;
  }
  const std::string refusal = Knock(SystemTrust{});
  ExpectRefused(refusal, "not trusted for \"localhost\"");
  ExpectRefused(refusal, "name that authority's PEM file");
  ExpectRefused(refusal, "add #FINGERPRINT");
}

TEST_F(QuicTrustTest, VerificationThatIsSkippedTakesAnyCertificate) {
  ListenAs(Write("node", *MakeSigned(stranger_, Expired("a node", {"elsewhere.example"}),
                                     CertificateUse::kServer)));
  EXPECT_EQ(Knock(InsecureSkipVerification{}), "let in");
}

TEST_F(QuicTrustTest, AClientOfTheAuthorityIsLetIn) {
  ListenAs(Signed("node", Terms("a node", {"localhost"})), "authority");
  const CertificateFiles client = Signed("client", Terms("a client", {}), CertificateUse::kClient);
  EXPECT_EQ(Knock(OurAuthority(), "localhost", client), "let in");
  // A node is a client of other nodes.
  EXPECT_EQ(Knock(OurAuthority(), "localhost", FilesOf("node")), "let in");
  EXPECT_EQ(Knock(PinnedCertificate{fingerprint_}, "localhost", client), "let in");
}

TEST_F(QuicTrustTest, AClientWithoutACertificateIsTurnedAway) {
  ListenAs(Signed("node", Terms("a node", {"localhost"})), "authority");
  ExpectRefused(Knock(OurAuthority()), "give yours, with --cert and --key");
  ASSERT_TRUE(Until([&] { return server_->connections() == 0; }));
  EXPECT_EQ(server_->handshakes(), 0U);
  EXPECT_EQ(turned_away_, std::vector<std::string>{"The client shows no certificate."});
}

TEST_F(QuicTrustTest, AClientOfAnotherAuthorityIsTurnedAway) {
  ListenAs(Signed("node", Terms("a node", {"localhost"})), "authority");
  const CertificateFiles client =
      Write("client", *MakeSigned(stranger_, Terms("a client", {}), CertificateUse::kClient));
  ExpectRefused(Knock(OurAuthority(), "localhost", client), "does not trust the certificate");
  ASSERT_EQ(turned_away_.size(), 1U);
  EXPECT_NE(turned_away_[0].find("The client's certificate is not trusted"), std::string::npos)
      << turned_away_[0];
}

TEST_F(QuicTrustTest, AClientWhoseCertificateHasExpiredIsTurnedAway) {
  ListenAs(Signed("node", Terms("a node", {"localhost"})), "authority");
  const CertificateFiles client =
      Signed("client", Expired("a client", {}), CertificateUse::kClient);
  ExpectRefused(Knock(OurAuthority(), "localhost", client), "does not trust the certificate");
  ASSERT_EQ(turned_away_.size(), 1U);
  EXPECT_NE(turned_away_[0].find("expired"), std::string::npos) << turned_away_[0];
}

TEST_F(QuicTrustTest, AServerThatAsksForNoCertificateTakesAClientThatHasOne) {
  ListenAs(Signed("node", Terms("a node", {"localhost"})));
  const CertificateFiles client = Signed("client", Terms("a client", {}), CertificateUse::kClient);
  EXPECT_EQ(Knock(OurAuthority(), "localhost", client), "let in");
}

TEST_F(QuicTrustTest, FilesThatHoldNoCertificatesAreNamed) {
  const auto wrong = scratch_->path() / "wrong.pem";
  ASSERT_TRUE(WriteFileAtomically(wrong, AsBytes("hello")).ok());
  for (const auto& trust : {TrustedAuthorities{wrong}, TrustedAuthorities{"absent.pem"}}) {
    const auto made = ClientCredentials::Make(trust);
    ASSERT_FALSE(made.ok());
    EXPECT_NE(made.error().ToString().find(trust.file.string()), std::string::npos);
  }
  EXPECT_FALSE(ClientCredentials::Make(OurAuthority(), CertificateFiles{wrong, wrong}).ok());
  ServerCredentials server =
      *ServerCredentials::FromFiles(Signed("node", Terms("a node", {"localhost"})));
  EXPECT_FALSE(server.RequireClientsOf(wrong).ok());
  EXPECT_FALSE(server.requires_clients());
}

}  // namespace
}  // namespace kvcast
