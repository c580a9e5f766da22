#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "kvcast/base/result.h"

namespace kvcast {

// Who we are to an S3 server. Never logged.
struct S3Credentials {
  std::string access_key;
  std::string secret_key;
  std::string session_token;  // Empty: none.
  friend bool operator==(const S3Credentials&, const S3Credentials&) = default;
};

// Where they may be found, the first of these that has any: what is configured, the environment
// (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN), a file.
struct S3CredentialSource {
  std::optional<S3Credentials> configured;
  bool environment = true;
  std::filesystem::path file;  // Empty: AWS_SHARED_CREDENTIALS_FILE, or ~/.aws/credentials.
  std::string profile;         // Empty: AWS_PROFILE, or "default".

  // Looks again each time, since files change when credentials are renewed.
  Result<S3Credentials> Find() const;
};

// One profile of such a file. Not found: it has no such profile.
Result<S3Credentials> ParseS3Credentials(std::string_view text, std::string_view profile);

}  // namespace kvcast
