#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "examples/tinylm/inference/aligned_floats.h"
#include "examples/tinylm/inference/config.h"
#include "examples/tinylm/inference/kernels.h"
#include "examples/tinylm/inference/kv_cache.h"
#include "examples/tinylm/inference/kv_tile.h"

namespace kvcast::tinylm {

// Causal attention of some rows of a sequence over all of it, reading the BF16 pages.
//
// The sequence is taken in tiles that begin at multiples of KvTile::kTokens, whichever rows ask;
// softmax runs along with them. So a row sums up in the same order whether it is computed alone or
// with others.
//
// Keeps its memory between calls. One thread at a time.
class Attention {
 public:
  // `rows_max`: how many rows are computed together.
  Attention(const Config& config, const Kernels& kernels, size_t rows_max);

  // Where the caller puts the query of a row and head, turned and scaled so that the weight of a
  // key is 2^(query * key).
  float* Query(size_t row, size_t head);

  // Rows stand at positions `first` and following; their own K and V are in the pages already.
  // Writes [rows][heads * head_size] to `out`.
  void Run(const KvCache& cache, std::span<const uint32_t> pages, size_t layer, size_t first,
           size_t rows, float* out);

 private:
  // Queries that are multiplied together: their scores stay in the first-level cache.
  static constexpr size_t kQueriesTogether = 48;

  void RunHead(const KvCache& cache, std::span<const uint32_t> pages, size_t layer, size_t kv_head,
               size_t first, size_t rows);
  // Adds what `count` queries see of the tile that begins with token `begin`.
  void AddTile(const float* queries, size_t query, size_t count, size_t first, size_t begin);

  const Kernels& kernels_;
  size_t head_size_;
  size_t group_;
  size_t kv_heads_;
  size_t rows_max_;
  AlignedFloats queries_;  // [kv_head][row][head of its group][head_size]
  KvTile tile_;
  AlignedFloats scores_;  // [query][token of the tile]
  AlignedFloats sums_;    // Weighted values so far: [row][head of the group][head_size]
  std::vector<SoftmaxState> states_;
};

}  // namespace kvcast::tinylm
