#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kvcast/base/digest.h"
#include "kvcast/base/result.h"

namespace kvcast {

// Where a MoQT relay is, and what to tell it of where we think it is.
//
//   moqt://HOST[:PORT][/PATH][?QUERY][#FINGERPRINT]     port 443 unless said
//   HOST:PORT#FINGERPRINT                               as `kvcast serve` prints it
//
// The fingerprint is that of the relay's certificate, SHA-256 in 64 hex digits. It is ours alone:
// like the fragment of any URI, it is never sent.
struct RelayUri {
  std::string host_and_port;  // With the port, for the socket.
  std::string authority;      // As it was written, for SETUP.
  std::string path;           // As it was written, with the query: it may be empty.
  std::optional<Digest> fingerprint;

  // Unsupported: another scheme, such as https:// for WebTransport. Invalid: none of the forms.
  static Result<RelayUri> Parse(std::string_view text);

  // "moqt://HOST:PORT/PATH", for people.
  std::string ToString() const { return "moqt://" + authority + path; }
};

}  // namespace kvcast
