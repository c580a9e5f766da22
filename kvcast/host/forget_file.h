#pragma once

#include <filesystem>
#include <string_view>

#include "kvcast/base/result.h"
#include "kvcast/relay/forget_memory.h"

namespace kvcast {

// Where a node keeps, among its state, what relays below it are to be told, and how far it has
// followed its upstreams:
//
//   {"lists": {TENANT: the list in hex}, "followed": [{"upstream", "node", "tenant", "at"}]}
inline constexpr const char* kForgetFile = "forgotten.json";

// Nothing, if there is no such file. Malformed: it is none of ours.
Result<relay::ForgetMemory> ReadForgetFile(const std::filesystem::path& path);
Result<void> WriteForgetFile(const std::filesystem::path& path, const relay::ForgetMemory& memory);

}  // namespace kvcast
