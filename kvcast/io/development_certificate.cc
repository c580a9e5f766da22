#include "kvcast/io/development_certificate.h"

#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "kvcast/base/bytes.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/descriptor.h"
#include "kvcast/io/entropy.h"
#include "kvcast/io/file.h"
#include "kvcast/io/system_error.h"

namespace kvcast {
namespace {

constexpr std::string_view kCommonName = "kvcast development";
// Clocks of machines differ, and nobody renews it: whoever pins it decides for how long.
constexpr auto kValidBefore = std::chrono::hours(24);
constexpr auto kValidAfter = std::chrono::years(20);

using Key = std::unique_ptr<gnutls_x509_privkey_int, decltype(&gnutls_x509_privkey_deinit)>;
using Certificate = std::unique_ptr<gnutls_x509_crt_int, decltype(&gnutls_x509_crt_deinit)>;

Result<void> Check(int code) {
  if (code < 0) {
    return Error(ErrorCode::kMachine,
                 std::string("Cannot make a certificate: ") + gnutls_strerror(code));
  }
  return {};
}

std::string Take(gnutls_datum_t& datum) {
  std::string text(reinterpret_cast<const char*>(datum.data), datum.size);
  gnutls_free(datum.data);
  return text;
}

Result<Key> MakeKey() {
  gnutls_x509_privkey_t key = nullptr;
  KVCAST_TRY_VOID(Check(gnutls_x509_privkey_init(&key)));
  Key owner(key, &gnutls_x509_privkey_deinit);
  KVCAST_TRY_VOID(Check(gnutls_x509_privkey_generate(
      key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0)));
  return owner;
}

Result<void> Name(gnutls_x509_crt_t certificate) {
  KVCAST_TRY_VOID(Check(gnutls_x509_crt_set_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0,
                                                      kCommonName.data(),
                                                      static_cast<unsigned>(kCommonName.size()))));
  const std::string_view host = "localhost";
  const std::array<unsigned char, 4> v4{127, 0, 0, 1};
  std::array<unsigned char, 16> v6{};
  v6.back() = 1;
  KVCAST_TRY_VOID(Check(gnutls_x509_crt_set_subject_alt_name(
      certificate, GNUTLS_SAN_DNSNAME, host.data(), static_cast<unsigned>(host.size()),
      GNUTLS_FSAN_APPEND)));
  KVCAST_TRY_VOID(Check(gnutls_x509_crt_set_subject_alt_name(
      certificate, GNUTLS_SAN_IPADDRESS, v4.data(), v4.size(), GNUTLS_FSAN_APPEND)));
  return Check(gnutls_x509_crt_set_subject_alt_name(certificate, GNUTLS_SAN_IPADDRESS, v6.data(),
                                                    v6.size(), GNUTLS_FSAN_APPEND));
}

Result<void> Fill(gnutls_x509_crt_t certificate, gnutls_x509_privkey_t key) {
  std::array<std::byte, 16> serial{};
  FillRandom(serial);
  serial[0] &= std::byte{0x7f};  // Negative numbers are not allowed.
  const auto now = WallNow();
  KVCAST_TRY_VOID(Check(gnutls_x509_crt_set_version(certificate, 3)));
  KVCAST_TRY_VOID(Check(gnutls_x509_crt_set_serial(certificate, serial.data(), serial.size())));
  KVCAST_TRY_VOID(Check(gnutls_x509_crt_set_activation_time(
      certificate, std::chrono::system_clock::to_time_t(now - kValidBefore))));
  KVCAST_TRY_VOID(Check(gnutls_x509_crt_set_expiration_time(
      certificate, std::chrono::system_clock::to_time_t(now + kValidAfter))));
  KVCAST_TRY_VOID(Name(certificate));
  KVCAST_TRY_VOID(Check(gnutls_x509_crt_set_key(certificate, key)));
  KVCAST_TRY_VOID(Check(gnutls_x509_crt_set_basic_constraints(certificate, 0, -1)));
  KVCAST_TRY_VOID(Check(gnutls_x509_crt_set_key_usage(certificate, GNUTLS_KEY_DIGITAL_SIGNATURE)));
  return Check(gnutls_x509_crt_sign2(certificate, certificate, key, GNUTLS_DIG_SHA256, 0));
}

// For its owner alone from the first moment on, and in place only when it is whole.
Result<void> WriteKey(const std::filesystem::path& path, const std::string& pem) {
  std::filesystem::path temporary = path;
  temporary += ".tmp";
  ::unlink(temporary.c_str());  // Of a process that died: we hold the lock.
  const Descriptor file(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file || ::write(file.number(), pem.data(), pem.size()) != static_cast<ssize_t>(pem.size()) ||
      ::fsync(file.number()) != 0 || ::rename(temporary.c_str(), path.c_str()) != 0) {
    return SystemError("Cannot write a private key", errno).In(path.string());
  }
  return {};
}

Result<void> MakePair(const std::filesystem::path& certificate_path,
                      const std::filesystem::path& key_path) {
  KVCAST_TRY(const Key key, MakeKey());
  gnutls_x509_crt_t raw = nullptr;
  KVCAST_TRY_VOID(Check(gnutls_x509_crt_init(&raw)));
  const Certificate certificate(raw, &gnutls_x509_crt_deinit);
  KVCAST_TRY_VOID(Fill(raw, key.get()));
  gnutls_datum_t datum{};
  KVCAST_TRY_VOID(Check(gnutls_x509_privkey_export2(key.get(), GNUTLS_X509_FMT_PEM, &datum)));
  KVCAST_TRY_VOID(WriteKey(key_path, Take(datum)));
  KVCAST_TRY_VOID(Check(gnutls_x509_crt_export2(raw, GNUTLS_X509_FMT_PEM, &datum)));
  return WriteFileAtomically(certificate_path, AsBytes(Take(datum)));
}

}  // namespace

Result<void> EnsureDevelopmentCertificate(const std::filesystem::path& certificate,
                                          const std::filesystem::path& key) {
  const std::filesystem::path directory = key.parent_path();
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  const Descriptor lock(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock || ::flock(lock.number(), LOCK_EX) != 0) {
    return SystemError("Cannot keep a development certificate here", errno).In(directory.string());
  }
  // The certificate comes last, so where it is, so is its key.
  if (std::filesystem::exists(certificate, failed) && std::filesystem::exists(key, failed)) {
    return {};
  }
  return MakePair(certificate, key);
}

}  // namespace kvcast
