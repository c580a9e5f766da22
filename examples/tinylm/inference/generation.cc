#include "examples/tinylm/inference/generation.h"

#include <algorithm>
#include <utility>

namespace kvcast::tinylm {

Generation::Generation(Forward& forward, KvCache& cache, Sequence& sequence,
                       std::vector<Token> prompt, const Sampling& sampling)
    : forward_(forward),
      cache_(cache),
      sequence_(sequence),
      sampler_(sampling),
      tokens_(std::move(prompt)) {}

Result<Generation> Generation::Start(Forward& forward, KvCache& cache, Sequence& sequence,
                                     std::vector<Token> prompt, const Sampling& sampling) {
  if (prompt.empty() || sequence.tokens > prompt.size()) {
    return Error(ErrorCode::kInvalid, "A prompt has tokens, and all that is cached are its first.");
  }
  sequence.tokens = std::min(sequence.tokens, static_cast<uint32_t>(prompt.size() - 1));
  TINYLM_TRY_VOID(forward.Append(std::span(prompt).subspan(sequence.tokens), cache, sequence));
  return Generation(forward, cache, sequence, std::move(prompt), sampling);
}

Result<Token> Generation::Next() {
  // The token before this one was chosen, but has not been looked at yet.
  if (sequence_.tokens < tokens_.size()) {
    TINYLM_TRY_VOID(
        forward_.Append(std::span(tokens_).subspan(sequence_.tokens), cache_, sequence_));
  }
  tokens_.push_back(sampler_.Next(forward_.Logits(), tokens_));
  return tokens_.back();
}

}  // namespace kvcast::tinylm
