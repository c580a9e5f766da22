#include "examples/tinylm/inference/attention.h"

#include <algorithm>

namespace kvcast::tinylm {

Attention::Attention(const Config& config, const Kernels& kernels, size_t rows_max)
    : kernels_(kernels),
      head_size_(config.head_size),
      group_(config.group()),
      kv_heads_(config.kv_heads),
      rows_max_(rows_max),
      queries_(rows_max * config.query_size()),
      tile_(head_size_),
      scores_(kQueriesTogether * KvTile::kTokens),
      sums_(rows_max * group_ * head_size_),
      states_(rows_max * group_) {}

float* Attention::Query(size_t row, size_t head) {
  const size_t kv_head = head / group_;
  return queries_.data() + ((kv_head * rows_max_ + row) * group_ + head % group_) * head_size_;
}

void Attention::Run(const KvCache& cache, std::span<const uint32_t> pages, size_t layer,
                    size_t first, size_t rows, float* out) {
  const size_t group_size = group_ * head_size_;
  for (size_t kv_head = 0; kv_head < kv_heads_; ++kv_head) {
    RunHead(cache, pages, layer, kv_head, first, rows);
    for (size_t query = 0; query < rows * group_; ++query) {
      const float* const from = sums_.data() + query * head_size_;
      float* const to =
          out + (query / group_ * kv_heads_ + kv_head) * group_size + query % group_ * head_size_;
      const float sum = states_[query].sum;
      for (size_t i = 0; i < head_size_; ++i) {
        to[i] = from[i] / sum;
      }
    }
  }
}

void Attention::RunHead(const KvCache& cache, std::span<const uint32_t> pages, size_t layer,
                        size_t kv_head, size_t first, size_t rows) {
  std::fill_n(sums_.begin(), rows * group_ * head_size_, 0.0F);
  std::fill_n(states_.begin(), rows * group_, SoftmaxState{});
  float* const queries = Query(0, kv_head * group_);
  const size_t end = first + rows;
  for (size_t begin = 0; begin < end; begin += KvTile::kTokens) {
    tile_.Load(cache, pages, layer, static_cast<uint32_t>(kv_head), begin,
               std::min(begin + KvTile::kTokens, end));
    // Rows before the tile do not look at it.
    size_t query = begin > first ? (begin - first) * group_ : 0;
    for (; query < rows * group_; query += kQueriesTogether) {
      AddTile(queries, query, std::min(kQueriesTogether, rows * group_ - query), first, begin);
    }
  }
}

void Attention::AddTile(const float* queries, size_t query, size_t count, size_t first,
                        size_t begin) {
  // How many tokens of the tile a query looks at, and the last and longest-sighted of these here.
  const auto visible = [&](size_t of) {
    return std::min(first + of / group_ + 1 - begin, KvTile::kTokens);
  };
  const size_t depth = visible(query + count - 1);
  Product scores;
  scores.a = queries + query * head_size_;
  scores.a_stride = head_size_;
  scores.panels = tile_.keys();
  scores.panel_stride = tile_.key_panel_stride();
  scores.out = scores_.data();
  scores.out_stride = KvTile::kTokens;
  scores.rows = count;
  scores.depth = head_size_;
  scores.columns = (depth + kPanelColumns - 1) / kPanelColumns * kPanelColumns;
  kernels_.multiply(scores);

  for (size_t i = 0; i < count; ++i) {
    const float factor = kernels_.weigh(scores_.data() + i * KvTile::kTokens, visible(query + i),
                                        depth, states_[query + i]);
    if (factor != 1) {
      float* const sums = sums_.data() + (query + i) * head_size_;
      std::transform(sums, sums + head_size_, sums, [&](float sum) { return sum * factor; });
    }
  }

  Product weighted;
  weighted.a = scores_.data();
  weighted.a_stride = KvTile::kTokens;
  weighted.panels = tile_.values();
  weighted.panel_stride = tile_.value_panel_stride();
  weighted.out = sums_.data() + query * head_size_;
  weighted.out_stride = head_size_;
  weighted.rows = count;
  weighted.depth = depth;
  weighted.columns = head_size_;
  weighted.accumulate = true;
  kernels_.multiply(weighted);
}

}  // namespace kvcast::tinylm
