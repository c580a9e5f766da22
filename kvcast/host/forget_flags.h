#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "kvcast/base/result.h"
#include "kvcast/relay/forget_scope.h"

namespace kvcast {

// What is to be forgotten, as it is typed.
struct ForgetFlags {
  std::string tenant;
  std::string model;
  std::string prefix;

  void AddTo(CLI::App& command);
  // Invalid: no tenant, no name of a model, or no hash can be that.
  Result<relay::ForgetScope> Scope() const;
};

}  // namespace kvcast
