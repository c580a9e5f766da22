// tinylm prefill and tinylm generate.
#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <future>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "examples/tinylm/command.h"
#include "examples/tinylm/inference/cache_file.h"
#include "examples/tinylm/inference/generation.h"
#include "examples/tinylm/inference/weights.h"
#include "examples/tinylm/shared_cache.h"
#include "kvcast/engine/model_folder.h"
#include "kvcast/host/coding_flags.h"
#include "kvcast/host/node_flags.h"
#include "kvcast/io/clock.h"

namespace kvcast::tinylm {
namespace {

constexpr uint32_t kPageTokens = 16;

// How long a node may keep an engine waiting in all.
constexpr Duration kNodePatience = std::chrono::seconds(30);
// Computing the longest prompt takes a second: whoever waits much longer has gained nothing.
constexpr Duration kLoadPatience = std::chrono::seconds(3);

double Milliseconds(Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

// What names the KV of this model, here and in all of kvcast.
Result<Digest> FingerprintOf(const std::string& model) {
  KVCAST_TRY(const ModelFolder folder, ModelFolder::Load(model, {}));
  return folder.description.Fingerprint();
}

// Room for one sequence of so many tokens.
Result<KvCache> CacheFor(const Config& config, size_t tokens) {
  if (tokens > config.context) {
    return Error(ErrorCode::kTooLarge, "Prompt and continuation would have " +
                                           std::to_string(tokens) + " tokens; the model looks at " +
                                           std::to_string(config.context) + " at most.");
  }
  const auto pages = static_cast<uint32_t>((tokens + kPageTokens - 1) / kPageTokens);
  return KvCache::Of(config, kPageTokens, pages);
}

struct PrefillOptions {
  PromptOption prompt;
  std::string out;
};

Result<void> Prefill(const PrefillOptions& options, const std::string& model) {
  KVCAST_TRY(const std::string text, options.prompt.Read());
  KVCAST_TRY(const Tokenizer tokenizer, LoadTokenizer(model));
  KVCAST_TRY(const std::vector<Token> prompt, tokenizer.Encode(text));
  KVCAST_TRY(const Digest fingerprint, FingerprintOf(model));
  KVCAST_TRY(const Weights weights, Weights::Load(model));
  KVCAST_TRY(KvCache cache, CacheFor(weights.config, prompt.size()));
  Forward forward(weights);
  Sequence sequence;
  KVCAST_TRY_VOID(forward.Append(prompt, cache, sequence));
  return CacheFile::Write(options.out, fingerprint, cache, sequence, prompt);
}

struct GenerateOptions {
  PromptOption prompt;
  std::string cache;
  NodeFlags node;
  std::vector<std::string> rungs;
  uint32_t tokens = 60;
  Sampling sampling;
  bool timing = false;
};

// When what happened, for --timing.
struct Timing {
  uint32_t loaded = 0;
  size_t prompt = 0;
  uint32_t generated = 0;
  Instant begun;
  std::optional<Instant> first;

  void Print(Instant now) const {
    fmt::print(stderr, "prompt: {} tokens, {} of them loaded\n", prompt, loaded);
    if (first) {
      fmt::print(stderr, "first token after {:.1f} ms\n", Milliseconds(*first - begun));
    }
    if (generated > 1) {
      fmt::print(stderr, "then {:.0f} tokens/s\n",
                 (generated - 1) * 1e3 / Milliseconds(now - *first));
    }
  }
};

// What goes to a node while the text is written: its blocks are whole, so nothing changes them.
class Publishing {
 public:
  Publishing(SharedCache& node, const std::vector<Token>& prompt, const KvCache& cache,
             const Sequence& sequence)
      : done_(std::async(std::launch::async, [&node, prompt, &cache, sequence] {
          std::vector<Published> all;
          for (const Rung rung : node.published()) {
            const Instant begun = Now();
            PublishReport report =
                node.Publish(rung, prompt, cache, sequence, begun + kNodePatience);
            all.push_back({rung, std::move(report), Now() - begun});
          }
          return all;
        })) {}

  void Print() {
    for (const auto& [rung, report, took] : done_.get()) {
      if (report.fault) {
        fmt::print(stderr, "published: {} of {} blocks as {}: {}\n", report.listed, report.blocks,
                   ToString(rung), report.reason);
      } else {
        fmt::print(stderr, "published: {} blocks, {} of them new: {} bytes in {:.1f} ms, as {}\n",
                   report.blocks, report.sent, report.bytes, Milliseconds(took), ToString(rung));
      }
    }
  }

 private:
  struct Published {
    Rung rung;
    PublishReport report;
    Duration took;
  };
  std::future<std::vector<Published>> done_;
};

// The node, if one is named. One that cannot be used makes an engine slower, and never fail.
Result<std::optional<SharedCache>> OpenNode(const NodeFlags& flags, const std::string& model,
                                            const std::vector<std::string>& rung_names) {
  if (flags.node.empty()) {
    return std::optional<SharedCache>();
  }
  KVCAST_TRY(const NodeAddress address, flags.Address());
  std::vector<Rung> rungs;
  for (const std::string& name : rung_names) {
    KVCAST_TRY(rungs.emplace_back(), BuiltRungOf(name));
  }
  Result<SharedCache> node = SharedCache::Open(address, model, std::move(rungs));
  if (!node.ok()) {
    fmt::print(stderr, "tinylm: {} Going on without it.\n", node.error().ToString());
    return std::optional<SharedCache>();
  }
  return std::optional<SharedCache>(*std::move(node));
}

void PrintLoaded(const SharedCache::Loaded& loaded) {
  std::string rungs;
  for (const Rung rung : loaded.rungs) {
    rungs += (rungs.empty() ? ", as " : " and ") + std::string(ToString(rung));
  }
  fmt::print(stderr, "loaded: {} bytes in {:.1f} ms{}\n", loaded.bytes, Milliseconds(loaded.took),
             rungs);
  if (!loaded.reason.empty()) {
    fmt::print(stderr, "not all of it: {}\n", loaded.reason);
  }
}

// Whole tokens are written as they come; a character may be spread over several.
Result<void> WriteTokens(Generation& generation, const Tokenizer& tokenizer, uint32_t count,
                         Timing& timing) {
  while (timing.generated < count) {
    KVCAST_TRY(const Token token, generation.Next());
    if (token == tokenizer.end()) {
      break;
    }
    ++timing.generated;
    timing.first = timing.first.value_or(Now());
    KVCAST_TRY(const std::string text, tokenizer.Decode({&token, 1}, Start::kBare));
    KVCAST_TRY_VOID(WriteStandardOutput(text));
  }
  return WriteStandardOutput("\n");
}

Result<void> Generate(const GenerateOptions& options, const std::string& model) {
  KVCAST_TRY(const std::string text, options.prompt.Read());
  KVCAST_TRY(const Tokenizer tokenizer, LoadTokenizer(model));
  KVCAST_TRY(const std::vector<Token> prompt, tokenizer.Encode(text));
  KVCAST_TRY(const Weights weights, Weights::Load(model));
  KVCAST_TRY(KvCache cache, CacheFor(weights.config, prompt.size() + options.tokens));
  Forward forward(weights);
  std::optional<Digest> fingerprint;
  if (!options.cache.empty()) {
    KVCAST_TRY(fingerprint, FingerprintOf(model));
  }
  KVCAST_TRY(std::optional<SharedCache> node, OpenNode(options.node, model, options.rungs));
  // From here on as an engine that is already running would answer.
  Timing timing;
  timing.begun = Now();
  timing.prompt = prompt.size();
  Sequence sequence;
  SharedCache::Loaded loaded;
  if (fingerprint) {
    KVCAST_TRY(const CacheFile file, CacheFile::Open(options.cache, *fingerprint));
    timing.loaded = file.SharedTokens(prompt);
    KVCAST_TRY_VOID(file.Load(timing.loaded, cache, sequence));
  } else if (node) {
    loaded = node->Load(prompt, cache, sequence, timing.begun + kLoadPatience);
    timing.loaded = loaded.tokens;
  }
  KVCAST_TRY(Generation generation,
             Generation::Start(forward, cache, sequence, prompt, options.sampling));
  std::optional<Publishing> publishing;
  if (node) {
    publishing.emplace(*node, prompt, cache, sequence);
  }
  KVCAST_TRY_VOID(WriteTokens(generation, tokenizer, options.tokens, timing));
  if (options.timing) {
    timing.Print(Now());
  }
  if (node && options.timing) {
    PrintLoaded(loaded);
    publishing->Print();
  }
  return {};
}

}  // namespace

void AddPrefillCommand(CLI::App& app, const std::string& model, int* exit_status) {
  CLI::App* const command =
      app.add_subcommand("prefill", "Compute the KV cache of a prompt and write it to a file");
  const auto options = std::make_shared<PrefillOptions>();
  options->prompt.AddTo(*command);
  command
      ->add_option("-o,--out", options->out, "The file to write: safetensors, as kvcast reads it")
      ->type_name("FILE")
      ->required();
  command->footer(
      "Try:  tinylm prefill --file prompt.txt --out cache.safetensors\n"
      "      kvcast inspect cache.safetensors");
  command->callback(
      [options, &model, exit_status] { *exit_status = ExitStatus(Prefill(*options, model)); });
}

void AddGenerateCommand(CLI::App& app, const std::string& model, int* exit_status) {
  CLI::App* const command = app.add_subcommand("generate", "Continue a prompt");
  const auto options = std::make_shared<GenerateOptions>();
  options->prompt.AddTo(*command);
  command
      ->add_option("-c,--cache", options->cache,
                   "A file from prefill: what it shares with the prompt need not be computed")
      ->type_name("FILE");
  NodeFlags::AddTo(*command, options->node)
      ->description(
          "A node, as 'kvcast serve' prints it: what it holds of the prompt is loaded, what is "
          "computed is published")
      ->excludes("--cache");
  command
      ->add_option("--rung", options->rungs,
                   "A rung to publish and load at; several if said several times. By default "
                   "BF16-lossless and KTC-medium are published, and only what is exact is loaded")
      ->type_name("NAME")
      ->check(RungProblem)
      ->needs("--node");
  command->add_option("-n,--tokens", options->tokens, "How many tokens to write at most")
      ->capture_default_str();
  Sampling& sampling = options->sampling;
  command
      ->add_option("--temperature", sampling.temperature,
                   "0 takes the likeliest token each time, above 0 draws")
      ->check(CLI::Range(0.0F, 100.0F))
      ->capture_default_str();
  command
      ->add_option("--repetition-penalty", sampling.repetition_penalty,
                   "How unlikely a token becomes by having been said; 1: not at all")
      ->check(CLI::Range(1.0F, 100.0F))
      ->capture_default_str();
  command
      ->add_option("--penalty-window", sampling.penalty_window,
                   "Among how many of the last tokens it counts as said")
      ->capture_default_str();
  command->add_option("--seed", sampling.seed, "Of the draws: the same seed, the same text")
      ->capture_default_str();
  command->add_flag("--timing", options->timing,
                    "Tell the time to the first token and tokens per second, on standard error");
  command->footer(
      "Try:  tinylm generate 'The cache is full.'\n"
      "      tinylm prefill --file prompt.txt --out cache.safetensors\n"
      "      tinylm generate --file prompt.txt --cache cache.safetensors --timing\n"
      "      tinylm generate --file prompt.txt --node HOST:PORT#FINGERPRINT --timing");
  command->callback(
      [options, &model, exit_status] { *exit_status = ExitStatus(Generate(*options, model)); });
}

}  // namespace kvcast::tinylm
