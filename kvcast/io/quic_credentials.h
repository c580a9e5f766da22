#pragma once

#include <gnutls/gnutls.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <variant>

#include "kvcast/base/digest.h"
#include "kvcast/base/result.h"

namespace kvcast {

// How a client makes sure that it talks to the right server. There is no default.

// The server's certificate has this SHA-256 (of its DER form), whoever signed it.
struct PinnedCertificate {
  Digest fingerprint;
};
// It is signed, for the name that was connected to, by an authority in this PEM file.
struct TrustedAuthorities {
  std::filesystem::path file;
};
// It is signed, for that name, by an authority that this machine trusts.
struct SystemTrust {};
// Not at all: for tests on one machine. Connecting to anything but loopback fails.
struct InsecureLoopbackOnly {};
// Not at all, wherever it is: anybody on the way can pose as the server. For debugging; whoever
// asks for it is to be warned each time.
struct InsecureSkipVerification {};

using ServerTrust = std::variant<PinnedCertificate, TrustedAuthorities, SystemTrust,
                                 InsecureLoopbackOnly, InsecureSkipVerification>;

// A certificate and its private key, in two PEM files; the first may go on with the certificates of
// the authorities above it.
struct CertificateFiles {
  std::filesystem::path certificate;
  std::filesystem::path key;
};

// What both sides of TLS hold: GnuTLS's own objects, shared by all connections made from them.
class TlsMaterial {
 public:
  // TLS 1.3 alone, AES-128-GCM first: ChaCha20-Poly1305 costs ten times as much in GnuTLS.
  static Result<std::shared_ptr<TlsMaterial>> Make();
  ~TlsMaterial();
  TlsMaterial(const TlsMaterial&) = delete;
  TlsMaterial& operator=(const TlsMaterial&) = delete;

  gnutls_certificate_credentials_t certificates() const { return certificates_; }
  gnutls_priority_t priorities() const { return priorities_; }

 private:
  TlsMaterial() = default;

  gnutls_certificate_credentials_t certificates_ = nullptr;
  gnutls_priority_t priorities_ = nullptr;
};

// A server's certificate and its private key. Cheap to copy.
class ServerCredentials {
 public:
  static Result<ServerCredentials> FromFiles(const CertificateFiles& files);
  // A certificate that signs itself, made when `directory` holds none yet and then kept: clients
  // pin its fingerprint. The key's file is for its owner alone, and refused if it is not.
  static Result<ServerCredentials> Development(const std::filesystem::path& directory);
  static constexpr const char* kDevelopmentCertificate = "development-certificate.pem";
  static constexpr const char* kDevelopmentKey = "development-key.pem";

  // From now on, a client has to show a certificate that an authority in this PEM file has signed
  // for clients; any other is refused in the handshake.
  Result<void> RequireClientsOf(const std::filesystem::path& authorities);
  bool requires_clients() const { return requires_clients_; }

  // What a client pins.
  const Digest& fingerprint() const { return fingerprint_; }
  const std::shared_ptr<const TlsMaterial>& material() const { return material_; }
  // A secret for one purpose, the same whenever these credentials are loaded: it follows from the
  // private key, which it does not give away.
  Digest SecretFor(std::string_view purpose) const;

 private:
  ServerCredentials(std::shared_ptr<const TlsMaterial> material, Digest fingerprint, Digest secret)
      : material_(std::move(material)), fingerprint_(fingerprint), secret_(secret) {}

  std::shared_ptr<const TlsMaterial> material_;
  Digest fingerprint_;
  Digest secret_;
  bool requires_clients_ = false;
};

// What a client trusts, and what it shows to a server that asks who it is. Cheap to copy.
class ClientCredentials {
 public:
  static Result<ClientCredentials> Make(ServerTrust trust,
                                        const std::optional<CertificateFiles>& own = {});

  const ServerTrust& trust() const { return trust_; }
  const std::shared_ptr<const TlsMaterial>& material() const { return material_; }

 private:
  ClientCredentials(std::shared_ptr<const TlsMaterial> material, ServerTrust trust)
      : material_(std::move(material)), trust_(std::move(trust)) {}

  std::shared_ptr<const TlsMaterial> material_;
  ServerTrust trust_;
};

}  // namespace kvcast
