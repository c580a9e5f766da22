#include "kvcast/io/clock.h"

#include <array>
#include <cstdio>
#include <ctime>

namespace kvcast {
namespace {

Duration Read(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);  // Fails only for a clock that does not exist.
  return std::chrono::seconds(time.tv_sec) + Duration(time.tv_nsec);
}

}  // namespace

Instant Now() { return Instant(Read(CLOCK_MONOTONIC)); }

WallTime WallNow() { return WallTime(Read(CLOCK_REALTIME)); }

std::string ToIso8601(WallTime time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::milliseconds>(time - day));
  std::array<char, 64> text{};
  const int length = std::snprintf(
      text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ",
      static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
      static_cast<unsigned>(date.day()), static_cast<int>(clock.hours().count()),
      static_cast<int>(clock.minutes().count()), static_cast<int>(clock.seconds().count()),
      static_cast<int>(clock.subseconds().count()));
  return std::string(text.data(), static_cast<size_t>(length));
}

}  // namespace kvcast
