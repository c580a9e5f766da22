#include "kvcast/kv/input_list.h"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace kvcast {
namespace {

std::vector<ForeignInput> Ordered(std::span<const ForeignInput> inputs) {
  std::vector<ForeignInput> ordered(inputs.begin(), inputs.end());
  std::ranges::sort(ordered, {}, &ForeignInput::position);
  return ordered;
}

}  // namespace

std::optional<ForeignInput> ParseInput(std::string_view text) {
  ForeignInput input;
  const char* const end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, input.position);
  if (error != std::errc() || read == end || *read != '=') {
    return std::nullopt;
  }
  const Result<Digest> digest = Digest::FromHex(std::string_view(read + 1, end));
  if (!digest.ok()) {
    return std::nullopt;
  }
  input.digest = *digest;
  return input;
}

std::optional<std::vector<ForeignInput>> ParseInputList(std::string_view text, uint64_t tokens) {
  std::vector<ForeignInput> inputs;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::optional<ForeignInput> input = ParseInput(text.substr(at, end - at));
    if (!input || (!inputs.empty() && input->position <= inputs.back().position)) {
      return std::nullopt;
    }
    inputs.push_back(*input);
    at = end + 1;
  }
  // The only spelling, of inputs that are among the tokens.
  return TextOf(inputs, tokens) == text ? std::optional(std::move(inputs)) : std::nullopt;
}

std::string TextOf(std::span<const ForeignInput> inputs, uint64_t end) {
  std::string text;
  for (const ForeignInput& input : Ordered(inputs)) {
    if (input.position < end) {
      text +=
          (text.empty() ? "" : " ") + std::to_string(input.position) + "=" + input.digest.ToHex();
    }
  }
  return text;
}

uint64_t SharedTokens(std::span<const ForeignInput> one, std::span<const ForeignInput> other,
                      uint64_t tokens) {
  const std::vector<ForeignInput> these = Ordered(one);
  const std::vector<ForeignInput> those = Ordered(other);
  const auto differ =
      std::ranges::mismatch(these, those, [](const ForeignInput& a, const ForeignInput& b) {
        return a.position == b.position && a.digest == b.digest;
      });
  uint64_t shared = tokens;
  if (differ.in1 != these.end()) {
    shared = std::min(shared, differ.in1->position);
  }
  if (differ.in2 != those.end()) {
    shared = std::min(shared, differ.in2->position);
  }
  return shared;
}

}  // namespace kvcast
