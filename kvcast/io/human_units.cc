#include "kvcast/io/human_units.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <limits>
#include <span>
#include <string>

namespace kvcast {
namespace {

// "1.02", "10.2", "102": three digits, but none behind a point that says nothing.
std::string ThreeDigits(double value) {
  const int behind_point = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  std::array<char, 64> text{};
  const int length = std::snprintf(text.data(), text.size(), "%.*f", behind_point, value);
  std::string digits(text.data(), static_cast<size_t>(length));
  while (digits.find('.') != std::string::npos && (digits.back() == '0' || digits.back() == '.')) {
    digits.pop_back();
  }
  return digits;
}

// The largest unit of which there is at least one.
std::string InUnits(double value, double step, std::span<const char* const> units) {
  size_t unit = 0;
  while (unit + 1 < units.size() && value >= step) {
    value /= step;
    ++unit;
  }
  return ThreeDigits(value) + " " + units[unit];
}

struct TimeUnit {
  const char* name;
  Duration length;
};
constexpr TimeUnit kTimeUnits[] = {
    {"h", std::chrono::hours(1)},         {"min", std::chrono::minutes(1)},
    {"s", std::chrono::seconds(1)},       {"ms", std::chrono::milliseconds(1)},
    {"us", std::chrono::microseconds(1)}, {"ns", std::chrono::nanoseconds(1)}};

}  // namespace

std::string HumanBytes(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
  return InUnits(static_cast<double>(bytes), 1024, kUnits);
}

std::string RoundedUp(uint64_t bytes) {
  constexpr uint64_t kMebibyte = uint64_t{1} << 20;
  return std::to_string(bytes / kMebibyte + (bytes % kMebibyte == 0 ? 0 : 1)) + "MiB";
}

Result<uint64_t> ParseBytes(std::string_view text) {
  static constexpr std::string_view kUnits[] = {"", "KiB", "MiB", "GiB", "TiB"};
  const Error wrong(ErrorCode::kInvalid,
                    "\"" + std::string(text) +
                        "\" is not a number of bytes: write a whole number, and KiB, MiB, GiB or "
                        "TiB after it, as in 4GiB.");
  uint64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc()) {
    return wrong;
  }
  std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
  for (size_t i = 0; i < std::size(kUnits); ++i) {
    if (unit == kUnits[i]) {
      const unsigned shift = static_cast<unsigned>(10 * i);
      return number <= std::numeric_limits<uint64_t>::max() >> shift
                 ? Result<uint64_t>(number << shift)
                 : Result<uint64_t>(wrong);
    }
  }
  return wrong;
}

Result<Duration> ParseDuration(std::string_view text) {
  const Error wrong(ErrorCode::kInvalid,
                    "\"" + std::string(text) +
                        "\" is not a time: write a whole number, and ns, us, ms, s, min or h after "
                        "it, as in 2s.");
  int64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || number < 0) {
    return wrong;
  }
  std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
  for (const TimeUnit& known : kTimeUnits) {
    if (unit == known.name) {
      return number <= Duration::max() / known.length ? Result<Duration>(number * known.length)
                                                      : Result<Duration>(wrong);
    }
  }
  return wrong;
}

std::string ExactBytes(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (bytes != 0 && unit + 1 < std::size(kUnits) && bytes % 1024 == 0) {
    bytes /= 1024;
    ++unit;
  }
  return std::to_string(bytes) + kUnits[unit];
}

std::string ExactDuration(Duration duration) {
  if (duration == Duration::zero()) {
    return "0s";
  }
  const TimeUnit* unit = &kTimeUnits[0];
  while (duration % unit->length != Duration::zero()) {
    ++unit;  // The last one is what durations are counted in.
  }
  return std::to_string(duration / unit->length) + unit->name;
}

std::string HumanRate(double bytes_per_s) {
  static constexpr const char* kUnits[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
  return InUnits(bytes_per_s, 1000, kUnits);
}

std::string HumanDuration(Duration duration) {
  using std::chrono::seconds;
  if (duration < seconds(1)) {
    static constexpr const char* kUnits[] = {"ns", "us", "ms"};
    return InUnits(static_cast<double>(duration.count()), 1000, kUnits);
  }
  const auto whole = std::chrono::round<seconds>(duration).count();
  if (whole < 60) {
    return std::to_string(whole) + " s";
  }
  if (whole < 3600) {
    return std::to_string(whole / 60) + " min " + std::to_string(whole % 60) + " s";
  }
  return std::to_string(whole / 3600) + " h " + std::to_string(whole % 3600 / 60) + " min";
}

}  // namespace kvcast
