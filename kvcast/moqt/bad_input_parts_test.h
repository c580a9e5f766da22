#pragma once

#include <string>
#include <vector>

#include "kvcast/moqt/bad_input_scene_test.h"
#include "kvcast/moqt/draft_grammar_test.h"

namespace kvcast::moqt {

// Ways to write a part of a message, as it should be; the first is the plainest.
std::vector<std::string> GoodWays(draft::Part part, const Scene& scene);

// And as it should not be, with what the draft says must become of the message.
struct BadWay {
  std::string why;
  std::string bytes;
  draft::Verdict verdict;
};
std::vector<BadWay> BadWays(draft::Part part, const Scene& scene);

}  // namespace kvcast::moqt
