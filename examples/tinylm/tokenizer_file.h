#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "examples/tinylm/base/result.h"
#include "examples/tinylm/merge_table.h"

namespace kvcast::tinylm {

// What a Hugging Face tokenizer.json says, as far as we do it: byte-level BPE that splits words by
// GPT-2's pattern, normalizes nothing and adds nothing. A file that asks for more is unsupported,
// never half obeyed: other ids would be another prompt.
//
//   { "added_tokens": [{"id": 0, "content": "<s>", ...}, ...],
//     "pre_tokenizer": {"type": "ByteLevel", ...}, "decoder": {"type": "ByteLevel", ...},
//     "model": {"type": "BPE", "vocab": {"<s>": 0, "!": 2, ...}, "merges": [["i", "n"], ...]} }
//
// The vocabulary writes a byte as one letter: itself if that is printable Latin-1, else the next
// one of U+0100, U+0101, ... So " in" stands there as "\u0120in".
struct TokenizerFile {
  // A token that is found in the text as it is written, before words are split.
  struct Added {
    std::string content;
    uint32_t id = 0;
  };

  std::vector<std::string> texts;        // The bytes each token stands for, by id.
  std::array<uint32_t, 256> byte_ids{};  // The token of each byte alone.
  std::vector<Added> added;              // As listed.
  MergeTable merges;

  // Every id in merges, byte_ids and added is below texts.size().
  static Result<TokenizerFile> Parse(std::string_view json);
};

}  // namespace kvcast::tinylm
