#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kvcast/base/digest.h"
#include "kvcast/base/result.h"
#include "kvcast/io/clock.h"

namespace kvcast {

// X.509 certificates for machines that have no authority to ask: made here, in PEM form, with ECDSA
// P-256 keys. Who may read them is for whoever writes them to files; a key is a secret.

struct CertificateAndKey {
  std::string certificate;
  std::string key;
};

// What its holder may do with it.
enum class CertificateUse : uint8_t {
  kServer,  // Show it to clients, and as a client to other servers: nodes do both.
  kClient,  // Show it to servers that ask for one, and never pose as a server.
};

struct CertificateTerms {
  std::string subject;             // The common name, for people.
  std::vector<std::string> hosts;  // DNS names and addresses that it is for.
  WallTime from;
  WallTime until;
  std::vector<std::string> uris = {};  // What else it says of its holder.
};

// A certificate that signs itself, for a server that clients pin.
Result<CertificateAndKey> MakeSelfSigned(const CertificateTerms& terms);
// An authority that signs certificates of servers and clients, and no further authorities. Its
// subject must differ from that of other authorities, or GnuTLS cannot tell them apart.
Result<CertificateAndKey> MakeAuthority(const CertificateTerms& terms);
// One that `authority` signs, which had better be one: nobody believes others. Invalid: it would be
// valid for longer than the authority itself.
Result<CertificateAndKey> MakeSigned(const CertificateAndKey& authority,
                                     const CertificateTerms& terms, CertificateUse use);

// Whether it can stand in a certificate: a DNS name (perhaps "*.example"), or an address.
bool IsHostName(std::string_view name);

// What a certificate says of itself.
struct CertificateFacts {
  Digest fingerprint;  // SHA-256 of its DER form: what clients pin.
  std::string subject;
  std::string issuer;
  std::vector<std::string> hosts;
  std::vector<std::string> uris;
  WallTime from;
  WallTime until;
  bool is_authority = false;
  bool for_servers = false;
  bool for_clients = false;
};
// Of the first certificate in a PEM file, which is its owner's. Malformed: there is none.
Result<CertificateFacts> ReadCertificate(const std::string& pem);
// The same of one in DER form, as a peer shows it.
Result<CertificateFacts> ReadDerCertificate(const std::string& der);

}  // namespace kvcast
