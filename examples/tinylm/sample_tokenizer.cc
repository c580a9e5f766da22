#include "examples/tinylm/sample_tokenizer.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "examples/tinylm/base/json.h"

namespace kvcast::tinylm {
namespace {

// U+00XX or U+01XX in UTF-8.
std::string Letter(unsigned code) {
  if (code < 0x80) {
    return {static_cast<char>(code)};
  }
  return {static_cast<char>(0xc0u | code >> 6), static_cast<char>(0x80u | (code & 0x3fu))};
}

Json AddedToken(unsigned id, const char* content) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
}

}  // namespace

std::string SampleTokenizerJson() {
  Json vocabulary = {{"<s>", 0u}, {"</s>", 1u}};
  const auto name = [&](const std::string& token) {
    vocabulary[token] = static_cast<unsigned>(vocabulary.size());
  };
  // The letters of the bytes: printable Latin-1, then as many beyond it as there are other bytes.
  const std::pair<unsigned, unsigned> letters[] = {
      {0x21, 0x7e}, {0xa1, 0xac}, {0xae, 0xff}, {0x100, 0x143}};
  for (const auto& [first, last] : letters) {
    for (unsigned code = first; code <= last; ++code) {
      name(Letter(code));
    }
  }
  const std::string space = Letter(0x120);
  Json merges = Json::array();
  const std::pair<std::string, std::string> pairs[] = {
      {"h", "e"}, {"t", "he"}, {space, "the"}, {space, space}, {"'", "s"}};
  for (const auto& [left, right] : pairs) {
    merges.push_back(Json::array({left, right}));
    name(left + right);
  }
  const Json root = {
      {"version", "1.0"},
      {"truncation", nullptr},
      {"padding", nullptr},
      {"added_tokens", Json::array({AddedToken(0, "<s>"), AddedToken(1, "</s>")})},
      {"normalizer", nullptr},
      {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}}},
      {"post_processor", nullptr},
      {"decoder", {{"type", "ByteLevel"}}},
      {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", merges}}},
  };
  return root.dump();
}

}  // namespace kvcast::tinylm
