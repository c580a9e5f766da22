#include "kvcast/host/model_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "kvcast/base/hex.h"

namespace kvcast {
namespace {

std::string Heads(const LayerShape& layer) {
  if (layer.value_size == 0) {
    return fmt::format("a latent of {}", layer.key_size);
  }
  const std::string heads = fmt::format("{} KV head{} of {}", layer.kv_heads,
                                        layer.kv_heads == 1 ? "" : "s", layer.key_size);
  return layer.key_size == layer.value_size ? heads
                                            : fmt::format("{} and {}", heads, layer.value_size);
}

std::string Layers(const std::vector<uint32_t>& layers) {
  return (layers.size() == 1 ? "layer " : "layers ") + Ranges(layers);
}

std::string Window(const LayerGroup& group) {
  return group.window_kind == WindowKind::kFull
             ? "full attention"
             : fmt::format("{} window of {} tokens", ToString(group.window_kind),
                           Grouped(group.window));
}

}  // namespace

std::string Grouped(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, ",");
  }
  return text;
}

std::string Ranges(const std::vector<uint32_t>& numbers) {
  std::string text;
  for (size_t first = 0; first < numbers.size();) {
    size_t last = first;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) {
      ++last;
    }
    text += text.empty() ? "" : ", ";
    text += std::to_string(numbers[first]);
    text += last > first ? "-" + std::to_string(numbers[last]) : "";
    first = last + 1;
  }
  return text;
}

std::vector<std::string> LayerLines(const ModelDescription& model) {
  std::vector<std::string> lines;
  for (const LayerGroup& group : model.groups) {
    lines.push_back(fmt::format("{}: {}, {}, {}", Layers(group.layers), ToString(group.attention),
                                Heads({group.kv_heads, group.key_size, group.value_size}),
                                Window(group)));
  }
  return lines;
}

std::vector<std::string> LayerLines(std::span<const LayerShape> layers) {
  std::vector<std::string> lines;
  std::vector<uint32_t> alike;
  for (size_t i = 0; i < layers.size(); ++i) {
    alike.push_back(static_cast<uint32_t>(i));
    if (i + 1 == layers.size() || layers[i + 1] != layers[i]) {
      lines.push_back(Layers(alike) + ": " + Heads(layers[i]));
      alike.clear();
    }
  }
  return lines;
}

Json ModelJson(const std::string& name, const ModelDescription& model) {
  Json groups = Json::array();
  for (const LayerGroup& group : model.groups) {
    groups.push_back({{"attention", ToString(group.attention)},
                      {"layers", group.layers},
                      {"kv_heads", group.kv_heads},
                      {"key_size", group.key_size},
                      {"value_size", group.value_size},
                      {"rotary_size", group.rotary_size},
                      {"window_kind", ToString(group.window_kind)},
                      {"window", group.window}});
  }
  return {{"name", name},
          {"model_fp", model.Fingerprint().ToHex()},
          {"weights", model.weights.ToHex()},
          {"tokenizer", model.tokenizer.ToHex()},
          {"adapter", model.adapter ? Json(model.adapter->ToHex()) : Json()},
          {"config", model.config.ToHex()},
          {"kv_dtype", ToString(model.kv_dtype)},
          {"block_tokens", model.block_tokens},
          {"groups", groups}};
}

}  // namespace kvcast
