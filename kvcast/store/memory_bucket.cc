#include "kvcast/store/memory_bucket.h"

#include <algorithm>
#include <utility>

#include "kvcast/base/check.h"
#include "kvcast/base/check_sum.h"

namespace kvcast {
namespace {

// Small, so that a handful of packs takes several pages.
constexpr size_t kPageKeys = 3;
// Ends a continuation whose page was without keys.
constexpr char kEmptyPage = '\x01';

BucketCompletion BucketFailure(BucketError::Kind kind, const char* message) {
  return {.token = 0, .error = BucketError{kind, message}};
}

}  // namespace

uint64_t MemoryBucket::bytes() const {
  uint64_t bytes = 0;
  for (const auto& [key, object] : objects_) {
    bytes += object.size();
  }
  return bytes;
}

bool MemoryBucket::Fails(double chance) {
  const bool fails = chance > 0 && random_.Happens(chance);
  fault_count_ += fails ? 1 : 0;
  return fails;
}

BucketCompletion MemoryBucket::Do(const BucketRequest& request) {
  if (Fails(faults_.refuse)) {
    return BucketFailure(BucketError::Kind::kUnreachable, "Connection refused.");
  }
  if (Fails(faults_.throttle)) {
    return BucketFailure(BucketError::Kind::kThrottled, "SlowDown: Please reduce your rate.");
  }
  if (Fails(faults_.other)) {
    return BucketFailure(BucketError::Kind::kOther, "InternalError: Please try again.");
  }
  BucketCompletion completion = Carry(request);
  if (Fails(faults_.lost_reply)) {
    return BucketFailure(BucketError::Kind::kUnreachable, "Connection reset.");
  }
  if (!completion.bytes.empty() && Fails(faults_.cut)) {
    return BucketFailure(BucketError::Kind::kDamaged, "The body is too short.");
  }
  if (!completion.bytes.empty() && Fails(faults_.flip)) {
    std::string bytes = completion.bytes.ToString();
    char& hit = bytes[random_.Below(bytes.size())];
    hit = static_cast<char>(hit ^ (1 << random_.Below(8)));
    completion.bytes = Bytes::Of(bytes);
  }
  if (!completion.bytes.empty() && Fails(faults_.garble)) {
    completion.bytes = Bytes::Of(std::string(completion.bytes.size(), '?'));
  }
  return completion;
}

BucketCompletion MemoryBucket::Carry(const BucketRequest& request) {
  switch (request.kind) {
    case BucketRequest::Kind::kPut: {
      ++puts_;
      KVCAST_CHECK(Crc32c(request.bytes) == request.checksum);
      std::vector<std::byte> bytes(request.bytes.size());
      request.bytes.CopyTo(bytes);
      // What is in a bucket never changes.
      const auto [found, is_new] = objects_.try_emplace(request.key, bytes);
      KVCAST_CHECK(is_new || found->second == bytes);
      return {};
    }
    case BucketRequest::Kind::kGet:
      return Get(request);
    case BucketRequest::Kind::kList:
      return List(request);
    case BucketRequest::Kind::kDelete:
      objects_.erase(request.key);
      return {};
  }
  return {};
}

BucketCompletion MemoryBucket::Get(const BucketRequest& request) const {
  const auto found = objects_.find(request.key);
  if (found == objects_.end()) {
    return BucketFailure(BucketError::Kind::kNotFound, "NoSuchKey");
  }
  const auto& object = found->second;
  if (request.length == 0 || request.offset + request.length > object.size()) {
    return BucketFailure(BucketError::Kind::kDamaged, "InvalidRange");
  }
  BucketCompletion completion;
  completion.bytes = Bytes::Copy(std::span(object).subspan(request.offset, request.length));
  return completion;
}

BucketCompletion MemoryBucket::List(const BucketRequest& request) {
  if (!Fails(faults_.stale_list)) {
    listed_.clear();
    for (const auto& [key, object] : objects_) {
      listed_[key] = object.size();
    }
  }
  BucketCompletion completion;
  if (faults_.endless_pages) {
    completion.continuation = "again";
    return completion;
  }
  std::string after = request.continuation;
  const bool was_empty = after.ends_with(kEmptyPage);
  if (was_empty) {
    after.pop_back();
  } else if (faults_.empty_pages) {
    completion.continuation = after + kEmptyPage;
    return completion;
  }
  auto entry = after.empty() ? listed_.lower_bound(request.key) : listed_.upper_bound(after);
  for (; entry != listed_.end() && entry->first.starts_with(request.key); ++entry) {
    if (completion.entries.size() == kPageKeys) {
      completion.continuation = completion.entries.back().key;
      break;
    }
    completion.entries.push_back({entry->first, entry->second});
  }
  return completion;
}

void BucketSide::Submit(BucketRequest request) {
  ++bucket_->requests_;
  const bool hangs = bucket_->faults_.dead || bucket_->Fails(bucket_->faults_.hang);
  pending_.push_back({std::move(request), hangs});
}

std::optional<BucketCompletion> BucketSide::Next() {
  for (auto pending = pending_.begin(); pending != pending_.end(); ++pending) {
    const bool late = now_ >= pending->request.deadline;
    if (pending->hangs && !late) {
      continue;
    }
    const BucketRequest request = std::move(pending->request);
    pending_.erase(pending);
    BucketCompletion completion;
    if (late) {
      if (!bucket_->faults_.dead && bucket_->random_.Happens(0.5)) {
        bucket_->Carry(request);
      }
      completion = BucketFailure(BucketError::Kind::kTimeout, "The server did not answer.");
    } else {
      completion = bucket_->Do(request);
    }
    completion.token = request.token;
    return completion;
  }
  return std::nullopt;
}

void BucketSide::Abandon() {
  for (const MemoryBucket::Pending& pending : pending_) {
    if (!bucket_->faults_.dead && bucket_->random_.Happens(0.5)) {
      bucket_->Carry(pending.request);
    }
  }
  pending_.clear();
}

std::optional<Instant> BucketSide::deadline() const {
  std::optional<Instant> first;
  for (const MemoryBucket::Pending& pending : pending_) {
    first = first ? std::min(*first, pending.request.deadline) : pending.request.deadline;
  }
  return first;
}

}  // namespace kvcast
