#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "kvcast/base/result.h"
#include "kvcast/io/quic_credentials.h"

namespace kvcast {

// The options by which a client is told whom to trust and who it is itself: a file of authorities,
// its own certificate and key or its token, and the one that turns the check of the server off.
struct TrustFlags {
  std::string authorities;
  std::string certificate;
  std::string key;
  std::string token_file;
  bool insecure_skip_verification = false;

  // Adds them to a command; `flags` must outlive it. `authorities` is what the option for them is
  // called. They make no sense without `needed`, where that is given.
  static void AddTo(CLI::App& command, TrustFlags& flags, const std::string& authorities,
                    CLI::Option* needed = nullptr);

  // `trust`, unless checking is turned off, of which stderr is told each time. Invalid: it is, and
  // something to check by was given too.
  Result<ServerTrust> Applied(ServerTrust trust) const;
  // What to show to a server that asks; absent if nothing was given.
  std::optional<CertificateFiles> own() const;
  // What to send to a server that knows its clients by tokens; empty if nothing was given.
  Result<std::string> Token() const;
};

}  // namespace kvcast
