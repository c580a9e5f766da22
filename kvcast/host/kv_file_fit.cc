#include "kvcast/host/kv_file_fit.h"

#include <algorithm>

#include "kvcast/base/check.h"
#include "kvcast/codec/rung_promise.h"
#include "kvcast/kv/input_list.h"
#include "kvcast/kv/token_list.h"

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

KvMetadata MetadataOf(const FileSubject& subject, uint32_t tokens) {
  return {{std::string(kTokensDigestKey), DigestOfTokens(subject.tokens.first(tokens)).ToHex()},
          {std::string(kInputsKey), TextOf(subject.inputs, tokens)},
          {std::string(kSaltDigestKey), Sha256::Of(subject.salt).ToHex()}};
}

Result<void> CheckIsOf(const KvFile& file, const FileSubject& subject) {
  KvMetadata wanted = MetadataOf(subject, file.tokens());
  if (file.metadata().contains(kPromptKey)) {
    wanted.emplace(kPromptKey, TextOf(subject.tokens.first(file.tokens())));
  }
  for (const auto& [key, value] : wanted) {
    const auto said = file.metadata().find(key);
    if (said == file.metadata().end() || said->second == value) {
      continue;
    }
    const std::string what = key == kInputsKey       ? "of other images or sounds (--input)"
                             : key == kSaltDigestKey ? "made under another salt (--salt)"
                                                     : "the cache of another prompt";
    return Error(ErrorCode::kMismatch, "The file is " + what + ": its metadata say so.");
  }
  return {};
}

std::optional<Rung> RungOf(const KvFile& file) { return RungOf(MetadataOr(file, kRungKey)); }

Result<void> CheckTrueEnough(const std::optional<Rung>& came, Rung wanted) {
  if (!came || KeepsPromise(*came, wanted)) {
    return {};
  }
  const std::string rung(ToString(*came));
  return Error(ErrorCode::kMismatch, "The file's values came as " + rung +
                                         ", which is less true than " +
                                         std::string(ToString(wanted)) + ": say --rung " + rung +
                                         ", or one that is less true, or load them exactly first.");
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
