#include "examples/tinylm/inference/forward.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "examples/tinylm/inference/bfloat16.h"

namespace kvcast::tinylm {

Forward::Forward(const Weights& weights, const Kernels& kernels)
    : weights_(weights),
      kernels_(kernels),
      rope_(config().head_size, config().rope_theta, config().context),
      attention_(config(), kernels, kRowsMax),
      hidden_(kRowsMax * config().hidden),
      normalized_(kRowsMax * config().hidden),
      query_key_value_(kRowsMax * (config().query_size() + 2 * config().kv_size())),
      attended_(kRowsMax * config().query_size()),
      gate_up_(kRowsMax * 2 * config().feed_forward),
      logits_(config().vocabulary) {}

Result<void> Forward::Check(std::span<const Token> tokens, const Sequence& sequence) const {
  if (tokens.empty()) {
    return Error(ErrorCode::kInvalid, "There is no token to compute.");
  }
  if (tokens.size() > config().context || sequence.tokens > config().context - tokens.size()) {
    return Error(ErrorCode::kTooLarge, std::to_string(sequence.tokens + tokens.size()) +
                                           " tokens are more than the model's context of " +
                                           std::to_string(config().context) + ".");
  }
  for (const Token token : tokens) {
    if (token >= config().vocabulary) {
      return Error(ErrorCode::kInvalid, "There is no token " + std::to_string(token) + ".");
    }
  }
  return {};
}

Result<void> Forward::Append(std::span<const Token> tokens, KvCache& cache, Sequence& sequence) {
  TINYLM_TRY_VOID(Check(tokens, sequence));
  const size_t end = sequence.tokens + tokens.size();
  TINYLM_TRY_VOID(cache.Reserve(sequence, static_cast<uint32_t>(end)));
  while (!tokens.empty()) {
    const size_t count = std::min(tokens.size(), kRowsMax);
    AppendRows(tokens.first(count), {cache, sequence.pages, sequence.tokens, count});
    sequence.tokens += static_cast<uint32_t>(count);
    tokens = tokens.subspan(count);
  }
  return {};
}

void Forward::AppendRows(std::span<const Token> tokens, const Rows& rows) {
  const size_t hidden = config().hidden;
  for (size_t row = 0; row < rows.count; ++row) {
    weights_.embedding.CopyColumn(tokens[row], std::span(hidden_).subspan(row * hidden, hidden));
  }
  for (size_t layer = 0; layer < weights_.layers.size(); ++layer) {
    Attend(layer, rows);
    FeedForward(layer, rows.count);
  }
  last_row_ = rows.count - 1;
}

void Forward::Attend(size_t layer, const Rows& rows) {
  const LayerWeights& weights = weights_.layers[layer];
  const size_t hidden = config().hidden;
  for (size_t row = 0; row < rows.count; ++row) {
    Normalize(&hidden_[row * hidden], weights.attention_norm, &normalized_[row * hidden]);
  }
  Multiply(normalized_.data(), hidden, weights.query_key_value, rows.count,
           query_key_value_.data());
  KeepKv(layer, rows);
  attention_.Run(rows.cache, rows.pages, layer, rows.first, rows.count, attended_.data());
  Multiply(attended_.data(), config().query_size(), weights.output, rows.count, hidden_.data(),
           /*accumulate=*/true);
}

// Queries go to attention, keys and values into the pages.
void Forward::KeepKv(size_t layer, const Rows& rows) {
  const size_t head_size = config().head_size;
  const size_t row_size = config().query_size() + 2 * config().kv_size();
  // Softmax to the base of 2 is one to the base of e whose scores are this much larger.
  const float scale = static_cast<float>(std::numbers::log2e / std::sqrt(head_size));
  const uint32_t page_tokens = rows.cache.page_tokens();
  for (size_t row = 0; row < rows.count; ++row) {
    const size_t position = rows.first + row;
    const uint32_t page = rows.pages[position / page_tokens];
    const auto slot = static_cast<uint32_t>(position % page_tokens);
    float* at = &query_key_value_[row * row_size];
    for (size_t head = 0; head < config().heads; ++head, at += head_size) {
      rope_.Rotate(at, position, scale, attention_.Query(row, head));
    }
    for (const Plane plane : {Plane::kKey, Plane::kValue}) {
      for (uint32_t head = 0; head < config().kv_heads; ++head, at += head_size) {
        if (plane == Plane::kKey) {
          rope_.Rotate(at, position, 1, at);
        }
        std::byte* const to = rows.cache.At(layer, plane, page, slot, head);
        for (size_t i = 0; i < head_size; ++i) {
          StoreBfloat16(at[i], to + i * sizeof(uint16_t));
        }
      }
    }
  }
}

void Forward::FeedForward(size_t layer, size_t count) {
  const LayerWeights& weights = weights_.layers[layer];
  const size_t hidden = config().hidden;
  const size_t feed_forward = config().feed_forward;
  for (size_t row = 0; row < count; ++row) {
    Normalize(&hidden_[row * hidden], weights.feed_forward_norm, &normalized_[row * hidden]);
  }
  Multiply(normalized_.data(), hidden, weights.gate_up, count, gate_up_.data());
  for (size_t row = 0; row < count; ++row) {
    float* const gate = &gate_up_[row * 2 * feed_forward];
    kernels_.gate(gate, gate + feed_forward, feed_forward);
  }
  Multiply(gate_up_.data(), 2 * feed_forward, weights.down, count, hidden_.data(),
           /*accumulate=*/true);
}

std::span<const float> Forward::Logits() {
  const size_t hidden = config().hidden;
  Normalize(&hidden_[last_row_ * hidden], weights_.norm, normalized_.data());
  Multiply(normalized_.data(), hidden, weights_.embedding, 1, logits_.data());
  return logits_;
}

// RMSNorm.
void Forward::Normalize(const float* row, const AlignedFloats& weights, float* out) const {
  const size_t size = weights.size();
  const float mean = kernels_.sum_of_squares(row, size) / static_cast<float>(size);
  const float factor = 1 / std::sqrt(mean + config().norm_epsilon);
  for (size_t i = 0; i < size; ++i) {
    out[i] = row[i] * factor * weights[i];
  }
}

void Forward::Multiply(const float* a, size_t a_stride, const Panels& panels, size_t rows,
                       float* out, bool accumulate) const {
  Product product;
  product.a = a;
  product.a_stride = a_stride;
  product.panels = panels.data();
  product.panel_stride = panels.panel_stride();
  product.out = out;
  product.out_stride = panels.columns();
  product.rows = rows;
  product.depth = panels.depth();
  product.columns = panels.columns();
  product.accumulate = accumulate;
  kernels_.multiply(product);
}

}  // namespace kvcast::tinylm
