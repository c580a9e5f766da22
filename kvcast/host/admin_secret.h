#pragma once

#include <filesystem>
#include <string>

#include "kvcast/base/result.h"

namespace kvcast {

// How commands on a node's own machine find its admin port, and are let in there: two files among
// the node's state, which is for its owner alone. Drawn at each start.
struct AdminSecret {
  static constexpr const char* kTokenFile = "admin-token";
  static constexpr const char* kAddressFile = "admin-address";

  std::string token;
  std::string address;  // "127.0.0.1:4480"

  // Not found: no node runs with this state, or one without an admin port.
  static Result<AdminSecret> Read(const std::filesystem::path& state);
};

Result<std::string> DrawAdminSecret();
// An empty address: there is no admin port, and the files of an earlier run go.
Result<void> WriteAdminSecret(const std::filesystem::path& state, const std::string& token,
                              const std::string& address);

}  // namespace kvcast
