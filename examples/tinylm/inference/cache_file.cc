#include "examples/tinylm/inference/cache_file.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "kvcast/base/check.h"
#include "kvcast/kv/token_list.h"

namespace kvcast::tinylm {
namespace {

constexpr char kPrompt[] = "tinylm.prompt";

Result<std::string> MetadataOf(const KvFile& file, std::string_view key) {
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end()) {
    return Error(ErrorCode::kMismatch, "The metadata do not say \"" + std::string(key) +
                                           "\"; caches that tinylm wrote do.");
  }
  return found->second;
}

Result<std::vector<Token>> PromptOf(const KvFile& file) {
  KVCAST_TRY(const std::string text, MetadataOf(file, kPrompt));
  KVCAST_TRY(std::vector<Token> prompt, ParseTokenList(text));
  if (prompt.size() != file.tokens()) {
    return Error(ErrorCode::kMismatch, "The KV is of " + std::to_string(file.tokens()) +
                                           " tokens; \"" + kPrompt + "\" lists " +
                                           std::to_string(prompt.size()) + ".");
  }
  return prompt;
}

Result<void> CheckModel(const KvFile& file, const Digest& model) {
  KVCAST_TRY(const std::string said, MetadataOf(file, "kvcast.model_fp"));
  if (said != model.ToHex()) {
    return Error(ErrorCode::kMismatch, "It was made by another model, " + said + ".");
  }
  if (file.type() != ValueType::kBf16) {
    return Error(ErrorCode::kMismatch, "Its values are not BF16.");
  }
  return {};
}

}  // namespace

Result<void> CacheFile::Write(const std::filesystem::path& path, const Digest& model,
                              const KvCache& cache, const Sequence& sequence,
                              std::span<const Token> prompt) {
  KVCAST_CHECK(sequence.tokens > 0 && sequence.tokens <= prompt.size());
  std::string ids;
  for (const Token token : prompt.first(sequence.tokens)) {
    ids += (ids.empty() ? "" : " ") + std::to_string(token);
  }
  const KvMetadata metadata = {
      {"kvcast.model", "tinylm"},
      {"kvcast.model_fp", model.ToHex()},
      {"kvcast.rope", "applied"},
      {"kvcast.tokens", std::to_string(sequence.tokens)},
      {std::string(kTokensDigestKey), DigestOfTokens(prompt.first(sequence.tokens)).ToHex()},
      {kPrompt, ids}};
  KVCAST_TRY(const KvFilePlan plan,
             KvFilePlan::Of(cache.pages().layers(), ValueType::kBf16, sequence.tokens, metadata));
  KVCAST_TRY(const BlockView view,
             BlockView::Of(cache.pages(), sequence.pages, 0, sequence.tokens));
  KVCAST_TRY(FileWriter writer, FileWriter::Create(path));
  for (size_t i = 0; i < plan.header().piece_count(); ++i) {
    KVCAST_TRY_VOID(writer.Append(plan.header().piece(i)));
  }
  std::vector<std::byte> values;
  for (const KvFilePlan::Part& part : plan.parts()) {
    values.clear();
    for (uint32_t token = 0; token < sequence.tokens; ++token) {
      for (uint32_t head = 0; head < view.shape().layers()[part.layer].kv_heads; ++head) {
        const std::span<const std::byte> row = view.Row(token, part.layer, part.plane, head);
        values.insert(values.end(), row.begin(), row.end());
      }
    }
    KVCAST_TRY_VOID(writer.Append(values));
  }
  return writer.Commit();
}

Result<CacheFile> CacheFile::Open(const std::filesystem::path& path, const Digest& model) {
  KVCAST_TRY(MappedFile mapped, MappedFile::Open(path));
  const auto open = [&]() -> Result<CacheFile> {
    KVCAST_TRY(KvFile file, KvFile::Parse(mapped.span()));
    KVCAST_TRY_VOID(CheckModel(file, model));
    KVCAST_TRY(std::vector<Token> prompt, PromptOf(file));
    return CacheFile(std::move(mapped), std::move(file), std::move(prompt));
  };
  auto opened = open();
  if (!opened.ok()) {
    return std::move(opened).error().In(path.string());
  }
  return opened;
}

uint32_t CacheFile::SharedTokens(std::span<const Token> prompt) const {
  const auto differ = std::ranges::mismatch(prompt_, prompt);
  return static_cast<uint32_t>(differ.in1 - prompt_.begin());
}

Result<void> CacheFile::Load(uint32_t tokens, KvCache& cache, Sequence& sequence) const {
  KVCAST_CHECK(tokens <= file_.tokens() && sequence.tokens == 0);
  if (!std::ranges::equal(file_.layers(), cache.pages().layers())) {
    return Error(ErrorCode::kMismatch, "It was made with other layers, heads or head sizes.")
        .In(mapped_.path().string());
  }
  if (tokens == 0) {
    return {};
  }
  KVCAST_TRY_VOID(cache.Reserve(sequence, tokens));
  KVCAST_TRY(BlockView view, BlockView::Of(cache.pages(), sequence.pages, 0, tokens));
  for (size_t layer = 0; layer < file_.layers().size(); ++layer) {
    for (const Plane plane : {Plane::kKey, Plane::kValue}) {
      std::span<const std::byte> values = file_.Values(layer, plane);
      for (uint32_t token = 0; token < tokens; ++token) {
        for (uint32_t head = 0; head < file_.layers()[layer].kv_heads; ++head) {
          const std::span<std::byte> row = view.MutableRow(token, layer, plane, head);
          std::memcpy(row.data(), values.data(), row.size());
          values = values.subspan(row.size());
        }
      }
    }
  }
  sequence.tokens = tokens;
  return {};
}

}  // namespace kvcast::tinylm
