#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "kvcast/base/check.h"
#include "kvcast/base/hex.h"
#include "kvcast/codec/rung_promise.h"
#include "kvcast/host/command.h"
#include "kvcast/host/json_text.h"
#include "kvcast/host/kv_file_fit.h"
#include "kvcast/host/model_flags.h"
#include "kvcast/host/model_text.h"
#include "kvcast/io/file.h"
#include "kvcast/kv/input_list.h"
#include "kvcast/kv/kv_file.h"

namespace kvcast {
namespace {

struct InspectOptions {
  std::string file;
  ModelFlags model;
  bool json = false;
};

struct Inspected {
  const KvFile& file;
  uint64_t bytes = 0;
  std::string model_name;  // Empty if nobody says.
  std::string model_fp;    // In hex.
  bool checked = false;    // Against a model's folder, not just the file's own word.
};

size_t QueryBytesPerToken(const KvFile& file) {
  size_t bytes = 0;
  for (size_t layer = 0; layer < file.layers().size(); ++layer) {
    bytes += file.Queries(layer).size();
  }
  return bytes / file.tokens();
}

// What it is of beside its tokens.
void PrintSubject(const KvFile& file) {
  const auto inputs = ParseInputList(MetadataOr(file, kInputsKey), file.tokens());
  KVCAST_CHECK(inputs);  // Or the file had been refused.
  std::string label = "inputs";
  for (const ForeignInput& input : *inputs) {
    fmt::print("{:<17}at token {}: {}\n", label, Grouped(input.position), input.digest.ToHex());
    label.clear();
  }
  const std::string salt = MetadataOr(file, kSaltDigestKey);
  if (!salt.empty() && salt != Sha256::Of("").ToHex()) {
    fmt::print("salt             one with the SHA-256 {}\n", salt);
  }
}

void PrintText(const Inspected& inspected, uint64_t block_tokens) {
  const KvFile& file = inspected.file;
  fmt::print("tokens           {}\n", Grouped(file.tokens()));
  fmt::print("values           {}\n", ToString(file.type()));
  std::string label = "layers";
  fmt::print("{:<17}{}\n", label, file.layers().size());
  for (const std::string& line : LayerLines(file.layers())) {
    fmt::print("                 {}\n", line);
  }
  if (const Slice slice = SliceOf(file); !slice.IsWhole()) {
    fmt::print("slice            {}: these are a part of a cache\n", slice.Suffix().substr(1));
  }
  if (const std::optional<Rung> rung = RungOf(file)) {
    fmt::print("rung             {}{}\n", ToString(*rung),
               IsExact(*rung) ? "" : ": these are not the values that the model computed");
  }
  PrintSubject(file);
  fmt::print("bytes per token  {}\n", Grouped(file.bytes_per_token()));
  if (const size_t queries = QueryBytesPerToken(file); queries > 0) {
    fmt::print("queries          {} bytes per token beside them, no part of the cache\n",
               Grouped(queries));
  }
  uint64_t block_bytes = 0;  // A block may be as long as a number of tokens can be.
  const bool too_many = __builtin_mul_overflow(file.bytes_per_token(), block_tokens, &block_bytes);
  fmt::print("bytes per block  {} at {} tokens\n", too_many ? "over 2^64" : Grouped(block_bytes),
             block_tokens);
  const uint64_t after = file.tokens() % block_tokens;
  fmt::print("blocks           {}, {} token{} after the last\n", file.tokens() / block_tokens,
             after, after == 1 ? "" : "s");
  fmt::print("file             {} bytes\n", Grouped(inspected.bytes));
  fmt::print("model            {}\n",
             inspected.model_name.empty() ? "not said" : Printable(inspected.model_name));
  fmt::print("model key        {}\n",
             inspected.model_fp.empty() ? "not said; --model DIR computes it" : inspected.model_fp);
  if (inspected.checked) {
    fmt::print("                 the file fits the model\n");
  }
}

void PrintJson(const Inspected& inspected, uint64_t block_tokens) {
  const KvFile& file = inspected.file;
  Json layers = Json::array();
  for (const LayerShape& layer : file.layers()) {
    layers.push_back({{"kv_heads", layer.kv_heads},
                      {"key_size", layer.key_size},
                      {"value_size", layer.value_size}});
  }
  const auto or_null = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
  const Json json = {{"tokens", file.tokens()},
                     {"values", ToString(file.type())},
                     {"layers", layers},
                     {"bytes_per_token", file.bytes_per_token()},
                     {"query_bytes_per_token", QueryBytesPerToken(file)},
                     {"block_tokens", block_tokens},
                     {"file_bytes", inspected.bytes},
                     {"rung", or_null(MetadataOr(file, kRungKey))},
                     {"slice", or_null(SliceOf(file).Suffix())},
                     {"model", or_null(inspected.model_name)},
                     {"model_fp", or_null(inspected.model_fp)},
                     {"metadata", file.metadata()}};
  fmt::print("{}", JsonText(json));
}

Result<void> RunInspect(const InspectOptions& options) {
  KVCAST_TRY(const uint32_t block_tokens, BlockTokensOf(options.model.block_tokens));
  KVCAST_TRY(const MappedFile mapped, MappedFile::Open(options.file));
  const Result<KvFile> file = KvFile::Parse(mapped.span());
  if (!file.ok()) {
    return Error(file.error()).In(options.file);
  }
  if (Result<void> exact = file->CheckValues(); !exact.ok()) {
    return std::move(exact).error().In(options.file);
  }
  Inspected inspected{*file, mapped.span().size(), MetadataOr(*file, kModelNameKey),
                      MetadataOr(*file, kModelFpKey)};
  if (!options.model.folder.empty()) {
    KVCAST_TRY(const ModelFolder model, options.model.Load());
    if (Result<void> fits = CheckFits(*file, model); !fits.ok()) {
      return std::move(fits).error().In(options.file);
    }
    inspected.model_name = model.name;
    inspected.model_fp = model.description.Fingerprint().ToHex();
    inspected.checked = true;
  }
  if (options.json) {
    PrintJson(inspected, block_tokens);
  } else {
    PrintText(inspected, block_tokens);
  }
  return {};
}

}  // namespace

void AddInspectCommand(CLI::App& app, int* exit_status) {
  CLI::App* const command = app.add_subcommand(
      "inspect",
      "Say what a KV cache in a file holds: shape, bytes per token, model key\n\n"
      "The file is safetensors with layers.I.k and layers.I.v of [tokens, KV heads, head size], or "
      "layers.I.kv of [tokens, latent]; queries for calibrations may stand beside them as "
      "layers.I.q. Everything in it is checked. With --model, so is whether "
      "the file fits that model.");
  command->group(kCacheCommands);
  command->footer("kvcast inspect cache.safetensors\nkvcast inspect cache.safetensors --model DIR");
  const auto options = std::make_shared<InspectOptions>();
  command->add_option("FILE", options->file, "A KV cache in a safetensors file")->required();
  ModelFlags::AddTo(*command, options->model);
  command->add_flag("--json", options->json, "Print everything as JSON");
  command->callback([options, exit_status] {
    const Result<void> result = RunInspect(*options);
    *exit_status = result.ok() ? kExitOk : Failed(result.error());
  });
}

}  // namespace kvcast
