#pragma once

#include <string>
#include <string_view>

#include "kvcast/base/result.h"
#include "kvcast/engine/model_folder.h"
#include "kvcast/kv/kv_file.h"
#include "kvcast/kv/model_key.h"

namespace kvcast {

// What a file says about itself under a key, or nothing.
std::string MetadataOr(const KvFile& file, std::string_view key);

// The values of a KV file of an engine that computes KV in `dtype`. Unsupported: there are no such
// files.
Result<ValueType> ValuesOf(KvDtype dtype);

// Whether a file that says which model it is of, and a model, belong together; mismatch if not. It
// holds a whole cache, or no more than the slice, and then says so.
Result<void> CheckFits(const KvFile& file, const ModelFolder& model, const Slice& slice = {});
// The file is one of a slice.
inline bool IsOfSlice(const KvFile& file) { return !MetadataOr(file, kSliceKey).empty(); }

}  // namespace kvcast
