#include "examples/tinylm/inference/weights.h"

#include <algorithm>
#include <map>
#include <string>

#include "examples/tinylm/base/file.h"
#include "examples/tinylm/base/safetensors.h"
#include "examples/tinylm/inference/bfloat16.h"

namespace kvcast::tinylm {
namespace {

constexpr size_t kConfigBytesMax = 1024 * 1024;
constexpr size_t kWeightsBytesMax = size_t{1} << 30;

std::string ToText(std::span<const uint64_t> shape) {
  std::string text;
  for (const uint64_t size : shape) {
    text += (text.empty() ? "" : ", ") + std::to_string(size);
  }
  return "[" + text + "]";
}

// The tensors of a file by name, each in the shape that it must have.
class TensorFile {
 public:
  explicit TensorFile(const std::map<std::string, Tensor>& tensors) : tensors_(tensors) {}

  Result<std::span<const std::byte>> Values(const std::string& name,
                                            std::vector<uint64_t> shape) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) {
      return Error(ErrorCode::kNotFound, "There is no tensor \"" + name + "\".");
    }
    const Tensor& tensor = found->second;
    if (tensor.dtype != "BF16" || tensor.shape != shape) {
      return Error(ErrorCode::kMismatch, "It is " + tensor.dtype + " " + ToText(tensor.shape) +
                                             "; config.json makes it BF16 " + ToText(shape) + ".")
          .In("tensor \"" + name + "\"");
    }
    return tensor.data;
  }

  Result<AlignedFloats> Vector(const std::string& name, size_t size) const {
    TINYLM_TRY(const std::span<const std::byte> values, Values(name, {size}));
    AlignedFloats vector(size);
    for (size_t i = 0; i < size; ++i) {
      vector[i] = LoadBfloat16(values.data() + i * sizeof(uint16_t));
    }
    return vector;
  }

  struct Part {
    std::string name;
    size_t columns = 0;
  };
  // The weights of linear layers that have one input, side by side.
  Result<Panels> Matrix(std::initializer_list<Part> parts, size_t depth) const {
    std::vector<std::span<const std::byte>> values;
    size_t columns = 0;
    for (const Part& part : parts) {
      TINYLM_TRY(values.emplace_back(), Values(part.name, {part.columns, depth}));
      columns += part.columns;
    }
    Panels panels(columns, depth);
    size_t first = 0;
    for (const std::span<const std::byte> part : values) {
      panels.SetColumns(first, part);
      first += part.size() / (depth * sizeof(uint16_t));
    }
    return panels;
  }

 private:
  const std::map<std::string, Tensor>& tensors_;
};

Result<LayerWeights> LayerOf(const TensorFile& file, const Config& config, size_t index) {
  const std::string layer = "model.layers." + std::to_string(index) + ".";
  const std::string attention = layer + "self_attn.";
  const std::string mlp = layer + "mlp.";
  const size_t hidden = config.hidden;
  const size_t feed_forward = config.feed_forward;
  LayerWeights weights;
  TINYLM_TRY(weights.attention_norm, file.Vector(layer + "input_layernorm.weight", hidden));
  TINYLM_TRY(weights.query_key_value,
             file.Matrix({{attention + "q_proj.weight", config.query_size()},
                          {attention + "k_proj.weight", config.kv_size()},
                          {attention + "v_proj.weight", config.kv_size()}},
                         hidden));
  TINYLM_TRY(weights.output,
             file.Matrix({{attention + "o_proj.weight", hidden}}, config.query_size()));
  TINYLM_TRY(weights.feed_forward_norm,
             file.Vector(layer + "post_attention_layernorm.weight", hidden));
  TINYLM_TRY(weights.gate_up, file.Matrix({{mlp + "gate_proj.weight", feed_forward},
                                           {mlp + "up_proj.weight", feed_forward}},
                                          hidden));
  TINYLM_TRY(weights.down, file.Matrix({{mlp + "down_proj.weight", hidden}}, feed_forward));
  return weights;
}

Result<Weights> WeightsOf(const Config& config, std::span<const std::byte> bytes) {
  TINYLM_TRY(const auto tensors, ParseSafetensors(bytes));
  const TensorFile file(tensors);
  Weights weights;
  weights.config = config;
  TINYLM_TRY(weights.embedding,
             file.Matrix({{"model.embed_tokens.weight", config.vocabulary}}, config.hidden));
  TINYLM_TRY(weights.norm, file.Vector("model.norm.weight", config.hidden));
  for (size_t i = 0; i < config.layers; ++i) {
    TINYLM_TRY(weights.layers.emplace_back(), LayerOf(file, config, i));
  }
  return weights;
}

}  // namespace

Result<Weights> Weights::Parse(std::string_view config_json, std::span<const std::byte> file) {
  auto config = Config::Parse(config_json);
  if (!config.ok()) {
    return std::move(config).error().In("config.json");
  }
  auto weights = WeightsOf(*config, file);
  if (!weights.ok()) {
    return std::move(weights).error().In("model.safetensors");
  }
  return weights;
}

Result<Weights> Weights::Load(const std::filesystem::path& folder) {
  TINYLM_TRY(const std::string config, ReadFile(folder / "config.json", kConfigBytesMax));
  TINYLM_TRY(const std::string file, ReadFile(folder / "model.safetensors", kWeightsBytesMax));
  auto weights = Parse(config, std::as_bytes(std::span(file)));
  if (!weights.ok()) {
    return std::move(weights).error().In(folder.string());
  }
  return weights;
}

}  // namespace kvcast::tinylm
