#pragma once

#include <string>

#include "kvcast/base/result.h"
#include "kvcast/engine/model_folder.h"
#include "kvcast/kv/block_shape.h"
#include "kvcast/kv/slice.h"
#include "kvcast/kvcast.h"

namespace kvcast {

// kvcast_model, read: which model, and what part of its cache an engine's pages hold.
struct GivenModel {
  ModelFolder folder;
  std::string path;
  std::string calibration;  // Empty: the folder's own.
  Slice slice;
  BlockShape shape;  // Of the slice alone.

  static Result<GivenModel> Of(const kvcast_model* model);
};

}  // namespace kvcast
