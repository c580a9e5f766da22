#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kvcast/base/result.h"
#include "kvcast/base/time.h"
#include "kvcast/host/flag_words.h"
#include "kvcast/io/s3_bucket.h"

namespace kvcast {

// A bucket in which a node keeps objects, as it is typed.
inline constexpr char kBucketGrammar[] =
    "s3://BUCKET[/PREFIX][,endpoint=URL][,region=NAME][,style=path|host][,bytes=SIZE]"
    "[,admit=all|second][,patience=TIME][,credentials=FILE][,profile=NAME][,ca=FILE]";

// Keys and secrets are not typed: others see the command line. They come from AWS_ACCESS_KEY_ID and
// AWS_SECRET_ACCESS_KEY, or from a file: one for credentials, or that of a node's configuration.
struct BucketFlag {
  S3Options server;
  std::string prefix;
  std::optional<uint64_t> bytes;  // For packs of this node; absent: no bound.
  std::string admission = "all";
  // After this a block that has not come is a miss: computing it again takes about as long.
  Duration patience = std::chrono::seconds(2);

  // Whether it names a bucket, and not a directory.
  static bool Is(std::string_view text) { return text.starts_with("s3://"); }
  // Invalid: it says something else. What is not said of the server comes from AWS_REGION,
  // AWS_ENDPOINT_URL_S3 and AWS_ENDPOINT_URL.
  static Result<BucketFlag> Parse(std::string_view text);
  // The same of what is said in several places; with access_key, secret_key and session_token.
  static Result<BucketFlag> Of(const FlagWords& typed);
  // "s3://BUCKET/PREFIX", for people.
  std::string ToString() const;
};

}  // namespace kvcast
