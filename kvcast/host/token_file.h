#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "kvcast/base/result.h"
#include "kvcast/host/peer_identity.h"
#include "kvcast/io/clock.h"
#include "kvcast/relay/token_table.h"

namespace kvcast {

// A node's file of who may do what: a line for each token or certificate, in JSON, described in
// docs/reference/tokens.md. Of tokens it has digests alone, so whoever reads it can use none.
//
//   {"token": NAME, "sha256": HEX, "tenants": [...], "may": [...], "expires": TIME}
//   {"certificate": SUBJECT or FINGERPRINT, "tenants": [...], "may": [...], "expires": TIME}
struct TokenFile {
  relay::TokenTable tokens;
  CertificateGrants certificates;

  // Errors name the line. Empty lines and those that begin with # are skipped.
  static Result<TokenFile> Parse(std::string_view text);
  static Result<TokenFile> Read(const std::filesystem::path& path);
};

// A token that nobody has seen yet, and its line for the file.
struct NewToken {
  std::string token;
  std::string line;  // With its end.
};
// Invalid: a name, a tenant or a permission that cannot be.
Result<NewToken> MakeToken(const std::string& name, const relay::Grant& grant);

// What a client sends: the only line of a file. Too large, malformed: it cannot be a token.
Result<std::string> ReadToken(const std::filesystem::path& path);

// "30d", "12h", "90min", "45s": how long from now. Invalid: anything else.
Result<Duration> ParseTerm(std::string_view text);
// "2031-05-04T03:02:01Z", as microseconds since 1970. Invalid: anything else.
Result<uint64_t> ParseTimeOfDay(std::string_view text);

}  // namespace kvcast
