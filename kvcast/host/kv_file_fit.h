#pragma once

#include <string>
#include <string_view>

#include "kvcast/base/result.h"
#include "kvcast/engine/model_folder.h"
#include "kvcast/kv/kv_file.h"
#include "kvcast/kv/model_key.h"
#include "kvcast/kv/prefix_chain.h"
#include "kvcast/kv/rung.h"
#include "kvcast/kv/slice.h"

namespace kvcast {

// What a file says about itself under a key, or nothing.
std::string MetadataOr(const KvFile& file, std::string_view key);

// The values of a KV file of an engine that computes KV in `dtype`. Unsupported: there are no such
// files.
Result<ValueType> ValuesOf(KvDtype dtype);

// Of what the KV in a file is to be, beside the model.
struct FileSubject {
  std::span<const Token> tokens;
  std::span<const ForeignInput> inputs;
  std::string_view salt;
};
// What a file of the first so many tokens says about that.
KvMetadata MetadataOf(const FileSubject& subject, uint32_t tokens);
// Mismatch: the file says that it is of other tokens, inputs or another salt than a prompt that is
// as long, or longer.
Result<void> CheckIsOf(const KvFile& file, const FileSubject& subject);

// Absent: the file does not say that its values came at any.
std::optional<Rung> RungOf(const KvFile& file);
// Mismatch: the file's values came at a less true rung than this one, so that nobody may take them
// for what that promises.
Result<void> CheckTrueEnough(const std::optional<Rung>& came, Rung wanted);

// Which part of a cache the file says that it holds; whole, if it says nothing.
Slice SliceOf(const KvFile& file);
// Mismatch: the file holds a part, and another one was asked for.
Result<void> CheckSliceAsked(const KvFile& file, const Slice& asked);
// Whether a file, of a whole cache or a part, and the model that it says it is of belong together;
// mismatch if not.
Result<void> CheckFits(const KvFile& file, const ModelFolder& model);

}  // namespace kvcast
