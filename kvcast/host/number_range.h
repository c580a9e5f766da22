#pragma once

#include <CLI/CLI.hpp>

namespace kvcast {

// Takes numbers from `low` to `high`, both included. CLI::Range takes "nan" too.
CLI::Validator NumberRange(double low, double high);

}  // namespace kvcast
