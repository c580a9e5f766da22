#include "examples/tinylm/tokenizer.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "examples/tinylm/characters.h"
#include "examples/tinylm/words.h"

namespace kvcast::tinylm {
namespace {

Result<uint32_t> SpecialId(const TokenizerFile& file, std::string_view content) {
  const auto found = std::ranges::find(file.added, content, &TokenizerFile::Added::content);
  if (found == file.added.end()) {
    return Error(ErrorCode::kUnsupported,
                 "The added tokens must name " + std::string(content) + ".");
  }
  return found->id;
}

}  // namespace

Result<Tokenizer> Tokenizer::Parse(std::string_view json) {
  TINYLM_TRY(TokenizerFile file, TokenizerFile::Parse(json));
  std::ranges::sort(file.added, std::greater<>(),
                    [](const TokenizerFile::Added& token) { return token.content.size(); });
  Tokenizer tokenizer(std::move(file));
  TINYLM_TRY(tokenizer.start_, SpecialId(tokenizer.file_, "<s>"));
  TINYLM_TRY(tokenizer.end_, SpecialId(tokenizer.file_, "</s>"));
  return tokenizer;
}

Result<std::vector<uint32_t>> Tokenizer::Encode(std::string_view text, Start start) const {
  if (text.size() > kTextBytesMax) {
    return Error(ErrorCode::kTooLarge,
                 "At most " + std::to_string(kTextBytesMax) + " bytes of text are encoded.");
  }
  TINYLM_TRY_VOID(CheckUtf8(text));
  std::vector<uint32_t> ids;
  if (start == Start::kMarked) {
    ids.push_back(start_);
  }
  while (!text.empty()) {
    const auto [at, token] = FindAdded(text);
    EncodePlain(text.substr(0, at), ids);
    text.remove_prefix(at);
    if (token != nullptr) {
      ids.push_back(token->id);
      text.remove_prefix(token->content.size());
    }
  }
  return ids;
}

Tokenizer::Found Tokenizer::FindAdded(std::string_view text) const {
  for (size_t at = 0; at < text.size(); ++at) {
    for (const TokenizerFile::Added& token : file_.added) {
      if (text.substr(at).starts_with(token.content)) {
        return {at, &token};
      }
    }
  }
  return {text.size(), nullptr};
}

void Tokenizer::EncodePlain(std::string_view text, std::vector<uint32_t>& ids) const {
  std::vector<uint32_t> bytes;
  while (!text.empty()) {
    const std::string_view word = FirstWord(text);
    bytes.clear();
    for (const char byte : word) {
      bytes.push_back(file_.byte_ids[static_cast<uint8_t>(byte)]);
    }
    file_.merges.Apply(bytes, ids);
    text.remove_prefix(word.size());
  }
}

Result<std::string> Tokenizer::Decode(std::span<const uint32_t> ids, Start start) const {
  if (start == Start::kMarked && !ids.empty() && ids.front() == start_) {
    ids = ids.subspan(1);
  }
  std::string text;
  for (const uint32_t id : ids) {
    if (id >= file_.texts.size()) {
      return Error(ErrorCode::kInvalid, "There is no token " + std::to_string(id) +
                                            "; the last is " +
                                            std::to_string(file_.texts.size() - 1) + ".");
    }
    text += file_.texts[id];
  }
  return text;
}

}  // namespace kvcast::tinylm
