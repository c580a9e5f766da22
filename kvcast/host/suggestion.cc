#include "kvcast/host/suggestion.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace kvcast {
namespace {

// How many letters have to be put in, taken out or changed to make one word of the other.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::optional<std::string> Suggestion(std::string_view word, std::span<const std::string> known) {
  const std::string* nearest = nullptr;
  size_t nearest_distance = word.size() / 3 + 1;  // One slip in three letters is still a slip.
  for (const std::string& candidate : known) {
    // Whoever types the beginning of a word means the word.
    const bool begun = word.size() > 1 && candidate.starts_with(word);
    const size_t distance = begun ? 0 : EditDistance(word, candidate);
    if (distance < nearest_distance || (nearest == nullptr && distance == nearest_distance)) {
      nearest = &candidate;
      nearest_distance = distance;
    }
  }
  return nearest == nullptr ? std::nullopt : std::optional(*nearest);
}

}  // namespace kvcast
