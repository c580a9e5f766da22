#include "kvcast/io/quic_credentials.h"

#include <sys/stat.h>

#include <string>

#include "kvcast/io/certificate.h"
#include "kvcast/io/development_certificate.h"
#include "kvcast/io/file.h"
#include "kvcast/io/system_error.h"

namespace kvcast {
namespace {

constexpr size_t kPemBytesMax = 1024 * 1024;

constexpr const char* kPriorities =
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+AES-128-GCM:+AES-256-GCM:"
    "-GROUP-ALL:+GROUP-X25519:+GROUP-SECP256R1:+GROUP-SECP384R1:"
    "%SERVER_PRECEDENCE:%DISABLE_TLS13_COMPAT_MODE";

gnutls_datum_t PemDatum(const std::string& text) {
  return {reinterpret_cast<unsigned char*>(const_cast<char*>(text.data())),
          static_cast<unsigned>(text.size())};
}

Error TlsError(std::string_view what, int code) {
  return {ErrorCode::kMalformed, std::string(what) + ": " + gnutls_strerror(code)};
}

Result<void> CheckForOwnerAlone(const std::filesystem::path& key) {
  struct stat status {};
  if (::stat(key.c_str(), &status) != 0) {
    return SystemError("Cannot read it", errno).In(key.string());
  }
  if ((status.st_mode & 077) != 0) {
    return Error(ErrorCode::kInvalid,
                 "Others may read this private key. Make another by removing it, or say that "
                 "nobody has (chmod 600).")
        .In(key.string());
  }
  return {};
}

Result<void> Trust(const TlsMaterial& material, const std::filesystem::path& authorities) {
  KVCAST_TRY(const std::string pem, ReadFile(authorities, kPemBytesMax));
  const gnutls_datum_t datum = PemDatum(pem);
  const int count =
      gnutls_certificate_set_x509_trust_mem(material.certificates(), &datum, GNUTLS_X509_FMT_PEM);
  if (count <= 0) {
    return Error(ErrorCode::kMalformed, "There is no certificate in PEM form in it.")
        .In(authorities.string());
  }
  return {};
}

// Of a certificate and its key: what peers pin, and what nobody else has.
struct Shown {
  Digest fingerprint;
  Digest secret;
};

// Takes a certificate to show to peers.
Result<Shown> Show(const TlsMaterial& material, const CertificateFiles& files) {
  KVCAST_TRY(const std::string certificate, ReadFile(files.certificate, kPemBytesMax));
  KVCAST_TRY(const std::string key, ReadFile(files.key, kPemBytesMax));
  auto facts = ReadCertificate(certificate);
  if (!facts.ok()) {
    return std::move(facts).error().In(files.certificate.string());
  }
  const gnutls_datum_t certificate_datum = PemDatum(certificate);
  const gnutls_datum_t key_datum = PemDatum(key);
  if (const int failed = gnutls_certificate_set_x509_key_mem(
          material.certificates(), &certificate_datum, &key_datum, GNUTLS_X509_FMT_PEM);
      failed < 0) {
    return TlsError("This key does not go with the certificate in " + files.certificate.string(),
                    failed)
        .In(files.key.string());
  }
  return Shown{facts->fingerprint, Sha256::Of(key)};
}

}  // namespace

Result<std::shared_ptr<TlsMaterial>> TlsMaterial::Make() {
  std::shared_ptr<TlsMaterial> made(new TlsMaterial);
  int failed = gnutls_certificate_allocate_credentials(&made->certificates_);
  if (failed >= 0) {
    failed = gnutls_priority_init(&made->priorities_, kPriorities, nullptr);
  }
  if (failed < 0) {
    return Error(ErrorCode::kMachine, std::string("GnuTLS cannot do TLS 1.3 with AES-GCM: ") +
                                          gnutls_strerror(failed) +
                                          ". Does a system-wide policy forbid it?");
  }
  return made;
}

TlsMaterial::~TlsMaterial() {
  if (priorities_ != nullptr) {
    gnutls_priority_deinit(priorities_);
  }
  if (certificates_ != nullptr) {
    gnutls_certificate_free_credentials(certificates_);
  }
}

Result<ServerCredentials> ServerCredentials::FromFiles(const CertificateFiles& files) {
  KVCAST_TRY(const std::shared_ptr<TlsMaterial> material, TlsMaterial::Make());
  KVCAST_TRY(const Shown shown, Show(*material, files));
  return ServerCredentials(material, shown.fingerprint, shown.secret);
}

Digest ServerCredentials::SecretFor(std::string_view purpose) const {
  return HmacSha256(secret_.span()).Of(AsBytes(purpose));
}

Result<ServerCredentials> ServerCredentials::Development(const std::filesystem::path& directory) {
  const std::filesystem::path certificate = directory / kDevelopmentCertificate;
  const std::filesystem::path key = directory / kDevelopmentKey;
  KVCAST_TRY_VOID(EnsureDevelopmentCertificate(certificate, key));
  KVCAST_TRY_VOID(CheckForOwnerAlone(key));
  return FromFiles({certificate, key});
}

Result<void> ServerCredentials::RequireClientsOf(const std::filesystem::path& authorities) {
  KVCAST_TRY_VOID(Trust(*material_, authorities));
  requires_clients_ = true;
  return {};
}

Result<ClientCredentials> ClientCredentials::Make(ServerTrust trust,
                                                  const std::optional<CertificateFiles>& own) {
  KVCAST_TRY(const std::shared_ptr<TlsMaterial> material, TlsMaterial::Make());
  if (const auto* authorities = std::get_if<TrustedAuthorities>(&trust)) {
    KVCAST_TRY_VOID(Trust(*material, authorities->file));
  } else if (std::holds_alternative<SystemTrust>(trust)) {
    const int count = gnutls_certificate_set_x509_system_trust(material->certificates());
    if (count <= 0) {
      return Error(ErrorCode::kNotFound,
                   "This machine trusts no certificate authority, so not the server's. Install the "
                   "system's list, name a file of authorities, or add #FINGERPRINT to its address, "
                   "as 'kvcast serve' prints it.");
    }
  }
  if (own) {
    KVCAST_TRY_VOID(Show(*material, *own));
  }
  return ClientCredentials(material, std::move(trust));
}

}  // namespace kvcast
