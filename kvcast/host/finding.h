#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kvcast {

// How well a machine does on one count.
enum class Verdict : uint8_t {
  kGood,
  kCouldBeBetter,  // kvcast works, and slower than it could.
  kMissing,        // kvcast works without it, and much slower.
  kBlocking,       // kvcast cannot work here.
};

std::string_view ToString(Verdict verdict);

// What the doctor has to say on one count: what it saw, why that matters, and what to do.
struct Finding {
  std::string topic;
  Verdict verdict = Verdict::kGood;
  std::string measured;
  std::string why;
  // The rest is empty when all is good.
  std::string advice{};                  // A sentence or two.
  std::vector<std::string> commands{};   // What to type for it to hold until the next start,
  std::vector<std::string> permanent{};  // and what to type for it to hold from then on.
};

// The findings on one part of the machine.
struct Section {
  std::string title;
  std::vector<Finding> findings;
};

}  // namespace kvcast
