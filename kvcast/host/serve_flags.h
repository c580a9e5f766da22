#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/host/node_config.h"

namespace kvcast {

// The flags by which a node is configured, of every command that takes them: a file, and one for
// each key of config_key.h that has one.
class ServeFlags {
 public:
  // Adds them to a command. `flags` must outlive it, and stay where it is.
  static void AddTo(CLI::App& command, ServeFlags& flags);

  // What the node is told by file and flags; flags win, and a list of flags replaces the file's
  // list. Invalid, for the file: it says what is wrong, and where. Throws what CLI11 throws for a
  // flag that makes no sense.
  Result<NodeConfig> Config() const;
  // Empty: there is none.
  const std::string& config_file() const { return file_; }

 private:
  std::string file_;
  std::map<std::string, std::string> values_;  // By a key's full name, those that were given.
  std::map<std::string, bool> switches_;
  std::map<std::string, std::vector<std::string>> lists_;  // By section.
};

}  // namespace kvcast
