#pragma once

#include <filesystem>

#include "kvcast/base/result.h"
#include "kvcast/catalog/catalog_track.h"

namespace kvcast {

// What a node keeps between runs: who it is, and its development certificate. In a directory that
// is made when it is first needed, for its owner alone.
class NodeState {
 public:
  // $XDG_STATE_HOME/kvcast, or ~/.local/state/kvcast. Not found: neither is to be had.
  static Result<std::filesystem::path> DefaultDirectory();
  static Result<NodeState> Open(const std::filesystem::path& directory);

  const std::filesystem::path& directory() const { return directory_; }
  // Drawn once, and the same ever after: two nodes must not share a directory.
  const NodeId& node_id() const { return node_id_; }

  static constexpr const char* kNodeIdFile = "node-id";

 private:
  NodeState(std::filesystem::path directory, const NodeId& node_id)
      : directory_(std::move(directory)), node_id_(node_id) {}

  std::filesystem::path directory_;
  NodeId node_id_;
};

}  // namespace kvcast
