#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "examples/tinylm/base/result.h"
#include "kvcast/kvcast.hpp"

namespace kvcast::tinylm {

// The options by which tinylm is told of a node, and how to be sure of each other.
class NodeOptions {
 public:
  // Returns --node. This must outlive the command.
  CLI::Option* AddTo(CLI::App& command);
  // The node, if one is named.
  Result<std::optional<kvcast::Node>> Read() const;

 private:
  kvcast::Node node_;
  std::string token_file_;
};

}  // namespace kvcast::tinylm
