#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "examples/tinylm/base/result.h"
#include "examples/tinylm/tokenizer_file.h"

namespace kvcast::tinylm {

// Whether a list of ids begins with <s>. The model has seen one in front of every document, so a
// prompt has one too; a part of a text has not.
enum class Start : uint8_t { kMarked, kBare };

// Text as the model's token ids and back: byte-level BPE as tokenizer.json describes it.
//
// The text of a special token, "<s>" say, becomes that token wherever it stands, as it does in the
// tokenizer this file was made for. Who lets strangers write into a prompt has to look for it.
//
// Pure and thread-compatible.
class Tokenizer {
 public:
  static constexpr size_t kTextBytesMax = 16 * 1024 * 1024;

  // Takes the contents of a tokenizer.json that names <s> and </s>. See TokenizerFile.
  static Result<Tokenizer> Parse(std::string_view json);

  size_t vocabulary_size() const { return file_.texts.size(); }
  uint32_t start() const { return start_; }  // <s>
  uint32_t end() const { return end_; }      // </s>

  // Text must be UTF-8, and no more than kTextBytesMax of it.
  Result<std::vector<uint32_t>> Encode(std::string_view text, Start start = Start::kMarked) const;

  // The text again, byte by byte, if `start` is the same. A character may be spread over tokens:
  // ids that were not encoded but generated, or cut off, need not be UTF-8 together.
  // Fails only for an id beyond the vocabulary.
  Result<std::string> Decode(std::span<const uint32_t> ids, Start start = Start::kMarked) const;

 private:
  explicit Tokenizer(TokenizerFile file) : file_(std::move(file)) {}

  // The first added token in the text, the longest of those at one place.
  struct Found {
    size_t at;
    const TokenizerFile::Added* token;  // Null if there is none; `at` is then the end.
  };
  Found FindAdded(std::string_view text) const;
  void EncodePlain(std::string_view text, std::vector<uint32_t>& ids) const;

  TokenizerFile file_;  // With the longest added token first.
  uint32_t start_ = 0;
  uint32_t end_ = 0;
};

}  // namespace kvcast::tinylm
