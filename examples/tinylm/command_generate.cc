// tinylm prefill and tinylm generate.
#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "examples/tinylm/command.h"
#include "examples/tinylm/inference/generation.h"
#include "examples/tinylm/inference/weights.h"
#include "examples/tinylm/node_options.h"
#include "examples/tinylm/shared_cache.h"

namespace kvcast::tinylm {
namespace {

constexpr uint32_t kPageTokens = 16;

// How long a node may keep an engine waiting in all.
constexpr Duration kNodePatience = std::chrono::seconds(30);
// With another engine that has begun to compute.
constexpr Duration kPrefillPatience = std::chrono::minutes(10);
// Computing the longest prompt takes a second: whoever waits much longer has gained nothing.
constexpr Duration kLoadPatience = std::chrono::seconds(3);

double Milliseconds(Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
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
  TINYLM_TRY(const std::string text, options.prompt.Read());
  TINYLM_TRY(const Tokenizer tokenizer, LoadTokenizer(model));
  TINYLM_TRY(const std::vector<Token> prompt, tokenizer.Encode(text));
  TINYLM_TRY(const Weights weights, Weights::Load(model));
  TINYLM_TRY(KvCache cache, CacheFor(weights.config, prompt.size()));
  Forward forward(weights);
  Sequence sequence;
  TINYLM_TRY_VOID(forward.Append(prompt, cache, sequence));
  return SaveCache(options.out, model, cache, sequence, prompt);
}

struct GenerateOptions {
  PromptOption prompt;
  std::string cache;
  NodeOptions node;
  std::vector<std::string> rungs;
  uint32_t tokens = 60;
  Sampling sampling;
  bool ids = false;
  bool timing = false;
  bool live = false;
  std::optional<double> follow;  // Seconds.
  double pause = 2;              // As well.
};

// When what happened, for --timing.
struct Timing {
  uint32_t loaded = 0;
  size_t prompt = 0;
  uint32_t generated = 0;
  Instant begun;
  Instant loaded_at{};
  Instant prefilled;
  std::optional<Instant> first;

  // By the machine's clock, so that engines can be compared.
  void PrintClock() const {
    fmt::print(
        stderr,
        "clock: begun {:.3f} ms, loaded {:.3f} ms, prefilled {:.3f} ms, first token {:.3f} ms\n",
        Milliseconds(begun.time_since_epoch()), Milliseconds(loaded_at.time_since_epoch()),
        Milliseconds(prefilled.time_since_epoch()),
        Milliseconds(first.value_or(Instant()).time_since_epoch()));
  }
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

struct Published {
  std::string rung;
  CacheReport report;
  Duration took;

  void Print() const {
    if (report.status != Status::kPending) {
      fmt::print(stderr, "published: {} blocks as {}: {}\n", report.blocks, rung, report.reason);
    } else {
      fmt::print(stderr, "published: {} blocks, {} of them new: {} bytes in {:.1f} ms, as {}\n",
                 report.blocks, report.blocks - report.held, report.bytes, Milliseconds(took),
                 rung);
    }
  }
};

// What goes to a node while the prompt is computed, block by block, for others to follow.
class LivePrefill {
 public:
  // Computes all of the prompt but what follows its last whole block before its end.
  Result<void> Run(SharedCache& node, Forward& forward, const std::vector<Token>& prompt,
                   KvCache& cache, Sequence& sequence) {
    block_tokens_ = node.block_tokens();
    begun_ = Now();
    TINYLM_TRY_VOID(cache.Reserve(sequence, static_cast<uint32_t>(prompt.size())));
    for (const std::string& rung : node.published()) {
      Result<CachePublication> live = node.BeginPublish(rung, prompt, sequence);
      if (live.ok()) {
        rungs_.push_back(rung);
        live_.push_back(*std::move(live));
      }
    }
    Computed(sequence);
    while (sequence.tokens + block_tokens_ < prompt.size()) {
      const size_t next = (sequence.tokens / block_tokens_ + 1) * block_tokens_;
      TINYLM_TRY_VOID(forward.Append(
          std::span(prompt).subspan(sequence.tokens, next - sequence.tokens), cache, sequence));
      Computed(sequence);
    }
    return {};
  }
  // The sequence has grown; what is whole does not change any more.
  void Computed(const Sequence& sequence) {
    const size_t blocks = sequence.tokens / block_tokens_;
    if (blocks > ready_) {
      ready_ = blocks;
      ready_at_ = Now();
    }
    for (CachePublication& live : live_) {
      live.Ready(sequence.tokens);
    }
  }
  // Waits until the node has all of it.
  void Finish() {
    for (size_t i = 0; i < live_.size(); ++i) {
      auto report = live_[i].Finish(std::chrono::duration_cast<Microseconds>(kNodePatience));
      if (report) {
        published_.push_back({rungs_[i], std::move(*report), Now() - begun_});
      }
    }
  }
  void Print() const {
    fmt::print(stderr, "clock: last block ready {:.3f} ms\n",
               Milliseconds(ready_at_.time_since_epoch()));
    for (const Published& published : published_) {
      published.Print();
    }
  }

 private:
  uint32_t block_tokens_ = 0;
  Instant begun_;
  Instant ready_at_;
  size_t ready_ = 0;
  std::vector<std::string> rungs_;
  std::vector<CachePublication> live_;
  std::vector<Published> published_;
};

// What goes to a node while the text is written: its blocks are whole, so nothing changes them.
class Publishing {
 public:
  Publishing(SharedCache& node, const std::vector<Token>& prompt, const Sequence& sequence)
      : done_(std::async(std::launch::async, [&node, prompt, sequence] {
          std::vector<Published> all;
          for (const std::string& rung : node.published()) {
            const Instant begun = Now();
            CacheReport report = node.Publish(rung, prompt, sequence, kNodePatience);
            all.push_back({rung, std::move(report), Now() - begun});
          }
          return all;
        })) {}

  void Print() {
    for (const Published& published : done_.get()) {
      published.Print();
    }
  }

 private:
  std::future<std::vector<Published>> done_;
};

// The node, if one is named. One that cannot be used makes an engine slower, and never fail.
Result<std::optional<SharedCache>> OpenNode(const GenerateOptions& options,
                                            const std::string& model, KvCache& cache) {
  TINYLM_TRY(const std::optional<Node> named, options.node.Read());
  if (!named) {
    return std::optional<SharedCache>();
  }
  Result<SharedCache> node = SharedCache::Open(*named, model, cache, options.rungs);
  if (!node.ok() && node.error().code() == ErrorCode::kInvalid) {
    return std::move(node).error();
  }
  if (!node.ok()) {
    fmt::print(stderr, "tinylm: {} Going on without it.\n", node.error().ToString());
    return std::optional<SharedCache>();
  }
  return std::optional<SharedCache>(*std::move(node));
}

void PrintLoaded(const SharedCache::Loaded& loaded) {
  std::string rungs;
  for (const std::string& rung : loaded.rungs) {
    rungs += (rungs.empty() ? ", as " : " and ") + rung;
  }
  fmt::print(stderr, "loaded: {} bytes in {:.1f} ms{}\n", loaded.bytes, Milliseconds(loaded.took),
             rungs);
  if (loaded.blocks_live > 0) {
    fmt::print(stderr, "followed: {} blocks as they were published\n", loaded.blocks_live);
  }
  if (!loaded.reason.empty()) {
    fmt::print(stderr, "not all of it: {}\n", loaded.reason);
  }
}

// Whole tokens are written as they come; a character may be spread over several.
Result<void> WriteTokens(Generation& generation, const Tokenizer& tokenizer,
                         const GenerateOptions& options, Timing& timing) {
  while (timing.generated < options.tokens) {
    TINYLM_TRY(const Token token, generation.Next());
    if (token == tokenizer.end()) {
      break;
    }
    ++timing.generated;
    timing.first = timing.first.value_or(Now());
    if (options.ids) {
      TINYLM_TRY_VOID(WriteStandardOutput(std::to_string(token) + "\n"));
      continue;
    }
    TINYLM_TRY(const std::string text, tokenizer.Decode({&token, 1}, Start::kBare));
    TINYLM_TRY_VOID(WriteStandardOutput(text));
  }
  return options.ids ? Result<void>() : WriteStandardOutput("\n");
}

Duration Seconds(double count) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(count));
}

SharedCache::Loaded Load(SharedCache& node, const GenerateOptions& options,
                         const std::vector<Token>& prompt, Sequence& sequence) {
  if (!options.follow) {
    return node.Load(prompt, sequence, kLoadPatience);
  }
  if (options.timing) {
    fmt::print(stderr, "waiting for another engine\n");
  }
  const Duration begin_within = Seconds(*options.follow);
  return node.Load(prompt, sequence, begin_within + kPrefillPatience,
                   SharedCache::Following{begin_within, Seconds(options.pause)});
}

Result<void> Generate(const GenerateOptions& options, const std::string& model) {
  TINYLM_TRY(const std::string text, options.prompt.Read());
  TINYLM_TRY(const Tokenizer tokenizer, LoadTokenizer(model));
  TINYLM_TRY(const std::vector<Token> prompt, tokenizer.Encode(text));
  TINYLM_TRY(const Weights weights, Weights::Load(model));
  TINYLM_TRY(KvCache cache, CacheFor(weights.config, prompt.size() + options.tokens));
  Forward forward(weights);
  TINYLM_TRY(std::optional<SharedCache> node, OpenNode(options, model, cache));
  // From here on as an engine that is already running would answer.
  Timing timing;
  timing.begun = Now();
  timing.prompt = prompt.size();
  Sequence sequence;
  SharedCache::Loaded loaded;
  if (!options.cache.empty()) {
    TINYLM_TRY_VOID(RestoreCache(options.cache, model, cache, sequence, prompt));
  } else if (node) {
    loaded = Load(*node, options, prompt, sequence);
  }
  timing.loaded = sequence.tokens;
  timing.loaded_at = Now();
  std::optional<LivePrefill> live;
  if (node && options.live) {
    TINYLM_TRY_VOID(live.emplace().Run(*node, forward, prompt, cache, sequence));
  }
  TINYLM_TRY(Generation generation,
             Generation::Start(forward, cache, sequence, prompt, options.sampling));
  timing.prefilled = Now();
  std::optional<Publishing> publishing;
  if (live) {
    live->Computed(sequence);
  } else if (node) {
    publishing.emplace(*node, prompt, sequence);
  }
  TINYLM_TRY_VOID(WriteTokens(generation, tokenizer, options, timing));
  const Instant written = Now();
  if (live) {
    live->Finish();
  }
  if (options.timing) {
    timing.Print(written);
  }
  if (options.timing && (options.live || options.follow)) {
    timing.PrintClock();
  }
  if (node && options.timing) {
    PrintLoaded(loaded);
    live ? live->Print() : publishing->Print();
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
  options->node.AddTo(*command)->excludes("--cache");
  command
      ->add_option("--rung", options->rungs,
                   "A rung to publish and load at; several if said several times, the truest "
                   "first. By default "
                   "BF16-lossless and KTC-medium are published, and only what is exact is loaded")
      ->type_name("NAME")
      ->needs("--node");
  command
      ->add_flag("--live", options->live,
                 "Publish blocks while the prompt is still being computed, for others to follow")
      ->needs("--node");
  command
      ->add_option("--follow", options->follow,
                   "Another engine computes this prompt, and publishes it with --live: take its "
                   "blocks as they come, and wait so long for it to begin")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 3600.0))
      ->needs("--node");
  command
      ->add_option("--pause", options->pause,
                   "Of --follow: compute the rest when the next block does not come for so long")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str()
      ->needs("--follow");
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
  command->add_flag("--ids", options->ids, "Write token ids, one a line, instead of text");
  command->add_flag("--timing", options->timing,
                    "Tell the time to the first token and tokens per second, on standard error");
  command->footer(
      "Try:  tinylm generate 'The cache is full.'\n"
      "      tinylm prefill --file prompt.txt --out cache.safetensors\n"
      "      tinylm generate --file prompt.txt --cache cache.safetensors --timing\n"
      "      tinylm generate --file prompt.txt --node HOST:PORT#FINGERPRINT --timing\n"
      "      tinylm generate --file prompt.txt --node ... --follow 10 &\n"
      "      tinylm generate --file prompt.txt --node ... --live");
  command->callback(
      [options, &model, exit_status] { *exit_status = ExitStatus(Generate(*options, model)); });
}

}  // namespace kvcast::tinylm
