#include "kvcast/host/kv_file_fit.h"

#include <algorithm>

#include "kvcast/base/check.h"

namespace kvcast {
namespace {

std::string Computed(KvDtype dtype) {
  return "the model computes KV in " + std::string(ToString(dtype));
}

Result<void> CheckValues(KvDtype dtype, ValueType held) {
  KVCAST_TRY(const ValueType wanted, ValuesOf(dtype));
  if (wanted != held) {
    return Error(ErrorCode::kMismatch, "The file holds " + std::string(ToString(held)) + "; " +
                                           Computed(dtype) +
                                           ". If the engine computes in another type, say it "
                                           "with --kv-dtype.");
  }
  return {};
}

}  // namespace

std::string MetadataOr(const KvFile& file, std::string_view key) {
  const auto found = file.metadata().find(key);
  return found == file.metadata().end() ? "" : found->second;
}

Result<ValueType> ValuesOf(KvDtype dtype) {
  switch (dtype) {
    case KvDtype::kBf16:
      return ValueType::kBf16;
    case KvDtype::kFp16:
      return ValueType::kFp16;
    case KvDtype::kFp32:
      return ValueType::kFp32;
    case KvDtype::kFp8E4m3:
    case KvDtype::kFp8E5m2:
    case KvDtype::kInt8:
      break;
  }
  return Error(ErrorCode::kUnsupported, "KV files cannot hold what this model computes: " +
                                            Computed(dtype) + ", and they hold BF16, F16 or F32.");
}

Slice SliceOf(const KvFile& file) {
  const Result<Slice> slice = Slice::ParseSuffix(MetadataOr(file, kSliceKey));
  KVCAST_CHECK(slice.ok());  // Or the file had been refused.
  return *slice;
}

Result<void> CheckSliceAsked(const KvFile& file, const Slice& asked) {
  const Slice held = SliceOf(file);
  if (!held.IsWhole() && held != asked) {
    return Error(ErrorCode::kMismatch,
                 "The file holds only a slice of a cache, " + held.Suffix() +
                     ": say which layers and KV heads these are with --layers and --heads.");
  }
  return {};
}

Result<void> CheckFits(const KvFile& file, const ModelFolder& model) {
  KVCAST_TRY(const BlockShape shape, BlockShape(model.description.groups, 1).Sliced(SliceOf(file)));
  if (!std::ranges::equal(shape.layers(), file.layers())) {
    return Error(ErrorCode::kMismatch, "The file was not made by model " + model.name +
                                           ": its layers, heads or head sizes are others.");
  }
  KVCAST_TRY_VOID(CheckValues(model.description.kv_dtype, file.type()));
  const std::string said = MetadataOr(file, kModelFpKey);
  if (!said.empty() && said != model.description.Fingerprint().ToHex()) {
    return Error(ErrorCode::kMismatch,
                 "The file was made under another model key, " + said +
                     ": other weights, tokenizer, adapter, KV dtype or block length.");
  }
  return {};
}

}  // namespace kvcast
