#include "kvcast/kv/kv_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "kvcast/base/byte_writer.h"
#include "kvcast/base/check.h"
#include "kvcast/base/hex.h"
#include "kvcast/base/json.h"
#include "kvcast/kv/cache_track.h"
#include "kvcast/kv/safetensors.h"

namespace kvcast {
namespace {

constexpr uint64_t kSizeMax = 65536;
constexpr size_t kLayersMax = 4096;
constexpr size_t kHeaderAlignment = 8;

std::string TensorName(size_t layer, std::string_view kind) {
  return "layers." + std::to_string(layer) + "." + std::string(kind);
}

Error Mismatch(const std::string& name, std::string message) {
  return Error(ErrorCode::kMismatch, std::move(message)).In("tensor \"" + name + "\"");
}

std::optional<ValueType> ValueTypeOf(std::string_view dtype) {
  for (const ValueType type : {ValueType::kBf16, ValueType::kFp16, ValueType::kFp32}) {
    if (ToString(type) == dtype) {
      return type;
    }
  }
  return std::nullopt;
}

// A tensor whose dimensions are within what any model has; `rank` of them.
Result<void> CheckTensor(const std::string& name, const Tensor& tensor, size_t rank) {
  if (!ValueTypeOf(tensor.dtype)) {
    return Error(ErrorCode::kUnsupported,
                 "Its dtype is " + Printable(tensor.dtype) + "; KV files hold BF16, F16 or F32.")
        .In("tensor \"" + name + "\"");
  }
  const bool fits = tensor.shape.size() == rank && tensor.shape[0] >= 1 &&
                    tensor.shape[0] <= UINT32_MAX &&
                    std::all_of(tensor.shape.begin() + 1, tensor.shape.end(),
                                [](uint64_t size) { return size >= 1 && size <= kSizeMax; });
  if (!fits) {
    return Mismatch(name, rank == 3 ? "Its shape must be [tokens, kv_heads, head_size]."
                                    : "Its shape must be [tokens, latent].");
  }
  return {};
}

struct Layer {
  LayerShape shape;
  const Tensor* key = nullptr;
  const Tensor* value = nullptr;
};

Result<Layer> LayerOf(const Safetensors& file, size_t index) {
  const std::string key_name = TensorName(index, "k");
  const std::string value_name = TensorName(index, "v");
  const std::string latent_name = TensorName(index, "kv");
  Layer layer;
  layer.key = file.Find(key_name);
  layer.value = file.Find(value_name);
  if (const Tensor* latent = file.Find(latent_name)) {
    if (layer.key != nullptr || layer.value != nullptr) {
      return Mismatch(latent_name, "The layer has K or V beside it.");
    }
    KVCAST_TRY_VOID(CheckTensor(latent_name, *latent, 2));
    layer.key = latent;
    layer.shape = {1, static_cast<uint32_t>(latent->shape[1]), 0};
    return layer;
  }
  if (layer.key == nullptr || layer.value == nullptr) {
    return Error(ErrorCode::kMalformed, "There is no \"" +
                                            (layer.key == nullptr ? key_name : value_name) +
                                            "\". A KV file has layers.I.k and layers.I.v, or "
                                            "layers.I.kv, for every layer.");
  }
  KVCAST_TRY_VOID(CheckTensor(key_name, *layer.key, 3));
  KVCAST_TRY_VOID(CheckTensor(value_name, *layer.value, 3));
  if (layer.key->shape[1] != layer.value->shape[1] ||
      layer.key->shape[0] != layer.value->shape[0]) {
    return Mismatch(value_name, "K and V differ in tokens or heads.");
  }
  layer.shape = {static_cast<uint32_t>(layer.key->shape[1]),
                 static_cast<uint32_t>(layer.key->shape[2]),
                 static_cast<uint32_t>(layer.value->shape[2])};
  return layer;
}

// What we say about a file must be right where it is said at all.
Result<void> CheckMetadata(const KvMetadata& metadata, uint32_t tokens) {
  const auto wrong = [&](std::string_view key, auto is_right) {
    const auto found = metadata.find(key);
    return found != metadata.end() && !is_right(found->second);
  };
  const bool bad_model = wrong("kvcast.model", IsModelName);
  const bool bad_fp = wrong("kvcast.model_fp", [](const std::string& text) {
    const Result<Digest> digest = Digest::FromHex(text);
    return digest.ok() && digest->ToHex() == text;
  });
  const bool bad_tokens = wrong(
      "kvcast.tokens", [&](const std::string& text) { return text == std::to_string(tokens); });
  const bool bad_rope =
      wrong("kvcast.rope", [](const std::string& text) { return text == "applied"; });
  if (bad_model || bad_fp || bad_tokens || bad_rope) {
    const std::string key = bad_model    ? "model"
                            : bad_fp     ? "model_fp"
                            : bad_tokens ? "tokens"
                                         : "rope";
    return Error(ErrorCode::kMismatch, "The metadata \"kvcast." + key + "\" is not right.");
  }
  return {};
}

using OrderedJson = nlohmann::ordered_json;

OrderedJson TensorJson(ValueType type, std::vector<uint64_t> shape, uint64_t begin, uint64_t end) {
  OrderedJson tensor;
  tensor["dtype"] = ToString(type);
  tensor["shape"] = std::move(shape);
  tensor["data_offsets"] = {begin, end};
  return tensor;
}

}  // namespace

std::string_view ToString(ValueType type) {
  switch (type) {
    case ValueType::kBf16:
      return "BF16";
    case ValueType::kFp16:
      return "F16";
    case ValueType::kFp32:
      return "F32";
  }
  return "unknown";
}

uint32_t ValueBytes(ValueType type) { return type == ValueType::kFp32 ? 4 : 2; }

Result<KvFile> KvFile::Parse(std::span<const std::byte> file) {
  KVCAST_TRY(const Safetensors safetensors, Safetensors::Parse(file));
  KvFile kv;
  kv.metadata_ = safetensors.metadata();
  size_t tensors_read = 0;
  while (tensors_read < safetensors.tensors().size()) {
    const size_t index = kv.layers_.size();
    KVCAST_TRY(const Layer layer, LayerOf(safetensors, index));
    const ValueType type = *ValueTypeOf(layer.key->dtype);
    const uint32_t tokens = static_cast<uint32_t>(layer.key->shape[0]);
    if (index == 0) {
      kv.type_ = type;
      kv.tokens_ = tokens;
    }
    const bool same_dtype = layer.value == nullptr || layer.value->dtype == layer.key->dtype;
    if (type != kv.type_ || tokens != kv.tokens_ || !same_dtype) {
      return Error(ErrorCode::kMismatch, "Layer " + std::to_string(index) +
                                             " differs from those before it in dtype or tokens.");
    }
    kv.layers_.push_back(layer.shape);
    kv.values_.push_back(layer.key->data);
    kv.values_.push_back(layer.value != nullptr ? layer.value->data : std::span<const std::byte>());
    tensors_read += layer.value != nullptr ? 2 : 1;
  }
  if (kv.layers_.empty() || kv.layers_.size() > kLayersMax) {
    return Error(ErrorCode::kMalformed, "A KV file holds 1 to 4,096 layers; this one has " +
                                            std::to_string(kv.layers_.size()) + ".");
  }
  KVCAST_TRY_VOID(CheckMetadata(kv.metadata_, kv.tokens_));
  return kv;
}

size_t KvFile::bytes_per_token() const {
  size_t values = 0;
  for (const LayerShape& layer : layers_) {
    values += layer.values();
  }
  return values * ValueBytes(type_);
}

std::span<const std::byte> KvFile::Values(size_t layer, Plane plane) const {
  KVCAST_CHECK(layer < layers_.size() && layers_[layer].size(plane) > 0);
  return values_[layer * 2 + static_cast<size_t>(plane)];
}

KvFilePlan::KvFilePlan(std::span<const LayerShape> layers, ValueType type, uint32_t tokens,
                       const KvMetadata& metadata) {
  KVCAST_CHECK(tokens > 0 && !layers.empty());
  OrderedJson header = OrderedJson::object();
  if (!metadata.empty()) {
    header["__metadata__"] = metadata;
  }
  uint64_t offset = 0;
  for (size_t i = 0; i < layers.size(); ++i) {
    for (const Plane plane : {Plane::kKey, Plane::kValue}) {
      const LayerShape& layer = layers[i];
      if (layer.size(plane) == 0) {
        continue;
      }
      const bool latent = layer.value_size == 0;
      const uint64_t bytes =
          uint64_t{tokens} * layer.kv_heads * layer.size(plane) * ValueBytes(type);
      std::vector<uint64_t> shape = {tokens, layer.kv_heads, layer.size(plane)};
      if (latent) {
        shape.erase(shape.begin() + 1);
      }
      const std::string_view kind = latent ? "kv" : plane == Plane::kKey ? "k" : "v";
      header[TensorName(i, kind)] = TensorJson(type, std::move(shape), offset, offset + bytes);
      parts_.push_back({i, plane, offset, bytes});
      offset += bytes;
    }
  }
  std::string text = header.dump();
  text.resize((text.size() + kHeaderAlignment - 1) / kHeaderAlignment * kHeaderAlignment, ' ');
  ByteWriter writer;
  writer.U64Le(text.size());
  writer.Write(text);
  header_ = writer.Take();
  for (Part& part : parts_) {
    part.offset += header_.size();
  }
}

uint64_t KvFilePlan::file_bytes() const { return parts_.back().offset + parts_.back().bytes; }

}  // namespace kvcast
