#include "kvcast/host/model_flags.h"

#include <charconv>
#include <system_error>

#include "kvcast/base/hex.h"
#include "kvcast/kv/cache_track.h"

namespace kvcast {
namespace {

// CLI11 would take -1 for 2^64 - 1 and 010 for 8. Says what is wrong; empty if nothing is.
std::string BlockLengthProblem(const std::string& text) {
  uint64_t tokens = 0;
  const char* const end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, tokens);
  const bool is_number = error == std::errc() && read == end && !text.starts_with('0');
  return is_number && BlockTokensOf(tokens).ok()
             ? ""
             : "'" + text + "' is not a number of tokens from 1 to 4294967295.";
}

}  // namespace

CLI::Option* ModelFlags::AddTo(CLI::App& command, ModelFlags& flags) {
  CLI::Option* const folder =
      command
          .add_option("--model", flags.folder,
                      "The model's folder, as Hugging Face lays it out: config.json, weights, "
                      "tokenizer")
          ->type_name("DIR");
  command
      .add_option("--model-name", flags.name,
                  "What to call the model. Hosts find each other's blocks under this name")
      ->type_name("NAME")
      ->needs(folder)
      ->check([](const std::string& given) {
        return IsModelName(given) ? ""
                                  : "'" + Printable(given) +
                                        "' is not 1 to 255 printable characters without space or "
                                        "@.";
      })
      ->default_str("the folder's name");
  command.add_option("--adapter", flags.adapter, "The folder of a LoRA adapter on top of it")
      ->needs(folder)
      ->type_name("DIR");
  command
      .add_option("--kv-dtype", flags.kv_dtype,
                  "What the engine computes KV in: bf16, fp16, fp32, fp8_e4m3, fp8_e5m2 or int8. "
                  "All have names; put and get take caches of the first two alone")
      ->type_name("TYPE")
      ->needs(folder)
      ->check([](const std::string& given) {
        const Result<KvDtype> dtype = KvDtypeOf(given);
        return dtype.ok() ? "" : dtype.error().message();
      })
      ->default_str("what config.json says");
  command.add_option("--block-tokens", flags.block_tokens, "How many tokens make a block")
      ->type_name("N")
      ->check(BlockLengthProblem)
      ->capture_default_str();
  return folder;
}

Result<void> ModelFlags::CheckName() const {
  const std::string called = name.empty() ? ModelFolder::NameOf(folder) : name;
  if (!IsModelName(called)) {
    return Error(ErrorCode::kInvalid,
                 "\"" + Printable(called) +
                     "\", as the folder is called, cannot be a model's name: that has 1 to 255 "
                     "printable characters without space or @. Say with --model-name what to call "
                     "the model.")
        .In(folder);
  }
  return {};
}

Result<ModelFolder> ModelFlags::Load() const {
  ModelOptions options;
  options.kv_dtype = kv_dtype;
  options.block_tokens = block_tokens;
  if (!adapter.empty()) {
    options.adapter = adapter;
  }
  KVCAST_TRY(ModelFolder model, ModelFolder::Load(folder, options));
  if (!name.empty()) {
    model.name = name;
  }
  return model;
}

}  // namespace kvcast
