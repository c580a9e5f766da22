#include "kvcast/io/s3_credentials.h"

#include <cstdlib>

#include "kvcast/io/file.h"

namespace kvcast {
namespace {

constexpr size_t kCredentialFileBytesMax = 1 << 20;

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string_view TrimmedLine(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

}  // namespace

Result<S3Credentials> ParseS3Credentials(std::string_view text, std::string_view profile) {
  S3Credentials found;
  bool within = false;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = TrimmedLine(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (line.empty() || line.front() == '#' || line.front() == ';') {
      continue;
    }
    if (line.front() == '[' && line.back() == ']') {
      within = TrimmedLine(line.substr(1, line.size() - 2)) == profile;
      continue;
    }
    const size_t equals = line.find('=');
    if (!within || equals == std::string_view::npos) {
      continue;
    }
    const std::string_view name = TrimmedLine(line.substr(0, equals));
    const std::string_view value = TrimmedLine(line.substr(equals + 1));
    if (name == "aws_access_key_id") {
      found.access_key = value;
    } else if (name == "aws_secret_access_key") {
      found.secret_key = value;
    } else if (name == "aws_session_token") {
      found.session_token = value;
    }
  }
  if (found.access_key.empty() || found.secret_key.empty()) {
    return Error(ErrorCode::kNotFound, "There is no profile \"" + std::string(profile) +
                                           "\" with aws_access_key_id and aws_secret_access_key.");
  }
  return found;
}

Result<S3Credentials> S3CredentialSource::Find() const {
  if (configured) {
    return *configured;
  }
  if (environment) {
    S3Credentials found{Environment("AWS_ACCESS_KEY_ID"), Environment("AWS_SECRET_ACCESS_KEY"),
                        Environment("AWS_SESSION_TOKEN")};
    if (!found.access_key.empty() && !found.secret_key.empty()) {
      return found;
    }
  }
  std::filesystem::path path = file;
  if (path.empty()) {
    path = Environment("AWS_SHARED_CREDENTIALS_FILE");
  }
  if (path.empty() && !Environment("HOME").empty()) {
    path = std::filesystem::path(Environment("HOME")) / ".aws" / "credentials";
  }
  if (path.empty()) {
    return Error(ErrorCode::kNotFound,
                 "There are no credentials for the bucket: set AWS_ACCESS_KEY_ID and "
                 "AWS_SECRET_ACCESS_KEY, or name a file that has them (credentials=FILE).");
  }
  const std::string named = profile.empty() ? Environment("AWS_PROFILE") : profile;
  auto text = ReadRegularFile(path, kCredentialFileBytesMax);
  if (!text.ok()) {
    return Error(
        ErrorCode::kNotFound,
        "There are no credentials for the bucket in AWS_ACCESS_KEY_ID and "
        "AWS_SECRET_ACCESS_KEY, and this file, which credentials=FILE names, does not give "
        "any: " +
            text.error().ToString());
  }
  auto parsed = ParseS3Credentials(*text, named.empty() ? "default" : named);
  if (!parsed.ok()) {
    return Error(parsed.error()).In(path.string());
  }
  return parsed;
}

}  // namespace kvcast
