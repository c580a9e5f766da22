#include "kvcast/host/slice_flags.h"

#include <algorithm>

#include "kvcast/base/hex.h"

namespace kvcast {
namespace {

Result<Slice> PartOf(const std::string& key, const std::string& range) {
  return Slice::ParseSuffix(range.empty() ? "" : ";" + key + "=" + range);
}

// Says what is wrong; empty if nothing is.
std::string RangeProblem(const std::string& key, const std::string& what,
                         const std::string& range) {
  return !range.empty() && PartOf(key, range).ok()
             ? ""
             : "'" + range + "' is not a range of " + what + ": FIRST-LAST, from 0, as in 0-3.";
}

std::string GenerationProblem(const std::string& digits) {
  const Result<std::vector<std::byte>> bytes = FromHex(digits);
  return bytes.ok() && bytes->size() == sizeof(Generation)
             ? ""
             : "'" + digits + "' is not a generation: 32 hex digits.";
}

}  // namespace

void SliceFlags::AddTo(CLI::App& command, SliceFlags& flags, const std::string& generation) {
  command.add_option("--layers", flags.layers, "Only these layers, counted from 0")
      ->type_name("A-B")
      ->check([](const std::string& range) { return RangeProblem("l", "layers", range); });
  command.add_option("--heads", flags.heads, "Only these KV heads of each layer, counted from 0")
      ->type_name("C-D")
      ->check([](const std::string& range) { return RangeProblem("h", "KV heads", range); });
  command.add_option("--generation", flags.generation, generation)
      ->type_name("HEX")
      ->check(GenerationProblem);
}

Slice SliceFlags::ToSlice() const {
  return {PartOf("l", layers)->layers, PartOf("h", heads)->heads};
}

std::optional<Generation> SliceFlags::ToGeneration() const {
  if (generation.empty()) {
    return std::nullopt;
  }
  const std::vector<std::byte> bytes = *FromHex(generation);
  Generation said;
  std::ranges::copy(bytes, said.begin());
  return said;
}

}  // namespace kvcast
