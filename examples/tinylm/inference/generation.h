#pragma once

#include <span>
#include <vector>

#include "examples/tinylm/base/result.h"
#include "examples/tinylm/base/token.h"
#include "examples/tinylm/inference/forward.h"
#include "examples/tinylm/inference/kv_cache.h"
#include "examples/tinylm/inference/sampler.h"

namespace kvcast::tinylm {

// A prompt being continued, token by token.
class Generation {
 public:
  // Computes what `sequence` does not hold of the prompt yet. It may hold KV that somebody else
  // computed of any number of the prompt's first tokens; the last token is computed in any case,
  // as its logits are nowhere kept. All three must outlive the result.
  //
  // Invalid: no prompt, or a sequence that is longer than it.
  static Result<Generation> Start(Forward& forward, KvCache& cache, Sequence& sequence,
                                  std::vector<Token> prompt, const Sampling& sampling = {});

  // Errors as Forward::Append(): once context or pages are full.
  Result<Token> Next();

  // The prompt and all that Next() gave.
  std::span<const Token> tokens() const { return tokens_; }

 private:
  Generation(Forward& forward, KvCache& cache, Sequence& sequence, std::vector<Token> prompt,
             const Sampling& sampling);

  Forward& forward_;
  KvCache& cache_;
  Sequence& sequence_;
  Sampler sampler_;
  std::vector<Token> tokens_;
};

}  // namespace kvcast::tinylm
