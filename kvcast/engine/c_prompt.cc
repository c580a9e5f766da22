#include "kvcast/engine/c_prompt.h"

#include <algorithm>

#include "kvcast/client/ladder.h"

namespace kvcast {
namespace {

constexpr size_t kLayersMax = 65'536;

Error NoAddress() {
  return Error(ErrorCode::kInvalid, "A layer has bytes, and no address of them.");
}

// Numbers from the first on, or all of them.
Result<std::optional<IndexRange>> PartOf(uint32_t first, uint32_t count) {
  if (first > UINT32_MAX - count || (count == 0 && first > 0)) {
    return Error(ErrorCode::kInvalid, "A part of a cache begins somewhere and has a length.");
  }
  return count == 0 ? std::nullopt : std::optional(IndexRange{first, first + count - 1});
}

}  // namespace

Result<Slice> SliceOf(const kvcast_model& model) {
  Slice slice;
  KVCAST_TRY(slice.layers, PartOf(model.first_layer, model.layer_count));
  KVCAST_TRY(slice.heads, PartOf(model.first_head, model.head_count));
  return slice;
}

Result<std::vector<ForeignInput>> InputsOf(const kvcast_prompt& prompt) {
  constexpr size_t kFirstBytes = offsetof(kvcast_input, digest) + Digest::kBytes;
  static_assert(sizeof(kvcast_input::digest) == Digest::kBytes);
  if (prompt.input_count > 0 && (prompt.inputs == nullptr || prompt.input_size < kFirstBytes ||
                                 prompt.input_count > prompt.token_count)) {
    return Error(ErrorCode::kInvalid,
                 "Inputs have an address, input_size is sizeof(kvcast_input), and no two of them "
                 "begin at one token.");
  }
  std::vector<ForeignInput> inputs(prompt.input_count);
  for (size_t i = 0; i < inputs.size(); ++i) {
    kvcast_input input{};
    std::memcpy(&input, reinterpret_cast<const std::byte*>(prompt.inputs) + i * prompt.input_size,
                std::min(prompt.input_size, sizeof(input)));
    inputs[i].position = input.position;
    std::ranges::copy(std::as_bytes(std::span(input.digest)), inputs[i].digest.bytes.begin());
  }
  return inputs;
}

Result<PagedCache> PagesOf(const kvcast_pages* pages, const BlockShape& shape) {
  constexpr size_t kFirstBytes = offsetof(kvcast_pages, values) + sizeof(int32_t);
  constexpr size_t kLayerBytes = offsetof(kvcast_layer, value_bytes) + sizeof(size_t);
  KVCAST_TRY(const kvcast_pages given, Given(pages, kFirstBytes));
  if (given.order < KVCAST_NHD || given.order > KVCAST_HND || given.placement < KVCAST_APART ||
      given.placement > KVCAST_PAGES_FIRST || given.values < KVCAST_BF16 ||
      given.values > KVCAST_FP16) {
    return Error(ErrorCode::kUnsupported, "Pages of this kind are none that this version knows.");
  }
  if (given.layers == nullptr || given.layer_size < kLayerBytes || given.layer_count > kLayersMax ||
      given.page_tokens == 0) {
    return Error(ErrorCode::kInvalid,
                 "Pages have tokens, and layers, of which layer_size is sizeof(kvcast_layer).");
  }
  std::vector<LayerMemory> memory;
  for (size_t i = 0; i < given.layer_count; ++i) {
    kvcast_layer layer{};
    std::memcpy(&layer, reinterpret_cast<const std::byte*>(given.layers) + i * given.layer_size,
                std::min(given.layer_size, sizeof(layer)));
    KVCAST_TRY_VOID(BytesOf(layer.key, layer.key_bytes).ok() ? Result<void>() : NoAddress());
    KVCAST_TRY_VOID(BytesOf(layer.value, layer.value_bytes).ok() ? Result<void>() : NoAddress());
    memory.push_back({{static_cast<std::byte*>(layer.key), layer.key_bytes},
                      {static_cast<std::byte*>(layer.value), layer.value_bytes}});
  }
  const PageFormat format{static_cast<PageOrder>(given.order),
                          static_cast<KvPlacement>(given.placement), given.page_tokens,
                          kPageValueBytes, given.page_count};
  return PagedCache::Of(shape, format, memory);
}

}  // namespace kvcast
