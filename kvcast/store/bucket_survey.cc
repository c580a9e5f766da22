#include "kvcast/store/bucket_survey.h"

#include <utility>

namespace kvcast {
namespace {

// Packs that are read at the same time.
constexpr size_t kPackLoadsMax = 16;

constexpr Duration kListAttempt = std::chrono::seconds(10);
constexpr Duration kListPatience = std::chrono::seconds(60);
constexpr Duration kListDelay = std::chrono::milliseconds(200);
constexpr uint32_t kListTries = 5;
// A page may be empty and not the last: of keys that were deleted, for one. So many in a row are no
// listing any more.
constexpr size_t kEmptyPagesMax = 10'000;

}  // namespace

BucketSurvey::BucketSurvey(const Options& options, BucketCalls& calls, Instant now)
    : options_(options), calls_(&calls) {
  List("", now);
}

void BucketSurvey::List(std::string continuation, Instant now) {
  BucketRequest request;
  request.kind = BucketRequest::Kind::kList;
  request.key = PackKeyStart(options_.prefix);
  request.continuation = std::move(continuation);
  list_ = calls_->Start(std::move(request), {.urgency = BucketCalls::Urgency::kHousekeeping,
                                             .give_up = now + kListPatience,
                                             .attempt = kListAttempt,
                                             .delay = kListDelay,
                                             .tries = kListTries});
}

bool BucketSurvey::OnEnded(const BucketCalls::Ended& ended, Instant now) {
  if (ended.id == list_) {
    list_ = 0;
    OnPage(ended.completion, now);
    LoadSome(now);
    return true;
  }
  for (auto load = loads_.begin(); load != loads_.end(); ++load) {
    if (!load->OnEnded(ended, now)) {
      continue;
    }
    if (load->done()) {
      found_.push_back({load->id(), load->key(), load->bytes(), load->Take()});
      loads_.erase(load);
      LoadSome(now);
    }
    return true;
  }
  return false;
}

void BucketSurvey::OnPage(const BucketCompletion& page, Instant now) {
  if (page.error) {
    failure_ = page.error;
    return;
  }
  for (const BucketCompletion::Entry& entry : page.entries) {
    const auto id = PackId::Parse(entry.key, options_.prefix);
    // One that is shorter than it was once is a pack all the same.
    const bool is_pack = id && entry.bytes <= kPackBytesMax;
    if (++listed_ > options_.packs_max) {
      cut_ = true;
      return;
    }
    if (!is_pack) {
      ++foreign_;
    } else if (!options_.known(entry.key)) {
      queue_.push_back({*id, entry.key, entry.bytes});
    }
  }
  if (page.continuation.empty()) {
    return;
  }
  empty_pages_ = page.entries.empty() ? empty_pages_ + 1 : 0;
  if (page.continuation == continuation_ || empty_pages_ > kEmptyPagesMax) {
    failure_ = BucketError{BucketError::Kind::kDamaged,
                           "The listing of the bucket comes to no end: the server sends us round "
                           "in a circle."};
    return;
  }
  continuation_ = page.continuation;
  List(page.continuation, now);
}

void BucketSurvey::LoadSome(Instant now) {
  while (!queue_.empty() && loads_.size() < kPackLoadsMax) {
    Listed listed = std::move(queue_.front());
    queue_.pop_front();
    if (options_.full()) {
      ++left_out_;
      continue;
    }
    loads_.emplace_back(listed.id, std::move(listed.key), listed.bytes, options_.key_property,
                        *calls_, now);
  }
  done_ = list_ == 0 && loads_.empty();
}

std::vector<BucketSurvey::Found> BucketSurvey::TakeFound() { return std::exchange(found_, {}); }

}  // namespace kvcast
