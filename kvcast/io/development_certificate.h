#pragma once

#include <filesystem>

#include "kvcast/base/result.h"

namespace kvcast {

// Makes a certificate that signs itself (ECDSA P-256, for localhost, 127.0.0.1 and ::1) and its
// key, unless both files are there already. The key's file is for its owner alone (0600).
//
// Of several processes that start together one makes them, and all find the same. REQUIRES: both
// files are to lie in one directory, which is made if need be.
Result<void> EnsureDevelopmentCertificate(const std::filesystem::path& certificate,
                                          const std::filesystem::path& key);

}  // namespace kvcast
