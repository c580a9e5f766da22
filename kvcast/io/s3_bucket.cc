#include "kvcast/io/s3_bucket.h"

#include <curl/curl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "kvcast/io/clock.h"
#include "kvcast/io/s3_transfer.h"
#include "kvcast/io/system_error.h"

namespace kvcast {
namespace {

constexpr long kConnectionsMax = 32;
constexpr int kLookAroundMilliseconds = 60000;

bool IsBucketName(std::string_view name) {
  return name.size() >= 3 && name.size() <= 63 && std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
                  c == '_';
         });
}

// "host:port" of "https://host:port".
Result<std::string> HostOf(std::string_view endpoint) {
  const size_t scheme = endpoint.starts_with("https://")  ? 8
                        : endpoint.starts_with("http://") ? 7
                                                          : 0;
  std::string_view host = endpoint.substr(scheme);
  while (!host.empty() && host.back() == '/') {
    host.remove_suffix(1);
  }
  if (scheme == 0 || host.empty() || host.find_first_of("/?#@ ") != std::string_view::npos) {
    return Error(ErrorCode::kInvalid,
                 "A bucket's endpoint is https://host or http://host, with a "
                 "port if need be, and not \"" +
                     std::string(endpoint) + "\".");
  }
  return std::string(host);
}

void StartLibcurl() {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  KVCAST_CHECK(started == CURLE_OK);
}

}  // namespace

Result<std::unique_ptr<S3Bucket>> S3Bucket::Open(const S3Options& options) {
  StartLibcurl();
  KVCAST_TRY(const std::string host, HostOf(options.endpoint));
  if (!IsBucketName(options.bucket)) {
    return Error(ErrorCode::kInvalid,
                 "A bucket's name has 3 to 63 lower-case letters, digits, dots and hyphens.");
  }
  if (options.region.empty()) {
    return Error(ErrorCode::kInvalid, "A bucket needs a region to sign requests for.");
  }
  KVCAST_TRY(S3Credentials credentials, options.credentials.Find());
  Descriptor wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) {
    return SystemError("Cannot make an eventfd", errno);
  }
  const std::string scheme = options.endpoint.substr(0, options.endpoint.find("//") + 2);
  const std::string address = options.path_style ? scheme + host + "/" + options.bucket
                                                 : scheme + options.bucket + "." + host;
  std::unique_ptr<S3Bucket> bucket(
      new S3Bucket(options, address, std::move(credentials), std::move(wake)));
  S3Bucket* const self = bucket.get();
  bucket->worker_ = std::thread([self] { self->Work(); });
  return bucket;
}

S3Bucket::S3Bucket(S3Options options, std::string address, S3Credentials credentials,
                   Descriptor wake)
    : options_(std::move(options)),
      address_(std::move(address)),
      wake_(std::move(wake)),
      multi_(curl_multi_init()),
      credentials_(std::move(credentials)) {
  KVCAST_CHECK(multi_ != nullptr);
  curl_multi_setopt(multi_, CURLMOPT_MAX_HOST_CONNECTIONS, kConnectionsMax);
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, kConnectionsMax);
}

S3Bucket::~S3Bucket() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  curl_multi_wakeup(multi_);
  if (worker_.joinable()) {
    worker_.join();
  }
  for (const auto& transfer : transfers_) {
    curl_multi_remove_handle(multi_, transfer->easy());
  }
  transfers_.clear();
  spare_.clear();
  curl_multi_cleanup(multi_);
}

void S3Bucket::Submit(BucketRequest request) {
  {
    const std::scoped_lock lock(mutex_);
    asked_.push_back(std::move(request));
  }
  curl_multi_wakeup(multi_);
}

std::optional<BucketCompletion> S3Bucket::Next() {
  while (true) {
    {
      const std::scoped_lock lock(mutex_);
      if (!done_.empty()) {
        BucketCompletion first = std::move(done_.front());
        done_.pop_front();
        return first;
      }
    }
    uint64_t rung = 0;
    if (::read(wake_.number(), &rung, sizeof(rung)) < 0) {
      return std::nullopt;
    }
    // Whatever came before the bell was quieted is there by now.
  }
}

void S3Bucket::Deliver(BucketCompletion completion) {
  {
    const std::scoped_lock lock(mutex_);
    done_.push_back(std::move(completion));
  }
  const uint64_t one = 1;
  (void)!::write(wake_.number(), &one, sizeof(one));
}

void S3Bucket::Work() {
  while (true) {
    {
      const std::scoped_lock lock(mutex_);
      if (stopping_) {
        return;
      }
    }
    StartAsked();
    int running = 0;
    curl_multi_perform(multi_, &running);
    FinishEnded();
    curl_multi_poll(multi_, nullptr, 0, kLookAroundMilliseconds, nullptr);
  }
}

void S3Bucket::StartAsked() {
  std::deque<BucketRequest> asked;
  {
    const std::scoped_lock lock(mutex_);
    asked.swap(asked_);
  }
  const std::string_view host = std::string_view(address_).substr(address_.find("//") + 2);
  const S3Transfer::Server server{address_, host.substr(0, host.find('/')), options_.region,
                                  options_.ca_file};
  for (BucketRequest& request : asked) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(request.deadline - Now()).count();
    if (left <= 0) {
      Deliver({.token = request.token,
               .error = BucketError{BucketError::Kind::kTimeout,
                                    address_ + " had no time left to be asked."}});
      continue;
    }
    std::unique_ptr<S3Transfer> transfer;
    if (spare_.empty()) {
      transfer = std::make_unique<S3Transfer>();
    } else {
      transfer = std::move(spare_.back());
      spare_.pop_back();
    }
    transfer->Prepare(std::move(request), server, credentials_, left);
    KVCAST_CHECK(curl_multi_add_handle(multi_, transfer->easy()) == CURLM_OK);
    transfers_.push_back(std::move(transfer));
  }
}

void S3Bucket::FinishEnded() {
  int more = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_, &more)) {
    if (message->msg != CURLMSG_DONE) {
      continue;
    }
    CURL* const easy = message->easy_handle;
    const CURLcode result = message->data.result;
    curl_multi_remove_handle(multi_, easy);
    const auto found = std::ranges::find_if(
        transfers_, [&](const auto& transfer) { return transfer->easy() == easy; });
    std::unique_ptr<S3Transfer> transfer = std::move(*found);
    transfers_.erase(found);
    BucketCompletion completion = transfer->Finish(result);
    if (completion.error && completion.error->kind == BucketError::Kind::kAuth) {
      RenewCredentials();
    }
    Deliver(std::move(completion));
    spare_.push_back(std::move(transfer));
  }
}

// Whoever renews credentials writes them to the file; the next request is signed with those.
void S3Bucket::RenewCredentials() {
  auto found = options_.credentials.Find();
  if (found.ok() && *found != credentials_) {
    credentials_ = *std::move(found);
  }
}

}  // namespace kvcast
