#include "kvcast/engine/c_model.h"

#include <cstddef>
#include <utility>

#include "kvcast/engine/c_call.h"
#include "kvcast/engine/c_prompt.h"

namespace kvcast {

Result<GivenModel> GivenModel::Of(const kvcast_model* model) {
  constexpr size_t kFirstBytes = offsetof(kvcast_model, block_tokens) + sizeof(uint32_t);
  KVCAST_TRY(const kvcast_model given, Given(model, kFirstBytes));
  if (given.folder == nullptr) {
    return Error(ErrorCode::kInvalid, "A model is in a folder.");
  }
  ModelOptions options;
  options.kv_dtype = TextOf(given.kv_dtype);
  if (given.adapter != nullptr) {
    options.adapter = given.adapter;
  }
  if (given.block_tokens != 0) {
    options.block_tokens = given.block_tokens;
  }
  KVCAST_TRY(ModelFolder folder, ModelFolder::Load(given.folder, options));
  if (given.name != nullptr) {
    folder.name = given.name;
  }
  KVCAST_TRY(const Slice slice, SliceOf(given));
  KVCAST_TRY(BlockShape shape,
             BlockShape(folder.description.groups, folder.description.block_tokens).Sliced(slice));
  return GivenModel{std::move(folder), given.folder, TextOf(given.calibration), slice,
                    std::move(shape)};
}

}  // namespace kvcast
