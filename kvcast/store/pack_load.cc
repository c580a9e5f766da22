#include "kvcast/store/pack_load.h"

#include <algorithm>

namespace kvcast {
namespace {

// Most indexes are within this, and are then read at once.
constexpr uint64_t kPackEndBytes = 64 << 10;

constexpr Duration kLoadAttempt = std::chrono::seconds(10);
constexpr Duration kLoadPatience = std::chrono::seconds(60);
constexpr Duration kLoadDelay = std::chrono::milliseconds(200);
constexpr uint32_t kLoadTries = 5;
// A server that has less than it is asked for says so each time.
constexpr uint32_t kLoadDamagedTries = 3;

}  // namespace

PackLoad::PackLoad(const PackId& id, std::string key, uint64_t bytes, uint64_t key_property,
                   BucketCalls& calls, Instant now, Depth depth)
    : id_(id),
      key_(std::move(key)),
      bytes_(bytes),
      key_property_(key_property),
      calls_(&calls),
      depth_(depth) {
  ReadEnd(now);
}

void PackLoad::Read(uint64_t offset, uint64_t length, Instant now) {
  BucketRequest request;
  request.kind = BucketRequest::Kind::kGet;
  request.key = key_;
  request.offset = offset;
  request.length = length;
  call_ = calls_->Start(std::move(request), {.urgency = BucketCalls::Urgency::kHousekeeping,
                                             .give_up = now + kLoadPatience,
                                             .attempt = kLoadAttempt,
                                             .delay = kLoadDelay,
                                             .tries = kLoadTries,
                                             .damaged_tries = kLoadDamagedTries});
}

void PackLoad::ReadEnd(Instant now) {
  state_ = State::kEnd;
  const uint64_t length = std::min(bytes_, kPackEndBytes);
  // Of one that is empty a byte is asked for all the same: then its server says what is wrong.
  Read(bytes_ - length, std::max<uint64_t>(length, 1), now);
}

bool PackLoad::OnEnded(const BucketCalls::Ended& ended, Instant now) {
  if (ended.id != call_) {
    return false;
  }
  call_ = 0;
  const auto& error = ended.completion.error;
  const bool damaged = error && error->kind == BucketError::Kind::kDamaged;
  if (error && !damaged) {
    outcome_.gone = error->kind == BucketError::Kind::kNotFound;
    outcome_.unread = !outcome_.gone;
    state_ = State::kDone;
    return true;
  }
  const Bytes& bytes = ended.completion.bytes;
  if (state_ == State::kScan) {
    scan_->OnWindow(window_, damaged ? std::nullopt : std::optional(bytes));
    ScanOn(now);
  } else if (state_ == State::kHeader) {
    OnHeader(damaged ? Bytes() : bytes, now);
  } else if (damaged) {
    OnDamage(now);
  } else if (state_ == State::kEnd) {
    OnEnd(bytes, now);
  } else {
    OnBody(bytes, now);
  }
  return true;
}

void PackLoad::OnEnd(const Bytes& end, Instant now) {
  if (end.size() < kTrailerBytes) {
    OnDamage(now);
    return;
  }
  const std::string last = end.Slice(end.size() - kTrailerBytes, kTrailerBytes).ToString();
  const auto trailer = PackTrailer::Parse(AsBytes(last), id_, bytes_);
  if (!trailer.ok()) {
    if (trailer.error().code() == ErrorCode::kUnsupported) {
      outcome_.refused = Error(trailer.error()).In(key_);
      state_ = State::kDone;
    } else {
      OnDamage(now);
    }
    return;
  }
  trailer_ = *trailer;
  state_ = State::kBody;
  const uint64_t before_trailer = end.size() - kTrailerBytes;
  if (trailer_.body_bytes <= before_trailer) {
    OnBody(end.Slice(before_trailer - trailer_.body_bytes, trailer_.body_bytes), now);
  } else {
    Read(bytes_ - kTrailerBytes - trailer_.body_bytes, trailer_.body_bytes, now);
  }
}

void PackLoad::OnBody(const Bytes& body, Instant now) {
  auto parsed = ParsePackBody(body, trailer_);
  if (!parsed.ok()) {
    OnDamage(now);
    return;
  }
  outcome_.body = *std::move(parsed);
  state_ = State::kDone;
}

void PackLoad::OnDamage(Instant now) {
  if (!again_) {
    again_ = true;
    ReadEnd(now);
    return;
  }
  ++outcome_.damaged;
  if (depth_ == Depth::kEnd) {
    state_ = State::kDone;
    return;
  }
  state_ = State::kHeader;
  Read(0, std::clamp<uint64_t>(bytes_, 1, kDeviceBlockBytes), now);
}

void PackLoad::OnHeader(const Bytes& block, Instant now) {
  const std::string flat = block.ToString();
  const auto header = PackHeader::Parse(AsBytes(flat));
  if (!header.ok() && header.error().code() == ErrorCode::kUnsupported) {
    outcome_.refused = Error(header.error()).In(key_);
    state_ = State::kDone;
    return;
  }
  state_ = State::kScan;
  scan_.emplace(id_.node, id_.number, id_.marker, bytes_, key_property_);
  ScanOn(now);
}

void PackLoad::ScanOn(Instant now) {
  if (const auto wanted = scan_->Wanted()) {
    window_ = *wanted;
    Read(window_.offset, window_.length, now);
    return;
  }
  outcome_.body.contents = scan_->Take();
  outcome_.damaged += scan_->damaged();
  state_ = State::kDone;
}

}  // namespace kvcast
