#include "kvcast/io/impaired_link.h"

#include <algorithm>

namespace kvcast {
namespace {

constexpr double kNanosecondsPerSecond = 1e9;

Duration TimeFor(double bits, uint64_t bits_per_second) {
  return Duration(
      static_cast<int64_t>(bits * kNanosecondsPerSecond / static_cast<double>(bits_per_second)));
}

}  // namespace

ImpairedLink::ImpairedLink(const Options& options) : options_(options), random_(options.seed) {}

ImpairedLink::Fate ImpairedLink::Send(size_t bytes, Instant now) {
  ++counts_.datagrams;
  counts_.bytes += bytes;
  const bool lost = random_.Happens(options_.loss);
  const bool duplicated = random_.Happens(options_.duplication);
  const bool held_back = random_.Happens(options_.reordering);
  const bool corrupted = random_.Happens(options_.corruption);
  const size_t bit = random_.Below(std::max<size_t>(bytes * 8, 1));
  if (bytes > options_.datagram_bytes_max) {
    ++counts_.too_large;
    return {};
  }
  if (IsBlackout(now)) {
    ++counts_.blacked_out;
    return {};
  }
  if (lost) {
    ++counts_.lost;
    return {};
  }
  const std::optional<Instant> passed = PassNarrows(bytes, now);
  if (!passed) {
    ++counts_.overflowed;
    return {};
  }
  Fate fate{*passed + options_.delay, std::nullopt, std::nullopt};
  if (held_back) {
    ++counts_.held_back;
    *fate.arrival += options_.reorder_delay;
  }
  if (duplicated) {
    ++counts_.duplicated;
    fate.second_arrival = fate.arrival;
  }
  if (corrupted && bytes > 0) {
    ++counts_.corrupted;
    fate.turned_bit = bit;
  }
  return fate;
}

bool ImpairedLink::IsBlackout(Instant now) {
  if (!first_) {
    first_ = now;
  }
  Duration since = now - *first_ - options_.blackout_start;
  if (since < Duration(0)) {
    return false;
  }
  if (options_.blackout_period > Duration(0)) {
    since %= options_.blackout_period;
  }
  return since < options_.blackout_length;
}

std::optional<Instant> ImpairedLink::PassNarrows(size_t bytes, Instant now) {
  if (options_.bits_per_second == 0) {
    return now;
  }
  const double bits = static_cast<double>(bytes) * 8;
  const Duration queue_time =
      TimeFor(static_cast<double>(options_.queue_bytes) * 8, options_.bits_per_second);
  free_ = std::max(free_, now);
  // One that finds nobody waiting passes, however large it is.
  const Instant passed = free_ + TimeFor(bits, options_.bits_per_second);
  if (free_ > now && passed - now > queue_time) {
    return std::nullopt;
  }
  free_ = passed;
  return passed;
}

}  // namespace kvcast
