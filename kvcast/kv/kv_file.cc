#include "kvcast/kv/kv_file.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "kvcast/base/byte_writer.h"
#include "kvcast/base/check.h"
#include "kvcast/base/check_sum.h"
#include "kvcast/base/hex.h"
#include "kvcast/base/json.h"
#include "kvcast/kv/cache_track.h"
#include "kvcast/kv/input_list.h"
#include "kvcast/kv/rung.h"
#include "kvcast/kv/safetensors.h"
#include "kvcast/kv/slice.h"
#include "kvcast/kv/token_list.h"

namespace kvcast {
namespace {

constexpr uint64_t kSizeMax = 65536;
constexpr size_t kLayersMax = 4096;
constexpr size_t kHeaderAlignment = 8;
// Of the data. What file systems and off_t hold, less room for any header.
constexpr uint64_t kDataBytesMax = (uint64_t{1} << 63) - (uint64_t{1} << 32);

std::string TensorName(size_t layer, std::string_view kind) {
  return "layers." + std::to_string(layer) + "." + std::string(kind);
}

// What is wrong with a tensor, or with one thing about it ("shape").
Error Wrong(const Safetensors& file, const std::string& name, std::string_view about,
            std::string message, ErrorCode code = ErrorCode::kMismatch) {
  return Error(code, std::move(message))
      .At(file.Place(name, about))
      .In("tensor \"" + Printable(name) + "\"");
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
Result<void> CheckTensor(const Safetensors& file, const std::string& name, const Tensor& tensor,
                         size_t rank) {
  if (!ValueTypeOf(tensor.dtype)) {
    return Wrong(file, name, "dtype",
                 "Its dtype is " + Printable(tensor.dtype) + "; KV files hold BF16, F16 or F32.",
                 ErrorCode::kUnsupported);
  }
  const bool fits = tensor.shape.size() == rank && tensor.shape[0] >= 1 &&
                    tensor.shape[0] <= UINT32_MAX &&
                    std::all_of(tensor.shape.begin() + 1, tensor.shape.end(),
                                [](uint64_t size) { return size >= 1 && size <= kSizeMax; });
  if (!fits) {
    return Wrong(file, name, "shape",
                 rank == 3 ? "Its shape must be [tokens, kv_heads, head_size], at least 1 of each."
                           : "Its shape must be [tokens, latent], at least 1 of each.");
  }
  return {};
}

// Whether it is one of a layer's tensors: "layers.I.k", "layers.I.v", "layers.I.kv", or its
// queries, "layers.I.q".
bool IsLayersTensor(std::string_view name) {
  constexpr std::string_view kBefore = "layers.";
  if (!name.starts_with(kBefore)) {
    return false;
  }
  name.remove_prefix(kBefore.size());
  const size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
  const std::string_view kind = name.substr(digits);
  const bool is_number = digits == 1 || (digits > 1 && digits <= 4 && !name.starts_with('0'));
  return is_number && (kind == ".k" || kind == ".v" || kind == ".kv" || kind == ".q");
}

struct Layer {
  LayerShape shape;
  const Tensor* key = nullptr;
  const Tensor* value = nullptr;
  const Tensor* query = nullptr;

  size_t tensors() const {
    return size_t{1} + (value != nullptr ? 1u : 0u) + (query != nullptr ? 1u : 0u);
  }
};

// Queries fit the keys that they meet: of the same tokens, dtype and size, a number of heads to
// each. Those of a latent meet something else, and only their tokens and dtype are known.
Result<void> CheckQueries(const Safetensors& file, const std::string& name, const Layer& layer) {
  KVCAST_TRY_VOID(CheckTensor(file, name, *layer.query, 3));
  const bool fits = layer.query->shape[0] == layer.key->shape[0] &&
                    layer.query->dtype == layer.key->dtype &&
                    (layer.value == nullptr || (layer.query->shape[2] == layer.shape.key_size &&
                                                layer.query->shape[1] % layer.shape.kv_heads == 0));
  return fits ? Result<void>()
              : Wrong(file, name, "shape", "The queries do not fit the layer's K.");
}

Result<Layer> LayerOf(const Safetensors& file, size_t index) {
  const std::string key_name = TensorName(index, "k");
  const std::string value_name = TensorName(index, "v");
  const std::string latent_name = TensorName(index, "kv");
  Layer layer;
  layer.key = file.Find(key_name);
  layer.value = file.Find(value_name);
  layer.query = file.Find(TensorName(index, "q"));
  if (const Tensor* latent = file.Find(latent_name)) {
    if (layer.key != nullptr || layer.value != nullptr) {
      return Wrong(file, latent_name, "", "The layer has K or V beside it.");
    }
    KVCAST_TRY_VOID(CheckTensor(file, latent_name, *latent, 2));
    layer.key = latent;
    layer.shape = {1, static_cast<uint32_t>(latent->shape[1]), 0};
    return layer;
  }
  if (layer.key == nullptr || layer.value == nullptr) {
    return Error(ErrorCode::kMalformed, "There is no \"" +
                                            (layer.key == nullptr ? key_name : value_name) +
                                            "\". A KV file has layers.I.k and layers.I.v, or "
                                            "layers.I.kv, for every layer.")
        .At(file.Place(layer.key == nullptr ? value_name : key_name));
  }
  KVCAST_TRY_VOID(CheckTensor(file, key_name, *layer.key, 3));
  KVCAST_TRY_VOID(CheckTensor(file, value_name, *layer.value, 3));
  if (layer.key->shape[1] != layer.value->shape[1] ||
      layer.key->shape[0] != layer.value->shape[0]) {
    return Wrong(file, value_name, "shape", "K and V differ in tokens or heads.");
  }
  if (layer.key->dtype != layer.value->dtype) {
    return Wrong(file, value_name, "dtype",
                 "V is " + layer.value->dtype + " and K is " + layer.key->dtype +
                     "; a file holds one dtype.");
  }
  layer.shape = {static_cast<uint32_t>(layer.key->shape[1]),
                 static_cast<uint32_t>(layer.key->shape[2]),
                 static_cast<uint32_t>(layer.value->shape[2])};
  return layer;
}

struct MetadataFault {
  std::string_view key;
  std::string reason;
};

// Whether the layers can be what a cache has of the part that `text` names.
bool IsSliceOf(std::string_view text, std::span<const LayerShape> layers) {
  const Result<Slice> slice = Slice::ParseSuffix(text);
  if (!slice.ok() || slice->IsWhole() ||
      (slice->layers && slice->layers->count() != layers.size())) {
    return false;
  }
  return !slice->heads || std::ranges::all_of(layers, [&](const LayerShape& layer) {
    return layer.value_size != 0 && layer.kv_heads == slice->heads->count();
  });
}

// What we say about a file must be right where it is said at all: the first thing that is not.
std::optional<MetadataFault> FaultOf(const KvMetadata& metadata, uint32_t tokens,
                                     std::span<const LayerShape> layers) {
  const auto wrong = [&](std::string_view key, auto is_right) {
    const auto found = metadata.find(key);
    return found != metadata.end() && !is_right(found->second);
  };
  if (wrong(kModelNameKey, IsModelName)) {
    return MetadataFault{kModelNameKey, "1 to 255 printable characters without space or @"};
  }
  if (wrong(kModelFpKey, [](const std::string& text) {
        const Result<Digest> digest = Digest::FromHex(text);
        return digest.ok() && digest->ToHex() == text;
      })) {
    return MetadataFault{kModelFpKey, "64 hex digits in lower case"};
  }
  const std::string count = std::to_string(tokens);
  if (wrong(kTokensKey, [&](const std::string& text) { return text == count; })) {
    return MetadataFault{kTokensKey, count + ", as its tensors are"};
  }
  if (wrong(kRopeKey, [](const std::string& text) { return text == "applied"; })) {
    return MetadataFault{kRopeKey, "\"applied\": keys are kept with their position in them"};
  }
  const auto is_digits = [](const std::string& text, size_t digits) {
    return text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string::npos;
  };
  if (wrong(kTokensDigestKey, [&](const std::string& text) { return is_digits(text, 64); })) {
    return MetadataFault{kTokensDigestKey, "64 hex digits in lower case"};
  }
  if (wrong(kValuesCheckKey, [&](const std::string& text) { return is_digits(text, 8); })) {
    return MetadataFault{kValuesCheckKey, "8 hex digits in lower case"};
  }
  if (wrong(kPromptKey, [&](const std::string& text) {
        const Result<std::vector<Token>> ids = ParseTokenList(text);
        const auto digest = metadata.find(kTokensDigestKey);
        return ids.ok() && ids->size() == tokens && TextOf(*ids) == text &&
               (digest == metadata.end() || digest->second == DigestOfTokens(*ids).ToHex());
      })) {
    return MetadataFault{kPromptKey, "the ids of its tokens, and those of \"" +
                                         std::string(kTokensDigestKey) + "\" if it is there"};
  }
  if (wrong(kInputsKey,
            [&](const std::string& text) { return ParseInputList(text, tokens).has_value(); })) {
    return MetadataFault{kInputsKey,
                         "inputs among its tokens, written POSITION=SHA256, by rising positions "
                         "and with a space between two"};
  }
  if (wrong(kSaltDigestKey, [&](const std::string& text) { return is_digits(text, 64); })) {
    return MetadataFault{kSaltDigestKey, "64 hex digits in lower case"};
  }
  if (wrong(kRungKey, [](const std::string& text) { return RungOf(text).has_value(); })) {
    return MetadataFault{kRungKey, "a rung that this version knows"};
  }
  if (wrong(kSliceKey, [&](const std::string& text) { return IsSliceOf(text, layers); })) {
    return MetadataFault{kSliceKey,
                         "written ;l=FIRST-LAST;h=FIRST-LAST, one of them or both, and "
                         "of as many layers and KV heads as the file has"};
  }
  return std::nullopt;
}

Error MetadataError(ErrorCode code, const KvMetadata& metadata, const MetadataFault& fault) {
  // A prompt's ids are nobody's to read in a log.
  const std::string said = fault.key == kPromptKey
                               ? "something else"
                               : "\"" + Printable(metadata.find(fault.key)->second) + "\"";
  return Error(code, "The metadata \"" + std::string(fault.key) + "\" is " + said +
                         "; it must be " + fault.reason + ".");
}

Error NoFileHolds(std::string message) { return Error(ErrorCode::kInvalid, std::move(message)); }

// Whether a file of this would be read again.
Result<void> CheckPlan(std::span<const LayerShape> layers, uint32_t tokens,
                       const KvMetadata& metadata) {
  if (tokens == 0 || layers.empty() || layers.size() > kLayersMax) {
    return NoFileHolds("A KV file holds at least one token, of 1 to 4,096 layers.");
  }
  const auto fits = [](uint32_t size) { return size >= 1 && size <= kSizeMax; };
  for (const LayerShape& layer : layers) {
    const bool latent = layer.value_size == 0;
    if (!fits(layer.kv_heads) || !fits(layer.key_size) ||
        !(latent ? layer.kv_heads == 1 : fits(layer.value_size))) {
      return NoFileHolds(
          "A layer of a KV file has 1 to 65,536 heads of 1 to 65,536 values, or one latent.");
    }
  }
  if (const auto fault = FaultOf(metadata, tokens, layers)) {
    return MetadataError(ErrorCode::kInvalid, metadata, *fault);
  }
  return {};
}

using OrderedJson = nlohmann::ordered_json;

OrderedJson TensorJson(ValueType type, const std::vector<uint64_t>& shape, uint64_t begin,
                       uint64_t end) {
  OrderedJson tensor;
  tensor["dtype"] = ToString(type);
  tensor["shape"] = shape;
  tensor["data_offsets"] = {begin, end};
  return tensor;
}

// With its length in front, and spaces at its end for the data to be aligned.
Result<Bytes> HeaderBytes(const OrderedJson& header) {
  std::string text;
  try {
    text = header.dump();
  } catch (const OrderedJson::type_error&) {
    return NoFileHolds("The metadata of a KV file is UTF-8; this is not.");
  }
  text.resize((text.size() + kHeaderAlignment - 1) / kHeaderAlignment * kHeaderAlignment, ' ');
  if (text.size() > Safetensors::kHeaderBytesMax) {
    return Error(ErrorCode::kTooLarge,
                 "The header would have " + std::to_string(text.size()) + " bytes; at most " +
                     std::to_string(Safetensors::kHeaderBytesMax) + " are read.");
  }
  ByteWriter writer;
  writer.U64Le(text.size());
  writer.Write(text);
  return writer.Take();
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
  for (const auto& [name, tensor] : safetensors.tensors()) {
    if (!IsLayersTensor(name)) {
      return Wrong(
          safetensors, name, "",
          "A KV file has layers.I.k and layers.I.v, or layers.I.kv, layers.I.q perhaps, and no "
          "other tensor.",
          ErrorCode::kMalformed);
    }
  }
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
    if (type != kv.type_ || tokens != kv.tokens_) {
      return Error(ErrorCode::kMismatch, "Layer " + std::to_string(index) +
                                             " differs from those before it in dtype or tokens.")
          .At(safetensors.Place(TensorName(index, layer.value != nullptr ? "k" : "kv")));
    }
    kv.layers_.push_back(layer.shape);
    kv.values_.push_back(layer.key->data);
    kv.values_.push_back(layer.value != nullptr ? layer.value->data : std::span<const std::byte>());
    LayerQueries& queries = kv.queries_.emplace_back();
    if (layer.query != nullptr) {
      KVCAST_TRY_VOID(CheckQueries(safetensors, TensorName(index, "q"), layer));
      queries = {layer.query->data, static_cast<uint32_t>(layer.query->shape[1])};
    }
    tensors_read += layer.tensors();
  }
  if (kv.layers_.empty() || kv.layers_.size() > kLayersMax) {
    return Error(ErrorCode::kMalformed, "A KV file holds 1 to 4,096 layers; this one has " +
                                            std::to_string(kv.layers_.size()) + ".")
        .At(safetensors.Place(""));
  }
  if (const auto fault = FaultOf(kv.metadata_, kv.tokens_, kv.layers_)) {
    return MetadataError(ErrorCode::kMismatch, kv.metadata_, *fault)
        .At(safetensors.Place("__metadata__", fault->key));
  }
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

uint32_t KvFile::ValuesCheck() const {
  uint32_t check = 0;
  for (const std::span<const std::byte> values : values_) {
    check = Crc32c(values, check);
  }
  return check;
}

Result<void> KvFile::CheckValues() const {
  const auto said = metadata_.find(kValuesCheckKey);
  if (said != metadata_.end() && said->second != CheckText(ValuesCheck())) {
    return Error(ErrorCode::kMismatch,
                 "Its values are not those that were saved: the file is damaged.");
  }
  return {};
}

std::string KvFile::CheckText(uint32_t check) {
  std::array<std::byte, sizeof(check)> digits{};
  for (size_t i = 0; i < digits.size(); ++i) {
    digits[i] = static_cast<std::byte>(check >> (24 - 8 * i));
  }
  return ToHex(digits);
}

Result<KvFilePlan> KvFilePlan::Of(std::span<const LayerShape> layers, ValueType type,
                                  uint32_t tokens, const KvMetadata& metadata) {
  KVCAST_TRY_VOID(CheckPlan(layers, tokens, metadata));
  OrderedJson header = OrderedJson::object();
  if (!metadata.empty()) {
    header["__metadata__"] = metadata;
  }
  KvFilePlan plan;
  uint64_t offset = 0;
  for (size_t i = 0; i < layers.size(); ++i) {
    for (const Plane plane : {Plane::kKey, Plane::kValue}) {
      const LayerShape& layer = layers[i];
      if (layer.size(plane) == 0) {
        continue;
      }
      const bool latent = layer.value_size == 0;
      const uint64_t token_bytes = uint64_t{layer.kv_heads} * layer.size(plane) * ValueBytes(type);
      uint64_t bytes = 0;
      uint64_t end = 0;
      if (__builtin_mul_overflow(token_bytes, uint64_t{tokens}, &bytes) ||
          __builtin_add_overflow(offset, bytes, &end) || end > kDataBytesMax) {
        return Error(ErrorCode::kTooLarge, "The file would have 2^63 bytes or more.");
      }
      std::vector<uint64_t> shape = {tokens, layer.kv_heads, layer.size(plane)};
      if (latent) {
        shape.erase(shape.begin() + 1);
      }
      const std::string_view kind = latent ? "kv" : plane == Plane::kKey ? "k" : "v";
      header[TensorName(i, kind)] = TensorJson(type, shape, offset, end);
      plan.parts_.push_back({i, plane, offset, bytes});
      offset = end;
    }
  }
  KVCAST_TRY(plan.header_, HeaderBytes(header));
  for (Part& part : plan.parts_) {
    part.offset += plan.header_.size();
  }
  return plan;
}

uint64_t KvFilePlan::file_bytes() const { return parts_.back().offset + parts_.back().bytes; }

}  // namespace kvcast
