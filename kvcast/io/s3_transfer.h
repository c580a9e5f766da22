#pragma once

#include <curl/curl.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kvcast/base/bytes.h"
#include "kvcast/io/s3_credentials.h"
#include "kvcast/store/bucket.h"

namespace kvcast {

// "a b/c" is "a%20b/c", or "a%20b%2Fc" where slashes are not kept: as signatures want it.
std::string S3Escaped(std::string_view text, bool keep_slashes);

// One request to an S3 server, from its URL to what its answer means. Used again for the next one,
// so that what libcurl keeps is made once.
class S3Transfer {
 public:
  struct Server {
    std::string_view address;  // With the bucket, without a slash at its end.
    std::string_view host;     // As the Host field says it.
    std::string_view region;
    std::string_view ca_file;
  };

  S3Transfer();
  ~S3Transfer();
  S3Transfer(const S3Transfer&) = delete;
  S3Transfer& operator=(const S3Transfer&) = delete;

  // Makes libcurl ready to do it. `milliseconds`: how long it may take.
  void Prepare(BucketRequest request, const Server& server, const S3Credentials& credentials,
               int64_t milliseconds);
  // What came of it.
  BucketCompletion Finish(CURLcode result);

  CURL* easy() const { return easy_; }
  BucketToken token() const { return request_.token; }

 private:
  static size_t OnBody(char* data, size_t size, size_t count, void* self);
  static size_t OnHeader(char* data, size_t size, size_t count, void* self);
  static size_t OnUpload(char* out, size_t size, size_t count, void* self);
  static int OnSeek(void* self, curl_off_t offset, int origin);

  void AddHeader(const std::string& header);
  void SetUp(const Server& server, const S3Credentials& credentials, int64_t milliseconds);
  void SetUpBody();
  std::string Query() const;
  std::optional<BucketError> FailureOf(CURLcode result);
  std::optional<BucketError> FailureOfStatus(long status);
  // Why an answer that is no error is not the one that S3 gives, either.
  std::optional<std::string> OddityOf(long status) const;
  std::optional<BucketError> Odd(long status) const;
  std::string Where() const;

  BucketRequest request_;
  CURL* easy_;
  curl_slist* headers_ = nullptr;
  std::array<char, CURL_ERROR_SIZE> error_text_{};
  std::string url_;
  std::string range_;
  std::string content_range_;  // Of the answer, as the next two.
  std::string etag_;
  std::string checksum_;
  uint64_t sent_ = 0;
  size_t body_bytes_max_ = 0;
  bool overflowed_ = false;
  std::string text_;               // Of an answer that is not a range.
  std::vector<std::byte> staged_;  // Of one that is, until there is a chunk of it.
  Bytes body_;
};

}  // namespace kvcast
