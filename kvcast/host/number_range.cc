#include "kvcast/host/number_range.h"

#include <fmt/format.h>

#include <charconv>
#include <string>

namespace kvcast {

CLI::Validator NumberRange(double low, double high) {
  return {[low, high](const std::string& text) {
            double value = 0;
            const char* const end = text.data() + text.size();
            const auto [read_to, failed] = std::from_chars(text.data(), end, value);
            const bool within =
                failed == std::errc() && read_to == end && value >= low && value <= high;
            return within ? std::string()
                          : fmt::format("{} is no number from {:g} to {:g}", text, low, high);
          },
          fmt::format("FLOAT in [{:g} - {:g}]", low, high)};
}

}  // namespace kvcast
