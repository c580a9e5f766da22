#pragma once

#include <string>
#include <string_view>
#include <utility>
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

 protected:
  FlagWords() = default;
};

// The same, of a place and what is said of it, which both must outlive this.
struct SaidWords : FlagWords {
  SaidWords(std::string_view place, const std::vector<std::pair<std::string, std::string>>& said);

 private:
  std::vector<std::string> wholes_;
};

}  // namespace kvcast
