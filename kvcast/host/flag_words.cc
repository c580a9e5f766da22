#include "kvcast/host/flag_words.h"

namespace kvcast {

FlagWords::FlagWords(std::string_view text) {
  size_t comma = text.find(',');
  where = text.substr(0, comma);
  while (comma != std::string_view::npos) {
    text.remove_prefix(comma + 1);
    comma = text.find(',');
    const std::string_view whole = text.substr(0, comma);
    const size_t equals = whole.find('=');
    words.push_back({.whole = whole,
                     .name = whole.substr(0, equals),
                     .value = equals == std::string_view::npos ? std::string_view()
                                                               : whole.substr(equals + 1)});
  }
}

SaidWords::SaidWords(std::string_view place,
                     const std::vector<std::pair<std::string, std::string>>& said) {
  where = place;
  wholes_.reserve(said.size());  // They stay where they are.
  for (const auto& [name, value] : said) {
    wholes_.push_back(name + "=" + value);
    words.push_back({.whole = wholes_.back(), .name = name, .value = value});
  }
}

}  // namespace kvcast
