#include "kvcast/client/node_pace.h"

#include <algorithm>
#include <cmath>

#include "kvcast/base/check.h"

namespace kvcast {
namespace {

// Long enough that single packets do not count, short enough to notice a link that changes.
constexpr Duration kStretch = std::chrono::milliseconds(10);
// What a whole stretch counts beside what came before it.
constexpr double kWeight = 0.4;
// For so long a rung's own pace is believed, once others have been seen.
constexpr Duration kFresh = std::chrono::seconds(2);
// Over one link all rungs come equally fast, but for those that decoding holds up: by less than
// this, two paces are one that was measured twice.
constexpr double kClearly = 1.5;
constexpr Duration kJustNow = std::chrono::milliseconds(100);
constexpr Duration kLongAgo = std::chrono::seconds(10);

double Seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

void NodePace::OnAsked(uint64_t bytes, Instant now) {
  if (!busy_) {
    busy_ = Busy{now};
  }
  expected_bytes_ += bytes;
}

void NodePace::OnBytes(Rung rung, uint64_t bytes, Instant now) {
  if (!busy_) {
    busy_ = Busy{.since = now, .unasked = true};
  }
  busy_->bytes += bytes;
  if (!stretch_) {
    // What comes first tells how long the way is, what comes after it how wide. What nobody waited
    // for, since it had been given up, tells nothing of that.
    if (!busy_->unasked) {
      const Duration waited = now - busy_->since;
      latency_ = latency_ ? std::min(waited, (*latency_ * 3 + waited) / 4) : waited;
    }
    stretch_ = Stretch{rung, now, now, 0};
  } else if (stretch_->rung == rung) {
    stretch_->bytes += bytes;
    stretch_->until = now;
  } else {
    EndStretch();
    stretch_ = Stretch{rung, stretch_->until, now, bytes};
  }
  if (stretch_->until - stretch_->since >= kStretch) {
    EndStretch();
  }
  expected_bytes_ -= std::min(bytes, expected_bytes_);
  if (expected_bytes_ == 0) {
    EndBusy(now);
  }
}

void NodePace::OnOver(uint64_t bytes_missing, Instant now) {
  expected_bytes_ -= std::min(bytes_missing, expected_bytes_);
  if (expected_bytes_ == 0 && busy_) {
    EndBusy(now);
  }
}

// What came within no time at all says nothing, and goes on to be counted.
void NodePace::EndStretch() {
  const Duration time = stretch_->until - stretch_->since;
  if (stretch_->bytes > 0 && time > Duration::zero()) {
    Learn(stretch_->rung, time, stretch_->bytes, stretch_->until);
    stretch_ = Stretch{stretch_->rung, stretch_->until, stretch_->until, 0};
  }
}

void NodePace::EndBusy(Instant now) {
  if (stretch_) {
    EndStretch();
    if (!busy_->learnt && !known()) {  // All at once: it was no slower than this.
      Learn(stretch_->rung, now - busy_->since, busy_->bytes, now);
    }
  }
  busy_.reset();
  stretch_.reset();
}

void NodePace::Learn(Rung rung, Duration time, uint64_t bytes, Instant at) {
  const auto [sample, is_first] = samples_.try_emplace(rung);
  // Times and bytes are added up, each for as long as it took: what comes at once at the end of a
  // load was late before, and is no pace by itself.
  const double share = std::min(1.0, Seconds(time) / Seconds(kStretch));
  const bool is_stale = !is_first && at - sample->second.at > kFresh;
  const double kept = is_stale ? 1 - share : std::pow(1 - kWeight, share);
  sample->second.seconds = kept * sample->second.seconds + Seconds(time);
  sample->second.bytes = kept * sample->second.bytes + static_cast<double>(bytes);
  sample->second.at = at;
  latest_ = rung;
  busy_->learnt = true;
}

Duration NodePace::UntilFirst(Instant now) const {
  return busy_ && !stretch_ ? std::max(latency() - (now - busy_->since), Duration::zero())
                            : Duration::zero();
}

bool NodePace::IsFresh(Instant now) const {
  return known() && now - samples_.at(*latest_).at <= kJustNow;
}

bool NodePace::IsOld(Instant now) const {
  return known() && now - samples_.at(*latest_).at > kLongAgo;
}

double NodePace::SecondsPerByte(Rung rung, Instant now) const {
  const double latest = samples_.at(*latest_).seconds_per_byte();
  const auto own = samples_.find(rung);
  if (own == samples_.end() || now - own->second.at > kFresh) {
    return latest;
  }
  const double ratio = own->second.seconds_per_byte() / latest;
  return ratio > kClearly || ratio < 1 / kClearly ? own->second.seconds_per_byte() : latest;
}

Duration NodePace::TimeFor(Rung rung, uint64_t bytes, Instant now) const {
  KVCAST_CHECK(known());
  const double seconds = SecondsPerByte(rung, now) * static_cast<double>(bytes);
  constexpr double kSecondsMost = 1e9;  // Longer than anybody waits, and a Duration still holds it.
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(std::min(seconds, kSecondsMost)));
}

}  // namespace kvcast
