#include "kvcast/host/bucket_flag.h"

#include <cstdlib>
#include <initializer_list>

#include "kvcast/host/flag_words.h"
#include "kvcast/io/human_units.h"

namespace kvcast {
namespace {

// No read may take longer than the most (storage_plan.cc), and none comes sooner than the least.
constexpr Duration kPatienceLeast = std::chrono::milliseconds(1);
constexpr Duration kPatienceMost = std::chrono::seconds(30);

Error BadBucket(const std::string& what) {
  return Error(ErrorCode::kInvalid, what + ". It is " + kBucketGrammar);
}

// The first of these that is set.
std::string FromEnvironment(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') {
      return value;
    }
  }
  return "";
}

// Who we are to the server, as a configuration says it; whether the word is about that.
bool TakeSecret(const FlagWord& word, S3CredentialSource& source) {
  std::string S3Credentials::*const part = word.name == "access_key"   ? &S3Credentials::access_key
                                           : word.name == "secret_key" ? &S3Credentials::secret_key
                                           : word.name == "session_token"
                                               ? &S3Credentials::session_token
                                               : nullptr;
  if (part == nullptr) {
    return false;
  }
  if (!source.configured) {
    source.configured.emplace();
  }
  (*source.configured).*part = word.value;
  return true;
}

// Keys without which the others say nothing, or that are said twice over.
std::optional<Error> CheckSecrets(const S3CredentialSource& source) {
  if (!source.configured) {
    return std::nullopt;
  }
  if (source.configured->access_key.empty() || source.configured->secret_key.empty()) {
    return Error(ErrorCode::kInvalid,
                 "Of a bucket's keys both access_key and secret_key are wanted, or neither");
  }
  if (!source.environment) {
    return Error(ErrorCode::kInvalid,
                 "A bucket has either access_key and secret_key or credentials and profile");
  }
  return std::nullopt;
}

// Absent: no such word.
std::optional<Error> TakeWord(const FlagWord& word, BucketFlag& flag,
                              std::optional<bool>& path_style) {
  const auto& [whole, name, value] = word;
  if (name == "endpoint") {
    flag.server.endpoint = value;
  } else if (name == "region" && !value.empty()) {
    flag.server.region = value;
  } else if (name == "style" && (value == "path" || value == "host")) {
    path_style = value == "path";
  } else if (name == "bytes") {
    const Result<uint64_t> bytes = ParseBytes(value);
    if (!bytes.ok()) {
      return BadBucket(bytes.error().message());
    }
    flag.bytes = *bytes;
  } else if (name == "admit" && (value == "all" || value == "second")) {
    flag.admission = value;
  } else if (name == "patience") {
    const Result<Duration> patience = ParseDuration(value);
    if (!patience.ok() || *patience < kPatienceLeast || *patience > kPatienceMost) {
      return BadBucket(patience.ok() ? "patience has to be from 1ms to 30s"
                                     : patience.error().message());
    }
    flag.patience = *patience;
  } else if (name == "credentials" && !value.empty()) {
    flag.server.credentials.file = std::string(value);
    flag.server.credentials.environment = false;
  } else if (name == "profile" && !value.empty()) {
    flag.server.credentials.profile = value;
    flag.server.credentials.environment = false;
  } else if (name == "ca" && !value.empty()) {
    flag.server.ca_file = value;
  } else if (!TakeSecret(word, flag.server.credentials)) {
    return BadBucket("'" + std::string(whole) + "' says nothing");
  }
  return std::nullopt;
}

// Whoever resolves a URL takes these away, and what is signed must be what is asked for: libcurl
// from version 8.13 on signs no path that is to be left as it is.
bool HasDotSegment(std::string_view path) {
  while (true) {
    const size_t slash = path.find('/');
    const std::string_view segment = path.substr(0, slash);
    if (segment == "." || segment == "..") {
      return true;
    }
    if (slash == std::string_view::npos) {
      return false;
    }
    path.remove_prefix(slash + 1);
  }
}

// Amazon's regions in China are a cloud of their own, with names of their own.
std::string AmazonsDomain(std::string_view region) {
  return region.starts_with("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
}

}  // namespace

Result<BucketFlag> BucketFlag::Parse(std::string_view text) {
  const FlagWords typed(text);
  for (const FlagWord& word : typed.words) {
    S3CredentialSource unused;
    if (TakeSecret(word, unused)) {
      return BadBucket(std::string(word.name) + " is not typed, where others could read it");
    }
  }
  return Of(typed);
}

Result<BucketFlag> BucketFlag::Of(const FlagWords& typed) {
  if (!Is(typed.where)) {
    return BadBucket("'" + std::string(typed.where) + "' does not begin with s3://");
  }
  BucketFlag flag;
  flag.server.region = FromEnvironment({"AWS_REGION", "AWS_DEFAULT_REGION"});
  flag.server.endpoint = FromEnvironment({"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  std::optional<bool> path_style;
  const std::string_view place = typed.where.substr(5);
  const size_t slash = place.find('/');
  flag.server.bucket = place.substr(0, slash);
  flag.prefix = slash == std::string_view::npos ? "" : place.substr(slash + 1);
  while (!flag.prefix.empty() && flag.prefix.back() == '/') {
    flag.prefix.pop_back();
  }
  if (HasDotSegment(flag.prefix)) {
    return BadBucket("'.' and '..' are no parts of a key: '" + std::string(typed.where) + "'");
  }
  if (flag.server.bucket.empty()) {
    return BadBucket("There is no bucket in '" + std::string(typed.where) + "'");
  }
  for (const FlagWord& word : typed.words) {
    if (auto wrong = TakeWord(word, flag, path_style)) {
      return *wrong;
    }
  }
  if (auto wrong = CheckSecrets(flag.server.credentials)) {
    return *wrong;
  }
  if (flag.server.region.empty()) {
    flag.server.region = "us-east-1";
  }
  // Servers of one's own seldom have a name for each bucket.
  flag.server.path_style = path_style.value_or(!flag.server.endpoint.empty());
  if (flag.server.endpoint.empty()) {
    flag.server.endpoint =
        "https://s3." + flag.server.region + "." + AmazonsDomain(flag.server.region);
  }
  return flag;
}

std::string BucketFlag::ToString() const {
  return "s3://" + server.bucket + (prefix.empty() ? "" : "/" + prefix);
}

}  // namespace kvcast
