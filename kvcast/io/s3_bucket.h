#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/io/descriptor.h"
#include "kvcast/io/s3_credentials.h"
#include "kvcast/store/bucket.h"

namespace kvcast {

struct S3Options {
  std::string endpoint;  // "https://s3.eu-central-1.amazonaws.com": no path.
  std::string bucket;
  std::string region = "us-east-1";  // What requests are signed for.
  bool path_style = false;           // endpoint/bucket/key instead of bucket.endpoint/key.
  std::string ca_file;               // Empty: the system's authorities.
  S3CredentialSource credentials;
};

class S3Transfer;

// A bucket on a server that speaks S3, through libcurl and its signatures (version 4).
//
// Transfers run on one thread of its own, since digests of large packs and TLS would hold up a
// loop. What is sent carries its SHA-256, which the server must check to accept the signature, and
// its CRC-32C; of what comes back length and range are checked here, and every record by the tier.
//
// Requests and completions belong to one thread.
class S3Bucket : public Bucket {
 public:
  // Invalid: options that make no sense. Does not speak to the server.
  static Result<std::unique_ptr<S3Bucket>> Open(const S3Options& options);
  ~S3Bucket() override;

  void Submit(BucketRequest request) override;
  std::optional<BucketCompletion> Next() override;

  // Readable when Next() may have something: for an event loop. Draining Next() quiets it.
  int descriptor() const { return wake_.number(); }
  // "https://bucket.host": for messages.
  const std::string& address() const { return address_; }

 private:
  S3Bucket(S3Options options, std::string address, S3Credentials credentials, Descriptor wake);

  void Work();
  void StartAsked();
  void FinishEnded();
  void Deliver(BucketCompletion completion);
  void RenewCredentials();

  S3Options options_;
  std::string address_;
  Descriptor wake_;

  // Of the thread.
  void* multi_ = nullptr;
  S3Credentials credentials_;
  std::vector<std::unique_ptr<S3Transfer>> transfers_;
  std::vector<std::unique_ptr<S3Transfer>> spare_;

  std::mutex mutex_;
  std::deque<BucketRequest> asked_;
  std::deque<BucketCompletion> done_;
  bool stopping_ = false;
  std::thread worker_;
};

}  // namespace kvcast
