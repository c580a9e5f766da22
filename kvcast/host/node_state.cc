#include "kvcast/host/node_state.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <system_error>

#include "kvcast/base/hex.h"
#include "kvcast/io/entropy.h"
#include "kvcast/io/file.h"
#include "kvcast/io/system_error.h"

namespace kvcast {
namespace {

Result<void> MakeDirectory(const std::filesystem::path& directory) {
  std::error_code failed;
  if (std::filesystem::create_directories(directory, failed)) {
    std::filesystem::permissions(directory, std::filesystem::perms::owner_all, failed);
  }
  if (failed) {
    return SystemError("Cannot make the directory " + directory.string(), failed.value());
  }
  return {};
}

Result<NodeId> ReadNodeId(const std::filesystem::path& file) {
  KVCAST_TRY(std::string text, ReadRegularFile(file, 100));
  while (!text.empty() && text.back() == '\n') {
    text.pop_back();
  }
  const auto bytes = FromHex(text);
  NodeId id{};
  if (!bytes.ok() || bytes->size() != id.size()) {
    return Error(ErrorCode::kMalformed,
                 file.string() +
                     " does not hold a node's id, which is 32 hex digits. Remove it, and "
                     "the node draws a new one.");
  }
  std::ranges::copy(*bytes, id.begin());
  return id;
}

}  // namespace

Result<std::filesystem::path> NodeState::DefaultDirectory() {
  // As the XDG specification has it, a path that is not absolute counts as none.
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && state[0] == '/') {
    return std::filesystem::path(state) / "kvcast";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/') {
    return std::filesystem::path(home) / ".local" / "state" / "kvcast";
  }
  return Error(ErrorCode::kNotFound,
               "There is no home directory to keep the node's state in. Name one by --state-dir.");
}

Result<NodeState> NodeState::Open(const std::filesystem::path& directory) {
  KVCAST_TRY_VOID(MakeDirectory(directory));
  const std::filesystem::path file = directory / kNodeIdFile;
  Result<NodeId> id = ReadNodeId(file);
  if (!id.ok() && id.error().code() == ErrorCode::kNotFound) {
    NodeId drawn{};
    FillRandom(drawn);
    KVCAST_TRY_VOID(WriteFileAtomically(file, AsBytes(ToHex(drawn) + "\n")));
    id = drawn;
  }
  KVCAST_TRY(const NodeId known, std::move(id));
  return NodeState(directory, known);
}

}  // namespace kvcast
