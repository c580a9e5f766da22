#include "kvcast/host/bench_pool.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "kvcast/base/random.h"
#include "kvcast/codec/band_fitting.h"
#include "kvcast/codec/band_moments.h"
#include "kvcast/codec/number_format.h"
#include "kvcast/codec/survey.h"
#include "kvcast/host/band_sampling.h"

namespace kvcast {
namespace {

constexpr uint32_t kEnginePageTokens = 16;
// Fewer, and blocks would be alike too often.
constexpr uint32_t kPagesMin = 32;
constexpr size_t kNoiseValues = size_t{1} << 18;
// Of a value, how much is its neighbour's.
constexpr float kLean = 0.6F;
constexpr uint32_t kSampledBlocks = 4;
constexpr uint32_t kSampledEvery = 4;

// Bells of width 1, made once: drawing one for each value would take minutes.
std::vector<float> Noise(uint64_t seed, float lean) {
  Random random(seed);
  std::vector<float> noise(kNoiseValues);
  const float fresh = std::sqrt(1 - lean * lean);
  float before = 0;
  for (float& value : noise) {
    float sum = 0;
    for (int i = 0; i < 4; ++i) {
      sum += static_cast<float>(random.Below(2001)) / 1000.0F - 1.0F;
    }
    before = lean * before + fresh * sum * 0.866F;
    value = before;
  }
  return noise;
}

// How wide each channel of a layer's plane spreads: from a third to three, and one in forty a few
// times that, as in keys of real models. What RoPE turns comes in pairs, which spread alike.
std::vector<float> Widths(const LayerShape& layer, Plane plane, const Rope& rope, Random& random) {
  const uint32_t size = layer.size(plane);
  std::vector<float> widths(size_t{layer.kv_heads} * size);
  for (float& width : widths) {
    width = 0.33F * std::exp2(static_cast<float>(random.Below(317)) / 100.0F);
    width *= plane == Plane::kKey && random.Below(40) == 0 ? 6.0F : 1.0F;
  }
  if (plane == Plane::kValue) {
    return widths;
  }
  for (uint32_t head = 0; head < layer.kv_heads; ++head) {
    float* const own = widths.data() + size_t{head} * size + rope.first;
    for (uint32_t pair = 0; pair < rope.pairs(); ++pair) {
      const uint32_t first = rope.adjacent ? 2 * pair : pair;
      own[rope.adjacent ? first + 1 : first + rope.pairs()] = own[first];
    }
  }
  return widths;
}

void FillPlane(std::span<std::byte> plane, HalfType type, std::span<const float> widths,
               std::span<const float> noise, Random& random) {
  const size_t row_bytes = widths.size() * kPageValueBytes;
  for (size_t at = 0; row_bytes > 0 && at < plane.size(); at += row_bytes) {
    const size_t from = random.Below(noise.size());
    for (size_t i = 0; i < widths.size(); ++i) {
      const float value = widths[i] * noise[(from + i) & (kNoiseValues - 1)];
      const uint16_t bits = type == HalfType::kBf16 ? FloatToBf16(value) : FromFloat(type, value);
      std::memcpy(plane.data() + at + i * kPageValueBytes, &bits, sizeof(bits));
    }
  }
}

}  // namespace

uint32_t BenchPageTokens(uint32_t block_tokens) {
  return block_tokens % kEnginePageTokens == 0 ? kEnginePageTokens : block_tokens;
}

BenchPool::BenchPool(const BenchModel& model, uint32_t page_tokens, uint32_t page_count)
    : model_(&model),
      page_tokens_(page_tokens),
      page_count_(page_count),
      rows_(model.shape.layers(), model.values, size_t{page_count} * page_tokens) {}

Result<std::unique_ptr<BenchPool>> BenchPool::Make(const BenchModel& model, size_t bytes,
                                                   uint64_t seed) {
  const uint32_t page_tokens = BenchPageTokens(model.shape.tokens());
  const size_t page_bytes = model.block_bytes() / (model.shape.tokens() / page_tokens);
  const auto pages =
      static_cast<uint32_t>(std::clamp<size_t>(bytes / page_bytes, kPagesMin, 65536));
  std::unique_ptr<BenchPool> pool(new BenchPool(model, page_tokens, pages));
  pool->Fill(seed);
  const PageFormat format{PageOrder::kNhd, KvPlacement::kApart, page_tokens,
                          ValueBytes(model.values), pages};
  KVCAST_TRY(PagedCache cache, PagedCache::Of(model.shape, format, pool->rows_.Memory()));
  pool->cache_ = std::make_unique<PagedCache>(std::move(cache));
  return pool;
}

void BenchPool::Fill(uint64_t seed) {
  Random random(seed);
  const std::vector<float> of_keys = Noise(random.Next(), 0);
  const std::vector<float> of_values = Noise(random.Next(), kLean);
  const std::vector<LayerMemory> memory = rows_.Memory();
  for (size_t layer = 0; layer < memory.size(); ++layer) {
    const LayerShape& shape = model_->shape.layers()[layer];
    const Rope& rope = model_->ropes[layer];
    FillPlane(memory[layer].key, model_->halves, Widths(shape, Plane::kKey, rope, random), of_keys,
              random);
    FillPlane(memory[layer].value, model_->halves, Widths(shape, Plane::kValue, rope, random),
              of_values, random);
  }
}

std::vector<uint32_t> BenchPool::PagesOf(uint64_t number) const {
  std::vector<uint32_t> pages(pages_per_block());
  for (size_t i = 0; i < pages.size(); ++i) {
    pages[i] = static_cast<uint32_t>(Scatter(number * pages.size() + i) % page_count_);
  }
  return pages;
}

Result<PromptPages> BenchPool::Pages(std::span<const uint64_t> blocks) const {
  std::vector<uint32_t> table;
  for (const uint64_t block : blocks) {
    const std::vector<uint32_t> pages = PagesOf(block);
    table.insert(table.end(), pages.begin(), pages.end());
  }
  return PromptPages::Of(*cache_, std::move(table), model_->shape.tokens(), blocks.size());
}

std::span<const std::byte> BenchPool::PageValues(uint32_t page, size_t layer, Plane plane) const {
  const std::span<const std::byte> all = rows_.Values(layer, plane);
  const size_t bytes = all.size() / page_count_;
  return all.subspan(page * bytes, bytes);
}

Result<BlockView> BenchPool::Sample(uint32_t index) const {
  std::vector<uint32_t> pages(pages_per_block());
  for (uint32_t i = 0; i < pages.size(); ++i) {
    pages[i] = static_cast<uint32_t>((index * pages.size() + i) % page_count_);
  }
  return BlockView::Of(*cache_, pages, 0, model_->shape.tokens());
}

Result<std::shared_ptr<const Calibration>> BenchPool::Calibrate(bool bands) const {
  std::vector<BlockView> samples;
  for (uint32_t i = 0; i < kSampledBlocks; ++i) {
    KVCAST_TRY(BlockView sample, Sample(i));
    samples.push_back(std::move(sample));
  }
  Survey survey(model_->shape, model_->halves);
  survey.Add(samples.front());
  if (!bands) {
    return std::make_shared<const Calibration>(Calibration::Of(survey));
  }
  const std::vector<LayerShape> layers(model_->shape.layers().begin(),
                                       model_->shape.layers().end());
  BandMoments moments(layers, model_->halves, model_->ropes, UsualForm(layers));
  for (const BlockView& sample : samples) {
    moments.Add(sample);
  }
  BandFitting fitting(layers, model_->halves, moments.Finished());
  for (const BlockView& sample : samples) {
    fitting.AddMagnitudes(sample, kSampledEvery);
  }
  fitting.FitSteps();
  for (const BlockView& sample : samples) {
    fitting.AddNumbers(sample, kSampledEvery);
  }
  fitting.FitTables();
  return std::make_shared<const Calibration>(Calibration::Of(survey, fitting.bands()));
}

}  // namespace kvcast
