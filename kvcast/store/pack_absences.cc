#include "kvcast/store/pack_absences.h"

#include <utility>

namespace kvcast {
namespace {

// A listing may lack what was put a moment ago: in a row, then.
constexpr uint32_t kMissedMax = 2;
// At the same time.
constexpr size_t kAskedMax = 16;
constexpr Duration kAskAttempt = std::chrono::seconds(10);
constexpr Duration kAskPatience = std::chrono::seconds(60);
constexpr Duration kAskDelay = std::chrono::milliseconds(200);
constexpr uint32_t kAskTries = 3;

}  // namespace

void PackAbsences::Begin(const PackTable& table) {
  ++listing_;
  known_up_to_ = table.last_segment;
}

void PackAbsences::OnListed(PackTable& table) {
  if (!idle()) {
    return;  // Those of the last one have not been looked at yet.
  }
  for (auto& [segment, pack] : table.packs) {
    if (segment > known_up_to_) {
      return;
    }
    pack.missed = pack.shown_in == listing_ ? 0 : pack.missed + 1;
    if (pack.missed >= kMissedMax) {
      missed_.push_back(segment);
    }
  }
}

void PackAbsences::Start(const PackTable& table, BucketCalls& calls, Instant now) {
  while (!missed_.empty() && asked_.size() < kAskedMax) {
    const uint32_t segment = missed_.back();
    missed_.pop_back();
    const Pack* const pack = table.Find(segment);
    if (pack == nullptr || pack->leaving) {
      continue;
    }
    BucketRequest request;
    request.kind = BucketRequest::Kind::kGet;
    request.key = pack->key;
    request.length = 1;
    const auto id = calls.Start(std::move(request), {.urgency = BucketCalls::Urgency::kHousekeeping,
                                                     .give_up = now + kAskPatience,
                                                     .attempt = kAskAttempt,
                                                     .delay = kAskDelay,
                                                     .tries = kAskTries,
                                                     .damaged_tries = 1});
    asked_.emplace(id, segment);
  }
}

bool PackAbsences::OnEnded(const BucketCalls::Ended& ended, PackTable& table) {
  const auto found = asked_.find(ended.id);
  if (found == asked_.end()) {
    return false;
  }
  const uint32_t segment = found->second;
  asked_.erase(found);
  const auto& error = ended.completion.error;
  const auto pack = table.packs.find(segment);
  if (error && error->kind == BucketError::Kind::kNotFound) {
    gone_.push_back(segment);
  } else if (!error && pack != table.packs.end()) {
    pack->second.missed = 0;
  }
  return true;
}

std::vector<uint32_t> PackAbsences::TakeGone() { return std::exchange(gone_, {}); }

}  // namespace kvcast
