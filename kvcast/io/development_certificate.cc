#include "kvcast/io/development_certificate.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <chrono>
#include <string>

#include "kvcast/base/bytes.h"
#include "kvcast/io/certificate.h"
#include "kvcast/io/descriptor.h"
#include "kvcast/io/file.h"
#include "kvcast/io/system_error.h"

namespace kvcast {
namespace {

// Clocks of machines differ, and nobody renews it: whoever pins it decides for how long.
constexpr auto kValidBefore = std::chrono::hours(24);
constexpr auto kValidAfter = std::chrono::years(20);

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
  KVCAST_TRY(const CertificateAndKey made,
             MakeSelfSigned({.subject = "kvcast development",
                             .hosts = {"localhost", "127.0.0.1", "::1"},
                             .from = WallNow() - kValidBefore,
                             .until = WallNow() + kValidAfter}));
  KVCAST_TRY_VOID(WriteFileAtomically(key, AsBytes(made.key), 0600));
  return WriteFileAtomically(certificate, AsBytes(made.certificate));
}

}  // namespace kvcast
