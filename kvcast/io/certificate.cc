#include "kvcast/io/certificate.h"

#include <arpa/inet.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>

#include "kvcast/io/entropy.h"

namespace kvcast {
namespace {

using Key = std::unique_ptr<gnutls_x509_privkey_int, decltype(&gnutls_x509_privkey_deinit)>;
using Certificate = std::unique_ptr<gnutls_x509_crt_int, decltype(&gnutls_x509_crt_deinit)>;

constexpr size_t kHostBytesMax = 253;  // Of a DNS name, as DNS has it.
constexpr unsigned kNamesMax = 1000;   // More than anybody reads, and it ends.

Result<void> Check(int code) {
  if (code < 0) {
    return Error(ErrorCode::kMachine,
                 std::string("Cannot make a certificate: ") + gnutls_strerror(code));
  }
  return {};
}

gnutls_datum_t Datum(const std::string& text) {
  return {reinterpret_cast<unsigned char*>(const_cast<char*>(text.data())),
          static_cast<unsigned>(text.size())};
}

std::string Take(gnutls_datum_t& datum) {
  std::string text(reinterpret_cast<const char*>(datum.data), datum.size);
  gnutls_free(datum.data);
  return text;
}

// As X.509 has addresses: 4 or 16 bytes.
std::optional<std::string> AddressBytes(std::string_view text) {
  const std::string name(text);
  std::array<char, sizeof(in6_addr)> bytes{};
  if (::inet_pton(AF_INET, name.c_str(), bytes.data()) == 1) {
    return std::string(bytes.data(), sizeof(in_addr));
  }
  if (::inet_pton(AF_INET6, name.c_str(), bytes.data()) == 1) {
    return std::string(bytes.data(), sizeof(in6_addr));
  }
  return std::nullopt;
}

std::string AddressText(std::string_view bytes) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int family = bytes.size() == sizeof(in_addr) ? AF_INET : AF_INET6;
  if ((bytes.size() != sizeof(in_addr) && bytes.size() != sizeof(in6_addr)) ||
      ::inet_ntop(family, bytes.data(), text.data(), text.size()) == nullptr) {
    return "(an address of " + std::to_string(bytes.size()) + " bytes)";
  }
  return text.data();
}

Result<Key> EmptyKey() {
  gnutls_x509_privkey_t key = nullptr;
  KVCAST_TRY_VOID(Check(gnutls_x509_privkey_init(&key)));
  return Key(key, &gnutls_x509_privkey_deinit);
}

Result<Certificate> EmptyCertificate() {
  gnutls_x509_crt_t certificate = nullptr;
  KVCAST_TRY_VOID(Check(gnutls_x509_crt_init(&certificate)));
  return Certificate(certificate, &gnutls_x509_crt_deinit);
}

Result<Key> MakeKey() {
  KVCAST_TRY(Key key, EmptyKey());
  KVCAST_TRY_VOID(Check(gnutls_x509_privkey_generate(
      key.get(), GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0)));
  return key;
}

Result<Certificate> ParseCertificate(const std::string& text,
                                     gnutls_x509_crt_fmt_t form = GNUTLS_X509_FMT_PEM) {
  KVCAST_TRY(Certificate certificate, EmptyCertificate());
  const gnutls_datum_t datum = Datum(text);
  if (const int failed = gnutls_x509_crt_import(certificate.get(), &datum, form); failed < 0) {
    return Error(ErrorCode::kMalformed, std::string("This is no certificate in ") +
                                            (form == GNUTLS_X509_FMT_PEM ? "PEM" : "DER") +
                                            " form: " + gnutls_strerror(failed));
  }
  return certificate;
}

Result<void> AddHost(gnutls_x509_crt_t certificate, const std::string& host) {
  if (!IsHostName(host)) {
    return Error(ErrorCode::kInvalid, "\"" + host + "\" is no host name and no address.");
  }
  const std::optional<std::string> address = AddressBytes(host);
  const std::string& value = address ? *address : host;
  return Check(gnutls_x509_crt_set_subject_alt_name(
      certificate, address ? GNUTLS_SAN_IPADDRESS : GNUTLS_SAN_DNSNAME, value.data(),
      static_cast<unsigned>(value.size()), GNUTLS_FSAN_APPEND));
}

// Everything but the signature and what the certificate may be used for.
Result<void> Fill(gnutls_x509_crt_t certificate, gnutls_x509_privkey_t key,
                  const CertificateTerms& terms) {
  std::array<std::byte, 16> serial{};
  FillRandom(serial);
  // Neither negative nor with a first byte of zero, which X.509 would have to leave out.
  serial[0] = (serial[0] & std::byte{0x7f}) | std::byte{0x40};
  KVCAST_TRY_VOID(Check(gnutls_x509_crt_set_version(certificate, 3)));
  KVCAST_TRY_VOID(Check(gnutls_x509_crt_set_serial(certificate, serial.data(), serial.size())));
  const auto seconds = [](WallTime time) {
    return std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count();
  };
  KVCAST_TRY_VOID(Check(gnutls_x509_crt_set_activation_time(certificate, seconds(terms.from))));
  KVCAST_TRY_VOID(Check(gnutls_x509_crt_set_expiration_time(certificate, seconds(terms.until))));
  KVCAST_TRY_VOID(Check(gnutls_x509_crt_set_dn_by_oid(
      certificate, GNUTLS_OID_X520_COMMON_NAME, 0, terms.subject.data(),
      static_cast<unsigned>(terms.subject.size()))));
  for (const std::string& host : terms.hosts) {
    KVCAST_TRY_VOID(AddHost(certificate, host));
  }
  for (const std::string& uri : terms.uris) {
    KVCAST_TRY_VOID(Check(gnutls_x509_crt_set_subject_alt_name(
        certificate, GNUTLS_SAN_URI, uri.data(), static_cast<unsigned>(uri.size()),
        GNUTLS_FSAN_APPEND)));
  }
  KVCAST_TRY_VOID(Check(gnutls_x509_crt_set_key(certificate, key)));
  std::array<unsigned char, 64> id{};
  size_t id_bytes = id.size();
  KVCAST_TRY_VOID(Check(
      gnutls_x509_crt_get_key_id(certificate, GNUTLS_KEYID_USE_SHA256, id.data(), &id_bytes)));
  return Check(gnutls_x509_crt_set_subject_key_id(certificate, id.data(), id_bytes));
}

Result<void> AllowUse(gnutls_x509_crt_t certificate, std::optional<CertificateUse> use) {
  KVCAST_TRY_VOID(Check(gnutls_x509_crt_set_basic_constraints(certificate, 0, -1)));
  KVCAST_TRY_VOID(Check(gnutls_x509_crt_set_key_usage(certificate, GNUTLS_KEY_DIGITAL_SIGNATURE)));
  if (use == CertificateUse::kServer) {
    KVCAST_TRY_VOID(
        Check(gnutls_x509_crt_set_key_purpose_oid(certificate, GNUTLS_KP_TLS_WWW_SERVER, 0)));
  }
  if (use) {
    KVCAST_TRY_VOID(
        Check(gnutls_x509_crt_set_key_purpose_oid(certificate, GNUTLS_KP_TLS_WWW_CLIENT, 0)));
  }
  return {};
}

Result<void> AllowSigning(gnutls_x509_crt_t certificate) {
  KVCAST_TRY_VOID(Check(gnutls_x509_crt_set_basic_constraints(certificate, 1, 0)));
  return Check(
      gnutls_x509_crt_set_key_usage(certificate, GNUTLS_KEY_KEY_CERT_SIGN | GNUTLS_KEY_CRL_SIGN));
}

Result<CertificateAndKey> Export(gnutls_x509_crt_t certificate, gnutls_x509_privkey_t key) {
  CertificateAndKey made;
  gnutls_datum_t datum{};
  KVCAST_TRY_VOID(Check(gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &datum)));
  made.key = Take(datum);
  KVCAST_TRY_VOID(Check(gnutls_x509_crt_export2(certificate, GNUTLS_X509_FMT_PEM, &datum)));
  made.certificate = Take(datum);
  return made;
}

Result<void> NameIssuer(gnutls_x509_crt_t certificate, gnutls_x509_crt_t issuer) {
  std::array<unsigned char, 64> id{};
  size_t id_bytes = id.size();
  unsigned critical = 0;
  if (gnutls_x509_crt_get_subject_key_id(issuer, id.data(), &id_bytes, &critical) < 0) {
    return {};  // An authority that somebody else made may have none.
  }
  return Check(gnutls_x509_crt_set_authority_key_id(certificate, id.data(), id_bytes));
}

WallTime TimeOf(time_t seconds) { return WallTime(std::chrono::seconds(seconds)); }

std::string NameOf(gnutls_x509_crt_t certificate,
                   int (*get)(gnutls_x509_crt_t, gnutls_datum_t*, unsigned)) {
  gnutls_datum_t datum{};
  return get(certificate, &datum, 0) < 0 ? "" : Take(datum);
}

void ReadNames(gnutls_x509_crt_t certificate, CertificateFacts& facts) {
  for (unsigned i = 0; i < kNamesMax; ++i) {
    std::array<char, 1024> name{};
    size_t bytes = name.size();
    const int type =
        gnutls_x509_crt_get_subject_alt_name(certificate, i, name.data(), &bytes, nullptr);
    if (type == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE) {
      break;
    }
    if (type == GNUTLS_SAN_DNSNAME) {
      facts.hosts.emplace_back(name.data(), bytes);
    } else if (type == GNUTLS_SAN_IPADDRESS) {
      facts.hosts.push_back(AddressText({name.data(), bytes}));
    } else if (type == GNUTLS_SAN_URI) {
      facts.uris.emplace_back(name.data(), bytes);
    }
  }
}

// One without any purpose serves every purpose.
void ReadPurposes(gnutls_x509_crt_t certificate, CertificateFacts& facts) {
  bool any = false;
  for (unsigned i = 0; i < kNamesMax; ++i) {
    std::array<char, 128> oid{};
    size_t bytes = oid.size();
    if (gnutls_x509_crt_get_key_purpose_oid(certificate, i, oid.data(), &bytes, nullptr) < 0) {
      break;
    }
    any = true;
    const std::string_view purpose(oid.data());
    facts.for_servers = facts.for_servers || purpose == GNUTLS_KP_TLS_WWW_SERVER;
    facts.for_clients = facts.for_clients || purpose == GNUTLS_KP_TLS_WWW_CLIENT;
  }
  if (!any && !facts.is_authority) {
    facts.for_servers = facts.for_clients = true;
  }
}

}  // namespace

bool IsHostName(std::string_view name) {
  if (AddressBytes(name)) {
    return true;
  }
  const std::string_view rest = name.starts_with("*.") ? name.substr(2) : name;
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  return !rest.empty() && name.size() <= kHostBytesMax && rest.front() != '.' &&
         rest.find("..") == std::string_view::npos && std::ranges::all_of(rest, allowed);
}

Result<CertificateAndKey> MakeSelfSigned(const CertificateTerms& terms) {
  KVCAST_TRY(const Key key, MakeKey());
  KVCAST_TRY(const Certificate certificate, EmptyCertificate());
  KVCAST_TRY_VOID(Fill(certificate.get(), key.get(), terms));
  KVCAST_TRY_VOID(AllowUse(certificate.get(), std::nullopt));
  KVCAST_TRY_VOID(Check(gnutls_x509_crt_sign2(certificate.get(), certificate.get(), key.get(),
                                              GNUTLS_DIG_SHA256, 0)));
  return Export(certificate.get(), key.get());
}

Result<CertificateAndKey> MakeAuthority(const CertificateTerms& terms) {
  KVCAST_TRY(const Key key, MakeKey());
  KVCAST_TRY(const Certificate certificate, EmptyCertificate());
  KVCAST_TRY_VOID(Fill(certificate.get(), key.get(), terms));
  KVCAST_TRY_VOID(AllowSigning(certificate.get()));
  KVCAST_TRY_VOID(Check(gnutls_x509_crt_sign2(certificate.get(), certificate.get(), key.get(),
                                              GNUTLS_DIG_SHA256, 0)));
  return Export(certificate.get(), key.get());
}

Result<CertificateAndKey> MakeSigned(const CertificateAndKey& authority,
                                     const CertificateTerms& terms, CertificateUse use) {
  KVCAST_TRY(const Certificate issuer, ParseCertificate(authority.certificate));
  if (terms.until > TimeOf(gnutls_x509_crt_get_expiration_time(issuer.get()))) {
    return Error(ErrorCode::kInvalid, "It would be valid for longer than its authority is.");
  }
  KVCAST_TRY(const Key issuer_key, EmptyKey());
  const gnutls_datum_t datum = Datum(authority.key);
  if (const int failed = gnutls_x509_privkey_import(issuer_key.get(), &datum, GNUTLS_X509_FMT_PEM);
      failed < 0) {
    return Error(ErrorCode::kMalformed,
                 std::string("This is no private key in PEM form: ") + gnutls_strerror(failed));
  }
  KVCAST_TRY(const Key key, MakeKey());
  KVCAST_TRY(const Certificate certificate, EmptyCertificate());
  KVCAST_TRY_VOID(Fill(certificate.get(), key.get(), terms));
  KVCAST_TRY_VOID(AllowUse(certificate.get(), use));
  KVCAST_TRY_VOID(NameIssuer(certificate.get(), issuer.get()));
  if (const int failed = gnutls_x509_crt_sign2(certificate.get(), issuer.get(), issuer_key.get(),
                                               GNUTLS_DIG_SHA256, 0);
      failed < 0) {
    return Error(ErrorCode::kMismatch,
                 std::string("The authority cannot sign: ") + gnutls_strerror(failed));
  }
  return Export(certificate.get(), key.get());
}

static Result<CertificateFacts> FactsOf(const Certificate& certificate) {
  gnutls_datum_t der{};
  KVCAST_TRY_VOID(Check(gnutls_x509_crt_export2(certificate.get(), GNUTLS_X509_FMT_DER, &der)));
  CertificateFacts facts;
  facts.fingerprint = Sha256::Of(Take(der));
  facts.subject = NameOf(certificate.get(), &gnutls_x509_crt_get_dn3);
  facts.issuer = NameOf(certificate.get(), &gnutls_x509_crt_get_issuer_dn3);
  ReadNames(certificate.get(), facts);
  facts.from = TimeOf(gnutls_x509_crt_get_activation_time(certificate.get()));
  facts.until = TimeOf(gnutls_x509_crt_get_expiration_time(certificate.get()));
  facts.is_authority = gnutls_x509_crt_get_ca_status(certificate.get(), nullptr) > 0;
  ReadPurposes(certificate.get(), facts);
  return facts;
}

Result<CertificateFacts> ReadCertificate(const std::string& pem) {
  KVCAST_TRY(const Certificate certificate, ParseCertificate(pem));
  return FactsOf(certificate);
}

Result<CertificateFacts> ReadDerCertificate(const std::string& der) {
  KVCAST_TRY(const Certificate certificate, ParseCertificate(der, GNUTLS_X509_FMT_DER));
  return FactsOf(certificate);
}

}  // namespace kvcast
