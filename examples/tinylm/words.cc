#include "examples/tinylm/words.h"

#include "examples/tinylm/base/check.h"
#include "examples/tinylm/characters.h"

namespace kvcast::tinylm {
namespace {

constexpr std::string_view kContractions[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};

// The characters of one kind that a text begins with.
struct Run {
  CharacterKind kind = CharacterKind::kOther;
  size_t bytes = 0;
  size_t last_bytes = 0;  // Of its last character.
};

Run FirstRun(std::string_view text) {
  Run run;
  while (run.bytes < text.size()) {
    const Character next = FirstCharacter(text.substr(run.bytes));
    TINYLM_CHECK(next.bytes > 0);  // The caller promised UTF-8.
    const CharacterKind kind = KindOf(next.code);
    if (run.bytes > 0 && kind != run.kind) {
      break;
    }
    run = {kind, run.bytes + next.bytes, next.bytes};
  }
  return run;
}

}  // namespace

std::string_view FirstWord(std::string_view text) {
  TINYLM_CHECK(!text.empty());
  for (const std::string_view contraction : kContractions) {
    if (text.starts_with(contraction)) {
      return text.substr(0, contraction.size());
    }
  }
  const size_t space = text.front() == ' ' ? 1 : 0;
  const Run run = FirstRun(text.substr(space));
  if (run.bytes > 0 && run.kind != CharacterKind::kSpace) {
    return text.substr(0, space + run.bytes);
  }

  // White space, which begins with the space if there was one.
  const size_t bytes = space + run.bytes;
  if (bytes == text.size()) {
    return text;
  }
  return text.substr(0, bytes > run.last_bytes ? bytes - run.last_bytes : bytes);
}

}  // namespace kvcast::tinylm
