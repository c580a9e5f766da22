#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace kvcast {

// A variable of the environment, as it was before once the test is over.
class EnvironmentVariable {
 public:
  EnvironmentVariable(const char* name, const std::optional<std::string>& value) : name_(name) {
    if (const char* before = std::getenv(name)) {
      before_ = before;
    }
    Set(value);
  }
  ~EnvironmentVariable() { Set(before_); }
  EnvironmentVariable(const EnvironmentVariable&) = delete;
  EnvironmentVariable& operator=(const EnvironmentVariable&) = delete;

 private:
  void Set(const std::optional<std::string>& value) {
    value ? ::setenv(name_, value->c_str(), 1) : ::unsetenv(name_);
  }

  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace kvcast
