#include "kvcast/io/s3_transfer.h"

#include <algorithm>
#include <cstring>

#include "kvcast/base/check.h"
#include "kvcast/base/digest.h"
#include "kvcast/base/hex.h"
#include "kvcast/io/s3_xml.h"

namespace kvcast {
namespace {

constexpr size_t kStageBytes = 256 << 10;
constexpr size_t kErrorBytesMax = 64 << 10;
constexpr long kConnectMilliseconds = 3000;
constexpr long kContinueMilliseconds = 250;
// A transfer during which nothing moves for so long is over.
constexpr long kStallSeconds = 10;

// What S3 wants of a number's four bytes, the most significant first.
std::string Base64Of(uint32_t sum) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (int shift = 26; shift >= 2; shift -= 6) {
    text += kDigits[sum >> shift & 63];
  }
  return text + kDigits[(sum & 3) << 4] + "==";
}

// What an answer is to have said of what was sent, and is asked for in the same way.
constexpr std::string_view kSumField = "x-amz-checksum-crc32c:";

// What a line says of a field, without the space around it.
std::optional<std::string_view> FieldOf(std::string_view line, std::string_view name) {
  const bool is = line.size() >= name.size() && line.size() < 256 &&
                  std::equal(name.begin(), name.end(), line.begin(), [](char a, char b) {
                    return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b - 'A' + 'a') : b);
                  });
  if (!is) {
    return std::nullopt;
  }
  static constexpr std::string_view kBlank = " \t\r\n";
  line.remove_prefix(std::min(line.find_first_not_of(kBlank, name.size()), line.size()));
  return line.substr(0, line.find_last_not_of(kBlank) + 1);
}

std::string_view NameOf(BucketRequest::Kind kind) {
  switch (kind) {
    case BucketRequest::Kind::kPut:
      return "PUT";
    case BucketRequest::Kind::kGet:
      return "GET";
    case BucketRequest::Kind::kList:
      return "LIST";
    case BucketRequest::Kind::kDelete:
      break;
  }
  return "DELETE";
}

template <typename Value>
void Set(CURL* easy, CURLoption option, Value value) {
  KVCAST_CHECK(curl_easy_setopt(easy, option, value) == CURLE_OK);
}

BucketError::Kind KindOfCurlError(CURLcode code) {
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
      return BucketError::Kind::kTimeout;
    case CURLE_PARTIAL_FILE:
    case CURLE_WRITE_ERROR:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
      return BucketError::Kind::kDamaged;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_PEER_FAILED_VERIFICATION:
      return BucketError::Kind::kUnreachable;
    default:
      return BucketError::Kind::kOther;
  }
}

}  // namespace

std::string S3Escaped(std::string_view text, bool keep_slashes) {
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string escaped;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~' || (c == '/' && keep_slashes);
    if (plain) {
      escaped += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      escaped += '%';
      escaped += kHex[byte >> 4];
      escaped += kHex[byte & 15];
    }
  }
  return escaped;
}

S3Transfer::S3Transfer() : easy_(curl_easy_init()) { KVCAST_CHECK(easy_ != nullptr); }

S3Transfer::~S3Transfer() {
  curl_easy_cleanup(easy_);
  curl_slist_free_all(headers_);
}

void S3Transfer::AddHeader(const std::string& header) {
  curl_slist* const longer = curl_slist_append(headers_, header.c_str());
  KVCAST_CHECK(longer != nullptr);
  headers_ = longer;
}

// In the order of names, which is what is signed.
std::string S3Transfer::Query() const {
  std::string query = "?";
  if (!request_.continuation.empty()) {
    query += "continuation-token=" + S3Escaped(request_.continuation, false) + "&";
  }
  return query + "list-type=2&max-keys=1000&prefix=" + S3Escaped(request_.key, false);
}

void S3Transfer::Prepare(BucketRequest request, const Server& server,
                         const S3Credentials& credentials, int64_t milliseconds) {
  request_ = std::move(request);
  curl_easy_reset(easy_);  // Connections stay.
  curl_slist_free_all(std::exchange(headers_, nullptr));
  error_text_[0] = '\0';
  content_range_.clear();
  etag_.clear();
  checksum_.clear();
  text_.clear();
  staged_.clear();
  body_ = Bytes();
  sent_ = 0;
  overflowed_ = false;
  const bool list = request_.kind == BucketRequest::Kind::kList;
  url_ = std::string(server.address) + "/" +
         (list ? Query() : S3Escaped(request_.key, /*keep_slashes=*/true));
  SetUp(server, credentials, milliseconds);
  SetUpBody();
  Set(easy_, CURLOPT_HTTPHEADER, headers_);
}

void S3Transfer::SetUp(const Server& server, const S3Credentials& credentials,
                       int64_t milliseconds) {
  Set(easy_, CURLOPT_URL, url_.c_str());
  Set(easy_, CURLOPT_PRIVATE, this);
  Set(easy_, CURLOPT_ERRORBUFFER, error_text_.data());
  Set(easy_, CURLOPT_NOSIGNAL, 1L);
  Set(easy_, CURLOPT_PROTOCOLS_STR, "http,https");
  Set(easy_, CURLOPT_FOLLOWLOCATION, 0L);  // What is signed for one host is not for another.
  Set(easy_, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  Set(easy_, CURLOPT_USERAGENT, "kvcast");
  Set(easy_, CURLOPT_TIMEOUT_MS, static_cast<long>(milliseconds));
  Set(easy_, CURLOPT_CONNECTTIMEOUT_MS,
      std::min(static_cast<long>(milliseconds), kConnectMilliseconds));
  Set(easy_, CURLOPT_LOW_SPEED_LIMIT, 1L);
  Set(easy_, CURLOPT_LOW_SPEED_TIME, kStallSeconds);
  Set(easy_, CURLOPT_TCP_NODELAY, 1L);
  if (!server.ca_file.empty()) {
    Set(easy_, CURLOPT_CAINFO, std::string(server.ca_file).c_str());
  }
  Set(easy_, CURLOPT_AWS_SIGV4, ("aws:amz:" + std::string(server.region) + ":s3").c_str());
  Set(easy_, CURLOPT_USERNAME, credentials.access_key.c_str());
  Set(easy_, CURLOPT_PASSWORD, credentials.secret_key.c_str());
  Set(easy_, CURLOPT_WRITEFUNCTION, &S3Transfer::OnBody);
  Set(easy_, CURLOPT_WRITEDATA, this);
  Set(easy_, CURLOPT_HEADERFUNCTION, &S3Transfer::OnHeader);
  Set(easy_, CURLOPT_HEADERDATA, this);
  // With its port, which must be part of what is signed.
  AddHeader("Host: " + std::string(server.host));
  if (!credentials.session_token.empty()) {
    AddHeader("x-amz-security-token: " + credentials.session_token);
  }
}

void S3Transfer::SetUpBody() {
  body_bytes_max_ = kErrorBytesMax;
  Digest digest = Sha256::Of(std::string_view());
  switch (request_.kind) {
    case BucketRequest::Kind::kPut:
      digest = Sha256::Of(request_.bytes);
      Set(easy_, CURLOPT_UPLOAD, 1L);
      Set(easy_, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request_.bytes.size()));
      Set(easy_, CURLOPT_READFUNCTION, &S3Transfer::OnUpload);
      Set(easy_, CURLOPT_READDATA, this);
      Set(easy_, CURLOPT_SEEKFUNCTION, &S3Transfer::OnSeek);
      Set(easy_, CURLOPT_SEEKDATA, this);
      AddHeader("Content-Type: application/octet-stream");
      // A large upload waits to be refused before its body is sent, but not for long.
      Set(easy_, CURLOPT_EXPECT_100_TIMEOUT_MS, kContinueMilliseconds);
      AddHeader(std::string(kSumField) + " " + Base64Of(request_.checksum));
      break;
    case BucketRequest::Kind::kGet:
      body_bytes_max_ = std::max(body_bytes_max_, request_.length);
      range_ = std::to_string(request_.offset) + "-" +
               std::to_string(request_.offset + request_.length - 1);
      Set(easy_, CURLOPT_RANGE, range_.c_str());
      break;
    case BucketRequest::Kind::kList:
      body_bytes_max_ = kS3XmlBytesMax;
      break;
    case BucketRequest::Kind::kDelete:
      Set(easy_, CURLOPT_CUSTOMREQUEST, "DELETE");
      break;
  }
  AddHeader("x-amz-content-sha256: " + digest.ToHex());
}

size_t S3Transfer::OnBody(char* data, size_t size, size_t count, void* self) {
  auto& transfer = *static_cast<S3Transfer*>(self);
  const size_t bytes = size * count;
  long status = 0;
  curl_easy_getinfo(transfer.easy_, CURLINFO_RESPONSE_CODE, &status);
  const bool range = status == 206 && transfer.request_.kind == BucketRequest::Kind::kGet;
  const size_t have =
      range ? transfer.body_.size() + transfer.staged_.size() : transfer.text_.size();
  const size_t most = range ? transfer.request_.length : transfer.body_bytes_max_;
  if (bytes > most - have) {
    transfer.overflowed_ = true;
    return 0;
  }
  if (!range) {
    transfer.text_.append(data, bytes);
    return bytes;
  }
  const auto span = std::as_bytes(std::span(data, bytes));
  transfer.staged_.insert(transfer.staged_.end(), span.begin(), span.end());
  if (transfer.staged_.size() >= kStageBytes) {
    transfer.body_.Append(Bytes::Copy(transfer.staged_));
    transfer.staged_.clear();
  }
  return bytes;
}

size_t S3Transfer::OnHeader(char* data, size_t size, size_t count, void* self) {
  auto& transfer = *static_cast<S3Transfer*>(self);
  const std::string_view line(data, size * count);
  if (line.starts_with("HTTP/")) {
    // Another answer begins: the last one counts.
    transfer.content_range_.clear();
    transfer.etag_.clear();
    transfer.checksum_.clear();
  } else if (const auto range = FieldOf(line, "content-range:")) {
    transfer.content_range_ = *range;
  } else if (const auto etag = FieldOf(line, "etag:")) {
    transfer.etag_ = *etag;
  } else if (const auto sum = FieldOf(line, kSumField)) {
    transfer.checksum_ = *sum;
  }
  return size * count;
}

size_t S3Transfer::OnUpload(char* out, size_t size, size_t count, void* self) {
  auto& transfer = *static_cast<S3Transfer*>(self);
  const size_t length = std::min(size * count, transfer.request_.bytes.size() - transfer.sent_);
  transfer.request_.bytes.Slice(transfer.sent_, length)
      .CopyTo(std::as_writable_bytes(std::span(out, length)));
  transfer.sent_ += length;
  return length;
}

// A connection that the server had closed is opened again, and the upload begun again.
int S3Transfer::OnSeek(void* self, curl_off_t offset, int origin) {
  auto& transfer = *static_cast<S3Transfer*>(self);
  if (origin != SEEK_SET || offset < 0 ||
      static_cast<uint64_t>(offset) > transfer.request_.bytes.size()) {
    return CURL_SEEKFUNC_FAIL;
  }
  transfer.sent_ = static_cast<uint64_t>(offset);
  return CURL_SEEKFUNC_OK;
}

std::string S3Transfer::Where() const {
  return std::string(NameOf(request_.kind)) + " " + url_.substr(0, url_.find('?')) + ": ";
}

std::optional<BucketError> S3Transfer::FailureOf(CURLcode result) {
  if (result != CURLE_OK) {
    const char* said = error_text_[0] != '\0' ? error_text_.data() : curl_easy_strerror(result);
    return BucketError{KindOfCurlError(result),
                       Where() + (overflowed_ ? "more came than was asked for" : said) + "."};
  }
  long status = 0;
  curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
  return FailureOfStatus(status);
}

// Whatever stands between us and the server, a proxy or a page that asks one to log in, may answer
// as if all were well: only what S3 says counts as done.
std::optional<std::string> S3Transfer::OddityOf(long status) const {
  const bool silent = text_.find_first_not_of(" \t\r\n") == std::string::npos;
  switch (request_.kind) {
    case BucketRequest::Kind::kPut:
      if (status != 200 || !silent) {
        return "this is not how S3 confirms that it has an object";
      }
      if (etag_.empty() && !request_.key.empty()) {  // A bucket that is made has none.
        return "the server does not say that it has the object: there is no ETag";
      }
      if (!checksum_.empty() && checksum_ != Base64Of(request_.checksum)) {
        return "the server has got something else: its check sum is another one";
      }
      return std::nullopt;
    case BucketRequest::Kind::kDelete:
      return (status == 200 || status == 204) && silent
                 ? std::nullopt
                 : std::optional("this is not how S3 confirms that it has deleted an object");
    case BucketRequest::Kind::kGet:
      return text_.empty() ? std::nullopt
                           : std::optional(
                                 "the server does not answer with the range that was "
                                 "asked for");
    case BucketRequest::Kind::kList:
      break;
  }
  return status == 200 ? std::nullopt : std::optional("this is not how S3 lists a bucket");
}

std::optional<BucketError> S3Transfer::Odd(long status) const {
  const auto oddity = OddityOf(status);
  if (!oddity) {
    return std::nullopt;
  }
  std::string said;
  if (request_.kind != BucketRequest::Kind::kGet && !text_.empty()) {
    said = " It said: " + Printable(text_, 200);
  }
  return BucketError{BucketError::Kind::kOther,
                     Where() + std::to_string(status) + ": " + *oddity + "." + said};
}

std::optional<BucketError> S3Transfer::FailureOfStatus(long status) {
  // An answer may begin well and be an error all the same.
  const auto failure = ParseS3Error(text_);
  if (status >= 200 && status < 300 && !failure.ok()) {
    return Odd(status);
  }
  std::string message = Where() + std::to_string(status);
  std::string code;
  if (failure.ok()) {
    code = failure->code;
    message += " " + Printable(failure->code);
    if (!failure->message.empty()) {
      message += ": " + Printable(failure->message, 300);
    }
  }
  if (code == "SignatureDoesNotMatch" || code == "InvalidAccessKeyId") {
    message += " Check the access key, the secret key and the region.";
  } else if (code == "NoSuchBucket") {
    message += " Make the bucket, or check its name and the endpoint.";
  } else if (status >= 300 && status < 400) {
    message += " The bucket is elsewhere: check the endpoint and the region.";
  }
  return BucketError{KindOfS3Error(status, code), std::move(message)};
}

BucketCompletion S3Transfer::Finish(CURLcode result) {
  BucketCompletion completion;
  completion.token = request_.token;
  completion.error = FailureOf(result);
  if (!completion.error && request_.kind == BucketRequest::Kind::kGet) {
    body_.Append(Bytes::Copy(staged_));
    const std::string range = "bytes " + range_ + "/";
    if (body_.size() != request_.length || !content_range_.starts_with(range)) {
      completion.error = BucketError{BucketError::Kind::kDamaged,
                                     Where() + std::to_string(body_.size()) + " bytes came of " +
                                         std::to_string(request_.length) + "."};
    } else {
      completion.bytes = std::move(body_);
    }
  }
  if (!completion.error && request_.kind == BucketRequest::Kind::kList) {
    auto listing = ParseS3Listing(text_);
    if (listing.ok()) {
      completion.entries = std::move(listing->entries);
      completion.continuation = std::move(listing->continuation);
    } else {
      completion.error =
          BucketError{BucketError::Kind::kDamaged, Where() + listing.error().ToString()};
    }
  }
  request_.bytes = Bytes();
  body_ = Bytes();
  return completion;
}

}  // namespace kvcast
