#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "kvcast/io/quic_options.h"

namespace kvcast {

// The options by which a command is told how its QUIC connections are to be.
struct QuicFlags {
  std::string congestion = "auto";
  std::string qlog_directory;

  // Adds them to a command; `flags` must outlive it.
  static void AddTo(CLI::App& command, QuicFlags& flags);
  QuicOptions Options() const;
};

}  // namespace kvcast
