#include "kvcast/store/bucket_calls.h"

#include <algorithm>
#include <utility>

namespace kvcast {
namespace {

constexpr Duration kRetryDelayMax = std::chrono::seconds(10);

// Whether a server that answers so can be expected to answer others.
bool Answers(const std::optional<BucketError>& error) {
  return !error || error->kind == BucketError::Kind::kNotFound ||
         error->kind == BucketError::Kind::kDamaged;
}

}  // namespace

std::string_view ToString(BucketError::Kind kind) {
  switch (kind) {
    case BucketError::Kind::kUnreachable:
      return "unreachable";
    case BucketError::Kind::kThrottled:
      return "throttled";
    case BucketError::Kind::kTimeout:
      return "timeout";
    case BucketError::Kind::kNotFound:
      return "not found";
    case BucketError::Kind::kAuth:
      return "not authorised";
    case BucketError::Kind::kDamaged:
      return "damaged";
    case BucketError::Kind::kOther:
      break;
  }
  return "other";
}

BucketCalls::Id BucketCalls::Start(BucketRequest request, const Terms& terms) {
  Call call;
  call.request = std::move(request);
  call.terms = terms;
  calls_.emplace(Key(terms.urgency, ++last_id_), std::move(call));
  return last_id_;
}

void BucketCalls::End(Id id, uint32_t attempts, BucketCompletion completion) {
  ended_.push_back({id, std::move(completion), attempts});
}

void BucketCalls::OnCompletion(BucketCompletion completion, Instant now) {
  if (Answers(completion.error)) {
    breaker_.OnSuccess();
  } else {
    breaker_.OnFailure(now);
  }
  if (completion.error) {
    ++counts_.failures;
    last_error_ = completion.error->message;
  }
  const auto found = under_way_.find(completion.token);
  if (found == under_way_.end()) {
    return;  // Nobody waits for it any more.
  }
  const Key key = found->second;
  under_way_.erase(found);
  Call& call = calls_.at(key);
  call.token = 0;
  const bool damaged = completion.error && completion.error->kind == BucketError::Kind::kDamaged;
  call.damaged += damaged ? 1 : 0;
  const bool final = !completion.error || completion.error->kind == BucketError::Kind::kNotFound ||
                     call.attempts == call.terms.tries ||
                     (damaged && call.damaged == call.terms.damaged_tries);
  if (final) {
    const uint32_t attempts = call.attempts;
    calls_.erase(key);
    End(key.second, attempts, std::move(completion));
    return;
  }
  call.error = std::move(completion.error);
  call.not_before = now + RetryDelay(call.attempts - 1, call.terms.delay, kRetryDelayMax, random_);
}

void BucketCalls::OnTime(Instant now) {
  for (auto found = calls_.begin(); found != calls_.end();) {
    auto& [key, call] = *found;
    // One that would begin only after that is over now.
    const Instant next = call.token == 0 ? std::max(now, call.not_before) : now;
    if (next < call.terms.give_up) {
      ++found;
      continue;
    }
    BucketError error{BucketError::Kind::kTimeout, "The bucket did not answer in time."};
    if (call.error) {
      error = *std::move(call.error);
    } else if (!last_error_.empty() && breaker_.open()) {
      error = {BucketError::Kind::kUnreachable, last_error_};
    }
    under_way_.erase(call.token);
    End(key.second, call.attempts, {.token = 0, .error = std::move(error)});
    found = calls_.erase(found);
  }
}

std::vector<BucketRequest> BucketCalls::TakeRequests(Instant now) {
  std::vector<BucketRequest> requests;
  for (auto& [key, call] : calls_) {
    if (under_way_.size() >= kRequestsMax) {
      break;
    }
    if (call.token != 0 || now < call.not_before || now >= call.terms.give_up) {
      continue;
    }
    if (!breaker_.Allow(now)) {
      break;
    }
    call.token = ++last_token_;
    counts_.retries += call.attempts > 0 ? 1 : 0;
    ++counts_.requests;
    ++call.attempts;
    under_way_[call.token] = key;
    BucketRequest request = call.request;
    request.token = call.token;
    request.deadline = std::min(call.terms.give_up, now + call.terms.attempt);
    requests.push_back(std::move(request));
  }
  return requests;
}

std::vector<BucketCalls::Ended> BucketCalls::TakeEnded() { return std::exchange(ended_, {}); }

std::optional<Instant> BucketCalls::deadline() const {
  std::optional<Instant> first;
  for (const auto& [key, call] : calls_) {
    Instant next = call.terms.give_up;
    if (call.token == 0 && under_way_.size() < kRequestsMax) {
      Instant send = call.not_before;
      if (breaker_.open()) {
        send = std::max(send, breaker_.next_probe());
      }
      next = std::min(next, send);
    }
    first = first ? std::min(*first, next) : next;
  }
  return first;
}

}  // namespace kvcast
