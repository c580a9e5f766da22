#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

#include "examples/tinylm/inference/kv_cache.h"
#include "kvcast/base/digest.h"
#include "kvcast/base/result.h"
#include "kvcast/io/file.h"
#include "kvcast/kv/kv_file.h"
#include "kvcast/kv/token.h"

namespace kvcast::tinylm {

// A prompt's KV in a file, as any of kvcast's programs reads it (docs/reference/kv-files.md). Its
// metadata says which model it is of, and under "tinylm.prompt" which tokens: KV without them is
// of no use to anybody.
class CacheFile {
 public:
  // Writes what the sequence holds. REQUIRES: that is `prompt`, or some of its first tokens.
  static Result<void> Write(const std::filesystem::path& path, const Digest& model,
                            const KvCache& cache, const Sequence& sequence,
                            std::span<const Token> prompt);

  // Mismatch: it was made by another model.
  static Result<CacheFile> Open(const std::filesystem::path& path, const Digest& model);

  // How many of the prompt's first tokens it holds.
  uint32_t SharedTokens(std::span<const Token> prompt) const;

  // Has an empty sequence hold the first `tokens` tokens. Mismatch: the cache is of another shape.
  // REQUIRES: there are as many.
  Result<void> Load(uint32_t tokens, KvCache& cache, Sequence& sequence) const;

  std::span<const Token> prompt() const { return prompt_; }

 private:
  CacheFile(MappedFile mapped, KvFile file, std::vector<Token> prompt)
      : mapped_(std::move(mapped)), file_(std::move(file)), prompt_(std::move(prompt)) {}

  MappedFile mapped_;
  KvFile file_;
  std::vector<Token> prompt_;
};

}  // namespace kvcast::tinylm
