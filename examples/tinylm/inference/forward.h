#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "examples/tinylm/base/result.h"
#include "examples/tinylm/base/token.h"
#include "examples/tinylm/inference/aligned_floats.h"
#include "examples/tinylm/inference/attention.h"
#include "examples/tinylm/inference/kernels.h"
#include "examples/tinylm/inference/kv_cache.h"
#include "examples/tinylm/inference/rope.h"
#include "examples/tinylm/inference/weights.h"

namespace kvcast::tinylm {

// Computes the model: tokens in, their KV into the cache, logits out. The same for a prompt's
// thousands of tokens and for the one that was generated last.
//
// A token's KV and logits depend on the tokens up to it, and on nothing else down to the last bit:
// not on how many are computed together, nor on whether the KV before them was computed here or
// loaded, nor on the processor (see Kernels).
//
// Accumulates in FP32; only the cache is BF16. Keeps its memory between calls. One thread at a
// time; several objects may share weights.
class Forward {
 public:
  // Rows that go through a layer together. More would not stay in the second-level cache.
  static constexpr size_t kRowsMax = 192;

  // `weights` must outlive this.
  explicit Forward(const Weights& weights, const Kernels& kernels = BestKernels());

  // Appends tokens to `sequence`, whose pages are in `cache`. Invalid: no tokens, one beyond the
  // vocabulary. Too large: more than the context, or the pages, have room for. Then nothing has
  // changed.
  Result<void> Append(std::span<const Token> tokens, KvCache& cache, Sequence& sequence);

  // How likely each token is to follow the last one that was appended, as log odds. Valid until
  // something is appended. REQUIRES: something was.
  std::span<const float> Logits();

  const Config& config() const { return weights_.config; }

 private:
  // Some consecutive tokens of a sequence, and where they belong.
  struct Rows {
    KvCache& cache;
    std::span<const uint32_t> pages;
    size_t first = 0;  // Position of the first.
    size_t count = 0;
  };
  Result<void> Check(std::span<const Token> tokens, const Sequence& sequence) const;
  void AppendRows(std::span<const Token> tokens, const Rows& rows);
  void Attend(size_t layer, const Rows& rows);
  void KeepKv(size_t layer, const Rows& rows);
  void FeedForward(size_t layer, size_t count);
  void Normalize(const float* row, const AlignedFloats& weights, float* out) const;
  void Multiply(const float* a, size_t a_stride, const Panels& panels, size_t rows, float* out,
                bool accumulate = false) const;

  const Weights& weights_;
  const Kernels& kernels_;
  Rope rope_;
  Attention attention_;
  AlignedFloats hidden_;           // [row][hidden]: what the layers add to.
  AlignedFloats normalized_;       // [row][hidden]
  AlignedFloats query_key_value_;  // [row][query_size + 2 kv_size]
  AlignedFloats attended_;         // [row][query_size]
  AlignedFloats gate_up_;          // [row][2 feed_forward]
  AlignedFloats logits_;           // [vocabulary]
  size_t last_row_ = 0;
};

}  // namespace kvcast::tinylm
