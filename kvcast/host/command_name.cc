#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "kvcast/base/hex.h"
#include "kvcast/host/command.h"
#include "kvcast/host/input_flags.h"
#include "kvcast/host/json_text.h"
#include "kvcast/host/model_flags.h"
#include "kvcast/host/model_text.h"
#include "kvcast/host/prompt_file.h"
#include "kvcast/host/tenant_flags.h"
#include "kvcast/host/text_layout.h"
#include "kvcast/kv/cache_track.h"
#include "kvcast/kv/prefix_chain.h"

namespace kvcast {
namespace {

// Blocks listed of a long chain: its ends tell people most. --all lists all.
constexpr size_t kBlocksListed = 12;

struct NameOptions {
  ModelFlags model;
  std::vector<std::string> prompts;
  InputFlags inputs;  // Of each of them.
  TenantFlags tenant;
  bool all = false;
  bool json = false;
};

struct NamedPrompt {
  std::string file;
  size_t tokens = 0;
  PrefixChain chain;
};

void CheckPrompts(const std::vector<std::string>& files) {
  if (files.size() > 2) {
    throw CLI::ValidationError("PROMPT", fmt::format("One prompt is named, or two are compared; "
                                                     "here are {}.",
                                                     files.size()));
  }
  if (std::ranges::count(files, "-") > 1) {
    throw CLI::ValidationError("PROMPT", "Standard input is one prompt: give the other as a file.");
  }
}

// All of them, before a model is hashed: that may take minutes, and a wrong path none.
Result<std::vector<std::vector<Token>>> ReadPrompts(const std::vector<std::string>& files) {
  std::vector<std::vector<Token>> prompts;
  for (const std::string& file : files) {
    KVCAST_TRY(std::vector<Token> tokens, ReadPromptFile(file));
    prompts.push_back(std::move(tokens));
  }
  return prompts;
}

// "1 token", "9 tokens".
std::string Tokens(size_t count) {
  return fmt::format("{} token{}", Grouped(count), count == 1 ? "" : "s");
}

void PrintModel(const ModelFolder& model, const ModelScope& scope) {
  fmt::print("model    {}\n", scope.Field());
  fmt::print("         fingerprint {}\n", model.description.Fingerprint().ToHex());
  const uint32_t block_tokens = model.description.block_tokens;
  fmt::print("         KV in {}, {} token{} a block\n", ToString(model.description.kv_dtype),
             block_tokens, block_tokens == 1 ? "" : "s");
  for (const std::string& line : LayerLines(model.description)) {
    fmt::print("         {}\n", line);
  }
}

void PrintPrompt(const NamedPrompt& prompt, uint32_t block_tokens) {
  const size_t blocks = prompt.chain.blocks().size();
  fmt::print("prompt   {}: {}, {} block{}, {} after the last\n", Harmless(prompt.file),
             Tokens(prompt.tokens), blocks, blocks == 1 ? "" : "s",
             Tokens(prompt.tokens - blocks * block_tokens));
}

std::string TokenRange(size_t block, uint32_t block_tokens) {
  return fmt::format("{}-{}", block * block_tokens, (block + 1) * block_tokens - 1);
}

// Calls print(block) for the blocks that are listed, with a line for those that are not.
template <typename Print>
void ListBlocks(size_t blocks, bool all, Print print) {
  for (size_t block = 0; block < blocks; ++block) {
    if (!all && blocks > kBlocksListed && block == kBlocksListed / 2) {
      const size_t hidden = blocks - kBlocksListed;
      fmt::print("         ... {} more, --all lists them\n", hidden);
      block += hidden;
    }
    print(block);
  }
}

void PrintChain(const NamedPrompt& prompt, uint32_t block_tokens, bool all) {
  fmt::print("\n{:>5}  {:<15}  {}\n", "block", "tokens", "name");
  fmt::print("{:>5}  {:<15}  {}\n", "root", "", prompt.chain.root().ToHex());
  ListBlocks(prompt.chain.blocks().size(), all, [&](size_t block) {
    fmt::print("{:>5}  {:<15}  {}\n", block, TokenRange(block, block_tokens),
               prompt.chain.blocks()[block].ToHex());
  });
}

std::string ShortName(const PrefixChain& chain, size_t block) {
  return block < chain.blocks().size() ? chain.blocks()[block].ToHex().substr(0, 24) : "-";
}

void PrintComparison(const NamedPrompt& a, const NamedPrompt& b, uint32_t block_tokens, bool all) {
  const size_t shared = a.chain.SharedBlocks(b.chain);
  fmt::print("\n{:>5}  {:<15}  {:<24}  {}\n", "block", "tokens", "first prompt", "second prompt");
  ListBlocks(std::max(a.chain.blocks().size(), b.chain.blocks().size()), all, [&](size_t block) {
    fmt::print("{:>5}  {:<15}  {:<24}  {:<24}  {}\n", block, TokenRange(block, block_tokens),
               ShortName(a.chain, block), ShortName(b.chain, block),
               block < shared ? "shared" : "differs");
  });
  fmt::print("\nThe prompts share {} block{}: the KV of {} need not be computed twice.\n", shared,
             shared == 1 ? "" : "s", Tokens(shared * block_tokens));
}

Json PromptJson(const NamedPrompt& prompt) {
  Json blocks = Json::array();
  for (const BlockHash& block : prompt.chain.blocks()) {
    blocks.push_back(block.ToHex());
  }
  return {{"file", prompt.file},
          {"tokens", prompt.tokens},
          {"root", prompt.chain.root().ToHex()},
          {"blocks", blocks}};
}

void PrintJson(const ModelFolder& model, const std::vector<NamedPrompt>& prompts) {
  Json json = {{"model", ModelJson(model.name, model.description)}, {"prompts", Json::array()}};
  for (const NamedPrompt& prompt : prompts) {
    json["prompts"].push_back(PromptJson(prompt));
  }
  if (prompts.size() == 2) {
    json["shared_blocks"] = prompts[0].chain.SharedBlocks(prompts[1].chain);
  }
  fmt::print("{}", JsonText(json));
}

Result<void> RunName(const NameOptions& options) {
  KVCAST_TRY(const std::vector<std::vector<Token>> tokens, ReadPrompts(options.prompts));
  KVCAST_TRY(const NamingKey key, options.tenant.Key());
  KVCAST_TRY_VOID(options.model.CheckName());
  KVCAST_TRY(const ModelFolder model, options.model.Load());
  KVCAST_TRY(BlockNamer namer, options.tenant.NamerFor(model, key));
  KVCAST_TRY(const ModelScope scope, options.tenant.ScopeOf(model));
  const uint32_t block_tokens = model.description.block_tokens;
  std::vector<NamedPrompt> prompts;
  for (size_t i = 0; i < tokens.size(); ++i) {
    KVCAST_TRY(PrefixChain chain,
               PrefixChain::Of(namer, tokens[i], block_tokens, options.inputs.inputs));
    prompts.push_back({options.prompts[i], tokens[i].size(), std::move(chain)});
  }
  if (options.json) {
    PrintJson(model, prompts);
    return {};
  }
  PrintModel(model, scope);
  for (const NamedPrompt& prompt : prompts) {
    PrintPrompt(prompt, block_tokens);
  }
  if (prompts.size() == 2) {
    PrintComparison(prompts[0], prompts[1], block_tokens, options.all);
  } else if (prompts.size() == 1) {
    PrintChain(prompts[0], block_tokens, options.all);
  }
  return {};
}

}  // namespace

void AddNameCommand(CLI::App& app, int* exit_status) {
  CLI::App* const command = app.add_subcommand(
      "name",
      "Name a model and the blocks of a prompt, or see what two prompts share\n\n"
      "A block's name covers the model, its weights, tokenizer and adapter, and every token from "
      "the start of the prompt, and images and sounds among them (--input). Engines with equal "
      "names have equal KV, so this shows what would "
      "be loaded instead of computed. Token ids come as numbers with spaces or commas between "
      "them, as tokenizers print them. A block that is not full has no name.\n\n"
      "What an engine changes while it runs is in none of the model's files: weights quantised on "
      "load, RoPE set on its command line, FP8 scales that it computes. Give engines that differ "
      "in these a --salt each, and those that are alike the same one.\n\n"
      "What the model is called changes no block's name, but it is where hosts look for each "
      "other's blocks: give the same --model-name on all of them.");
  command->group(kCacheCommands);
  command->footer(
      "kvcast name --model DIR prompt.tokens\n"
      "kvcast name --model DIR first.tokens second.tokens\n"
      "kvcast name --model DIR --tenant acme --key-file acme.key --json prompt.tokens");
  const auto options = std::make_shared<NameOptions>();
  command->add_option("PROMPT", options->prompts, "One or two files of token ids; - is stdin")
      ->expected(1, -1);
  ModelFlags::AddTo(*command, options->model)->required();
  InputFlags::AddTo(*command, options->inputs);
  TenantFlags::AddTo(*command, options->tenant);
  command->add_flag("--all", options->all, "List every block, however many there are");
  command->add_flag("--json", options->json, "Print everything as JSON");
  command->callback([options, exit_status] {
    CheckPrompts(options->prompts);
    const Result<void> result = RunName(*options);
    *exit_status = result.ok() ? kExitOk : Failed(result.error());
  });
}

}  // namespace kvcast
