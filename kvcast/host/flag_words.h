#pragma once

#include <string_view>
#include <vector>

namespace kvcast {

// One of the words after the first comma of a flag's value, NAME=VALUE.
struct FlagWord {
  std::string_view whole;
  std::string_view name;
  std::string_view value;  // Empty where there is no =.
};

// A flag's value as it is typed: WHERE[,NAME=VALUE...]. Of the text that it was made from.
struct FlagWords {
  explicit FlagWords(std::string_view text);

  std::string_view where;
  std::vector<FlagWord> words;
};

}  // namespace kvcast
