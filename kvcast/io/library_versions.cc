#include "kvcast/io/library_versions.h"

#include <curl/curl.h>
#include <gnutls/gnutls.h>
#include <ngtcp2/ngtcp2.h>
#include <spdlog/version.h>

namespace kvcast {

std::vector<LibraryVersion> LibraryVersions() {
  const std::string spdlog = std::to_string(SPDLOG_VER_MAJOR) + "." +
                             std::to_string(SPDLOG_VER_MINOR) + "." +
                             std::to_string(SPDLOG_VER_PATCH);
  return {
      {"ngtcp2", ngtcp2_version(0)->version_str, "QUIC, with GnuTLS for its cryptography"},
      {"GnuTLS", gnutls_check_version(nullptr), "TLS and digests"},
      {"libcurl", curl_version_info(CURLVERSION_NOW)->version, "buckets that speak S3"},
      {"liburing", KVCAST_LIBURING_VERSION, "asynchronous disk access"},
      {"spdlog", spdlog, "the log"},
  };
}

}  // namespace kvcast
