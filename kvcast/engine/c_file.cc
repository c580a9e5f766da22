#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kvcast/base/check_sum.h"
#include "kvcast/codec/rung_promise.h"
#include "kvcast/engine/c_call.h"
#include "kvcast/engine/c_model.h"
#include "kvcast/engine/c_prompt.h"
#include "kvcast/engine/lossy_blocks.h"
#include "kvcast/io/file.h"
#include "kvcast/kv/block_view.h"
#include "kvcast/kv/input_list.h"
#include "kvcast/kv/kv_file.h"
#include "kvcast/kv/token_list.h"

// A prompt's cache in a file, of the C interface.
namespace kvcast {
namespace {

// An engine's pages, and the prompt that they hold or are to.
struct PagedPrompt {
  std::string model;  // Its name.
  Digest fingerprint;
  PagedCache paged;
  ValueType type;
  std::span<const Token> tokens;
  std::span<const uint32_t> pages;
  std::vector<ForeignInput> inputs;
  std::string_view salt;
  uint32_t block_tokens;
  const void* memory;  // Of the pages, as caches that are open on them know it.

  static Result<PagedPrompt> Of(const kvcast_model* model, const kvcast_pages* pages,
                                const kvcast_prompt* prompt) {
    constexpr size_t kFirstBytes = offsetof(kvcast_prompt, salt_bytes) + sizeof(size_t);
    KVCAST_TRY(const kvcast_prompt given, Given(prompt, kFirstBytes));
    if (given.tokens == nullptr || given.token_count == 0 || given.pages == nullptr) {
      return Error(ErrorCode::kInvalid, "A file is of tokens, which are in pages.");
    }
    KVCAST_TRY(const GivenModel named, GivenModel::Of(model));
    if (named.slice != Slice()) {
      return Error(ErrorCode::kUnsupported, "A file is of a whole cache, not of a part of it.");
    }
    KVCAST_TRY(PagedCache paged, PagesOf(pages, named.shape));
    KVCAST_TRY(std::vector<ForeignInput> inputs, InputsOf(given));
    if (TextOf(inputs, given.token_count) != TextOf(inputs, UINT64_MAX)) {
      return Error(ErrorCode::kInvalid, "An input begins behind the prompt's last token.");
    }
    KVCAST_TRY(const std::span<const std::byte> salt, BytesOf(given.salt, given.salt_bytes));
    const ValueType type = pages->values == KVCAST_FP16 ? ValueType::kFp16 : ValueType::kBf16;
    return PagedPrompt{named.folder.name,
                       named.folder.description.Fingerprint(),
                       std::move(paged),
                       type,
                       {given.tokens, given.token_count},
                       {given.pages, given.page_count},
                       std::move(inputs),
                       AsText(salt),
                       named.folder.description.block_tokens,
                       pages->layers[0].key};
  }
  // The least true rung at which caches that are open on these pages have loaded any of it.
  Result<std::optional<Rung>> LeastTrue() const {
    const std::shared_ptr<LossyBlocks> lossy = LossyBlocks::Known(memory, fingerprint);
    if (!lossy) {
      return std::optional<Rung>();
    }
    KVCAST_TRY(BlockNamer namer, BlockNamer::Of(NamingKey::Public(), fingerprint, salt));
    KVCAST_TRY(const PrefixChain chain, PrefixChain::Of(namer, tokens, block_tokens, inputs));
    return lossy->LeastTrue(chain.blocks());
  }
};

// The values of a part of the file, as pages hold them.
std::vector<std::byte> ValuesOf(const BlockView& view, const KvFilePlan::Part& part,
                                uint32_t tokens) {
  std::vector<std::byte> values;
  values.reserve(part.bytes);
  for (uint32_t token = 0; token < tokens; ++token) {
    for (uint32_t head = 0; head < view.shape().layers()[part.layer].kv_heads; ++head) {
      const std::span<const std::byte> row = view.Row(token, part.layer, part.plane, head);
      values.insert(values.end(), row.begin(), row.end());
    }
  }
  return values;
}

Result<kvcast_code> Save(const std::string& path, const PagedPrompt& prompt) {
  const auto tokens = static_cast<uint32_t>(prompt.tokens.size());
  KVCAST_TRY(const BlockView view, BlockView::Of(prompt.paged, prompt.pages, 0, tokens));
  KvMetadata metadata = {{std::string(kModelNameKey), prompt.model},
                         {std::string(kModelFpKey), prompt.fingerprint.ToHex()},
                         {std::string(kRopeKey), "applied"},
                         {std::string(kTokensKey), std::to_string(tokens)},
                         {std::string(kTokensDigestKey), DigestOfTokens(prompt.tokens).ToHex()},
                         {std::string(kPromptKey), TextOf(prompt.tokens)},
                         {std::string(kInputsKey), TextOf(prompt.inputs, tokens)},
                         {std::string(kSaltDigestKey), Sha256::Of(prompt.salt).ToHex()}};
  KVCAST_TRY(const std::optional<Rung> came, prompt.LeastTrue());
  if (came) {
    metadata.emplace(kRungKey, ToString(*came));
  }
  const auto plan_of = [&] {
    return KvFilePlan::Of(prompt.paged.layers(), prompt.type, tokens, metadata);
  };
  KVCAST_TRY(const KvFilePlan unchecked, plan_of());
  uint32_t check = 0;
  for (const KvFilePlan::Part& part : unchecked.parts()) {
    check = Crc32c(ValuesOf(view, part, tokens), check);
  }
  metadata.emplace(kValuesCheckKey, KvFile::CheckText(check));
  KVCAST_TRY(const KvFilePlan plan, plan_of());
  KVCAST_TRY(FileWriter writer, FileWriter::Create(path));
  for (size_t i = 0; i < plan.header().piece_count(); ++i) {
    KVCAST_TRY_VOID(writer.Append(plan.header().piece(i)));
  }
  for (const KvFilePlan::Part& part : plan.parts()) {
    KVCAST_TRY_VOID(writer.Append(ValuesOf(view, part, tokens)));
  }
  KVCAST_TRY_VOID(writer.Commit());
  return KVCAST_OK;
}

// What a file is of.
struct SavedPrompt {
  std::vector<Token> tokens;
  std::vector<ForeignInput> inputs;

  // How many of a prompt's first tokens have the same KV.
  uint64_t Shared(const PagedPrompt& wanted) const {
    const auto differ = std::ranges::mismatch(tokens, wanted.tokens);
    return SharedTokens(inputs, wanted.inputs, static_cast<uint64_t>(differ.in1 - tokens.begin()));
  }
};

// The prompt that the file says it is of. Mismatch: it does not say, or is of something else.
Result<SavedPrompt> PromptOf(const KvFile& file, const PagedPrompt& wanted) {
  const auto said = [&](std::string_view key) -> Result<std::string> {
    const auto found = file.metadata().find(key);
    if (found == file.metadata().end()) {
      return Error(ErrorCode::kMismatch, "The metadata do not say \"" + std::string(key) +
                                             "\"; files that an engine saved do.");
    }
    return found->second;
  };
  KVCAST_TRY(const std::string model, said(kModelFpKey));
  if (model != wanted.fingerprint.ToHex()) {
    return Error(ErrorCode::kMismatch, "It was made by another model, " + model + ".");
  }
  if (file.type() != wanted.type || !std::ranges::equal(file.layers(), wanted.paged.layers())) {
    return Error(ErrorCode::kMismatch,
                 "It was made with other values, layers, heads or head sizes.");
  }
  // Without the digest, ids that were altered would be taken for those of another prompt.
  KVCAST_TRY_VOID(said(kTokensDigestKey));
  KVCAST_TRY_VOID(said(kValuesCheckKey));
  KVCAST_TRY_VOID(file.CheckValues());
  KVCAST_TRY(const std::string salt, said(kSaltDigestKey));
  if (salt != Sha256::Of(wanted.salt).ToHex()) {
    return Error(ErrorCode::kMismatch, "It is of another salt.");
  }
  const auto rung = file.metadata().find(kRungKey);
  if (rung != file.metadata().end() && !IsExact(*RungOf(rung->second))) {
    return Error(ErrorCode::kMismatch, "Its values came as " + rung->second +
                                           " and are not what the model computes. 'kvcast put' "
                                           "publishes them at that rung, for who takes it.");
  }
  KVCAST_TRY(const std::string inputs, said(kInputsKey));
  KVCAST_TRY(const std::string ids, said(kPromptKey));
  KVCAST_TRY(std::vector<Token> tokens, ParseTokenList(ids));
  return SavedPrompt{std::move(tokens), *ParseInputList(inputs, file.tokens())};
}

Result<kvcast_code> Restore(std::span<const std::byte> bytes, PagedPrompt& prompt,
                            uint64_t* tokens) {
  KVCAST_TRY(const KvFile file, KvFile::Parse(bytes));
  KVCAST_TRY(const SavedPrompt held, PromptOf(file, prompt));
  const auto shared = static_cast<uint32_t>(std::min<uint64_t>(
      held.Shared(prompt), uint64_t{prompt.pages.size()} * prompt.paged.page_tokens()));
  if (shared > 0) {
    KVCAST_TRY(BlockView view, BlockView::Of(prompt.paged, prompt.pages, 0, shared));
    for (size_t layer = 0; layer < file.layers().size(); ++layer) {
      for (const Plane plane : {Plane::kKey, Plane::kValue}) {
        if (plane == Plane::kValue && file.layers()[layer].value_size == 0) {
          continue;  // MLA keeps none.
        }
        std::span<const std::byte> values = file.Values(layer, plane);
        for (uint32_t token = 0; token < shared; ++token) {
          for (uint32_t head = 0; head < file.layers()[layer].kv_heads; ++head) {
            const std::span<std::byte> row = view.MutableRow(token, layer, plane, head);
            std::memcpy(row.data(), values.data(), row.size());
            values = values.subspan(row.size());
          }
        }
      }
    }
  }
  *tokens = shared;
  return KVCAST_OK;
}

Error NoFile() { return Error(ErrorCode::kInvalid, "There is no path, or no place for a result."); }

}  // namespace
}  // namespace kvcast

extern "C" {

kvcast_code kvcast_file_save(const char* path, const kvcast_model* model, const kvcast_pages* pages,
                             const kvcast_prompt* prompt) {
  using namespace kvcast;
  return Guarded([&]() -> Result<kvcast_code> {
    if (path == nullptr) {
      return NoFile();
    }
    KVCAST_TRY(const PagedPrompt paged, PagedPrompt::Of(model, pages, prompt));
    return Save(path, paged);
  });
}

kvcast_code kvcast_file_restore(const char* path, const kvcast_model* model,
                                const kvcast_pages* pages, const kvcast_prompt* prompt,
                                uint64_t* tokens) {
  using namespace kvcast;
  return Guarded([&]() -> Result<kvcast_code> {
    if (path == nullptr || tokens == nullptr) {
      return NoFile();
    }
    *tokens = 0;
    KVCAST_TRY(PagedPrompt paged, PagedPrompt::Of(model, pages, prompt));
    // Read and not mapped: a file that somebody cuts may not end the engine's process.
    KVCAST_TRY(const FileFront file, ReadFront(path, SIZE_MAX));
    auto restored = Restore(AsBytes(file.bytes), paged, tokens);
    if (!restored.ok()) {
      return std::move(restored).error().In(path);
    }
    return restored;
  });
}

}  // extern "C"
