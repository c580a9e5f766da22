#include "kvcast/host/band_sampling.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "kvcast/codec/band_fitting.h"
#include "kvcast/codec/band_moments.h"
#include "kvcast/codec/half_type.h"
#include "kvcast/codec/rope_survey.h"
#include "kvcast/kv/safetensors.h"

namespace kvcast {
namespace {

constexpr uint32_t kUsualLayerValues = 512;
// Of the tokens that tables are made from: one in so many.
constexpr uint32_t kEvery = 4;
constexpr size_t kLooks = 3;

// Queries that no key meets as they are, those of latents, are left out.
void AddQueriesOf(const CacheBlocks& blocks, BandMoments& moments) {
  const std::span<const LayerShape> layers = blocks.shape().layers();
  for (uint32_t layer = 0; layer < layers.size(); ++layer) {
    if (blocks.QueryHeads(layer) > 0 && layers[layer].value_size > 0) {
      moments.AddQueries(layer, blocks.Queries(layer), blocks.QueryHeads(layer));
    }
  }
}

// The output projections of a model's weights, by the name that most give them.
Result<void> AddProjections(const std::string& path, std::span<const LayerShape> layers,
                            BandMoments& moments) {
  KVCAST_TRY(const MappedFile mapped, MappedFile::Open(path));
  const Result<Safetensors> file = Safetensors::Parse(mapped.span());
  if (!file.ok()) {
    return Error(file.error()).In(path);
  }
  for (uint32_t layer = 0; layer < layers.size(); ++layer) {
    if (layers[layer].value_size == 0) {
      continue;
    }
    const std::string name = fmt::format("layers.{}.self_attn.o_proj.weight", layer);
    const Tensor* tensor = file->Find("model." + name);
    tensor = tensor == nullptr ? file->Find(name) : tensor;
    const uint64_t columns = tensor != nullptr && tensor->shape.size() == 2 ? tensor->shape[1] : 0;
    const uint64_t together = uint64_t{layers[layer].kv_heads} * layers[layer].value_size;
    const bool halves = tensor != nullptr && (tensor->dtype == "BF16" || tensor->dtype == "F16");
    if (!halves || columns == 0 || columns % together != 0) {
      return Error(ErrorCode::kMismatch,
                   fmt::format("It has no model.{} in BF16 or F16 that fits the model.", name))
          .In(path);
    }
    const HalfType type = tensor->dtype == "BF16" ? HalfType::kBf16 : HalfType::kFp16;
    moments.AddProjection(layer, FloatsOf(type, tensor->data),
                          static_cast<uint32_t>(columns / layers[layer].value_size));
  }
  return {};
}

// How keys are turned, by what the model says and the first sample shows.
Result<std::vector<Rope>> RopesSeen(const BandSampling& sampling,
                                    const std::vector<LayerShape>& layers) {
  KVCAST_TRY(const std::vector<Rope> said, RopesOfModel(sampling.coding.model));
  KVCAST_TRY(const CacheBlocks blocks, sampling.coding.Open(sampling.samples[0]));
  RopeSurvey survey(layers, blocks.type(), said);
  for (size_t i = 0; i < blocks.count(); ++i) {
    survey.Add(blocks.Block(i));
  }
  return survey.Ropes();
}

}  // namespace

BandForm UsualForm(const std::vector<LayerShape>& layers) {
  const bool small = std::ranges::all_of(layers, [](const LayerShape& layer) {
    return layer.kv_heads * std::max(layer.key_size, layer.value_size) <= kUsualLayerValues;
  });
  return small ? BandForm::kLayer : BandForm::kHead;
}

Result<Bands> BandSampling::Sampled(uint64_t values, Progress& progress) const {
  KVCAST_TRY(const std::vector<LayerShape> layers, LayersOfModel(coding.model));
  KVCAST_TRY(const std::vector<Rope> ropes, RopesSeen(*this, layers));
  uint64_t seen = 0;
  const auto each = [&](auto use) -> Result<void> {
    for (const std::string& sample : samples) {
      KVCAST_TRY(const CacheBlocks blocks, coding.Open(sample));
      use(blocks);
      seen += blocks.values();
      progress.Update(seen * kPageValueBytes, kLooks * values * kPageValueBytes);
    }
    return {};
  };
  std::optional<BandMoments> moments;
  KVCAST_TRY_VOID(each([&](const CacheBlocks& blocks) {
    if (!moments) {
      moments.emplace(layers, blocks.type(), ropes, form);
    }
    for (size_t i = 0; i < blocks.count(); ++i) {
      moments->Add(blocks.Block(i));
    }
    AddQueriesOf(blocks, *moments);
  }));
  if (!weights.empty()) {
    KVCAST_TRY_VOID(AddProjections(weights, layers, *moments));
  }
  BandFitting fitting(layers, moments->type(), moments->Finished());
  moments.reset();
  KVCAST_TRY_VOID(each([&](const CacheBlocks& blocks) {
    for (size_t i = 0; i < blocks.count(); ++i) {
      fitting.AddMagnitudes(blocks.Block(i), kEvery);
    }
  }));
  fitting.FitSteps();
  KVCAST_TRY_VOID(each([&](const CacheBlocks& blocks) {
    for (size_t i = 0; i < blocks.count(); ++i) {
      fitting.AddNumbers(blocks.Block(i), kEvery);
    }
  }));
  fitting.FitTables();
  return fitting.bands();
}

}  // namespace kvcast
