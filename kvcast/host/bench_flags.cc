#include "kvcast/host/bench_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <system_error>
#include <utility>

#include "kvcast/codec/codec.h"
#include "kvcast/host/coding_flags.h"
#include "kvcast/host/node_memory.h"
#include "kvcast/host/number_range.h"
#include "kvcast/io/human_units.h"
#include "kvcast/io/memory_probe.h"

namespace kvcast {
namespace {

constexpr uint64_t kTokensMax = 1 << 20;
constexpr uint64_t kPromptsLongest = 4;  // Times as long as they are on average.
constexpr uint64_t kTracePromptTokens = 4096;
constexpr uint64_t kRamUsual = uint64_t{4} << 30;

// Whole numbers, as they are written: CLI11 would take -1 for 2^64 - 1, and 010 for 8.
CLI::Validator CountRange(uint64_t low, uint64_t high) {
  return {[low, high](const std::string& text) {
            uint64_t value = 0;
            const char* const end = text.data() + text.size();
            const auto [read_to, failed] = std::from_chars(text.data(), end, value);
            const bool is_number = failed == std::errc() && read_to == end &&
                                   (text.size() == 1 || !text.starts_with('0'));
            return is_number && value >= low && value <= high
                       ? std::string()
                       : fmt::format("'{}' is no whole number from {} to {}", text, low, high);
          },
          ""};
}

// Exact ones first, the truest before the others.
void SortByQuality(std::vector<Rung>& rungs) {
  const auto place = [](Rung rung) { return std::ranges::find(RungsByQuality(), rung); };
  std::ranges::sort(rungs, [&](Rung a, Rung b) { return place(a) < place(b); });
}

std::vector<Rung> UsualRungs(HalfType halves) {
  return halves == HalfType::kBf16 ? std::vector{Rung::kBf16, Rung::kBf16Lossless, Rung::kInt8}
                                   : std::vector{Rung::kFp16, Rung::kFp16Lossless, Rung::kInt8};
}

}  // namespace

void BenchFlags::AddTo(CLI::App& command, BenchFlags& flags) {
  command
      .add_option("--model", flags.model,
                  fmt::format("Whose shape caches have: {}; or a config.json, or the folder that "
                              "it is in",
                              fmt::join(BenchModel::Names(), ", ")))
      ->type_name("MODEL")
      ->capture_default_str();
  command.add_option("--block-tokens", flags.block_tokens, "How many tokens make a block")
      ->type_name("N")
      ->check(CountRange(1, 65535))
      ->capture_default_str();
  command
      .add_option("--rung", flags.rungs,
                  "What to measure; several if said several times (default: BF16, BF16-lossless, "
                  "Int8)")
      ->type_name("NAME")
      ->check(RungProblem);
  command.add_flag("--together", flags.together,
                   "Publish every block at all rungs, and let loads choose, instead of measuring "
                   "one rung after the other");
  AddEnginesTo(command, flags);
  AddPromptsTo(command, flags);
  CLI::Option* const node = NodeFlags::AddTo(command, flags.node);
  TenantFlags::AddTo(command, flags.tenant);
  command
      .add_option("--ram", flags.ram,
                  "Memory for blocks, of the node that is started where --node names none, such as "
                  "8GiB (default: 4GiB, or a quarter of what is free)")
      ->type_name("BYTES")
      ->excludes(node);
  command.add_flag("--json", flags.json, "Print everything as JSON");
}

void BenchFlags::AddEnginesTo(CLI::App& command, BenchFlags& flags) {
  command.add_option("--publishers", flags.publishers, "How many engines publish")
      ->type_name("N")
      ->check(CountRange(1, 256))
      ->capture_default_str();
  command
      .add_option("--readers", flags.readers,
                  "How many engines find and load; 0 to measure publishing alone")
      ->type_name("N")
      ->check(CountRange(0, 256))
      ->capture_default_str();
  command.add_option("--seconds", flags.seconds, "For how long, for each rung")
      ->type_name("N")
      ->check(NumberRange(0.1, 86'400))
      ->capture_default_str();
  command
      .add_option("--requests", flags.mix.requests,
                  "How many prompts at most, for each rung; of a trace, how many of its first")
      ->type_name("N")
      ->check(CountRange(1, 1'000'000))
      ->capture_default_str();
  command
      .add_option("--deadline", flags.deadline_ms,
                  "Milliseconds that a load may take; what has not come by then is left to compute")
      ->type_name("MS")
      ->check(NumberRange(1, 86.4e6));
}

void BenchFlags::AddPromptsTo(CLI::App& command, BenchFlags& flags) {
  command
      .add_option("--trace", flags.trace,
                  "Ask for the prompts of this trace instead of made-up ones: as 'kvcast store "
                  "replay' reads it; - is stdin")
      ->type_name("FILE");
  command
      .add_option("--trace-tokens", flags.trace_tokens, "How many tokens a block of the trace has")
      ->type_name("N")
      ->check(CountRange(1, kTokensMax))
      ->capture_default_str();
  command
      .add_option("--prompt-tokens", flags.prompt_tokens, "Tokens of a made-up prompt, on average")
      ->type_name("N")
      ->check(CountRange(1, kTokensMax))
      ->capture_default_str();
  command
      .add_option("--prompt-tokens-max", flags.prompt_tokens_max,
                  "Where longer prompts are cut (default: four times --prompt-tokens; 4096 with "
                  "--trace)")
      ->type_name("N")
      ->check(CountRange(1, kTokensMax));
  command
      .add_option("--conversations", flags.mix.conversations,
                  "How many conversations are open at a time")
      ->type_name("N")
      ->check(CountRange(1, 100'000))
      ->capture_default_str();
  command
      .add_option("--returning", flags.mix.returning,
                  "The share of conversations that go on after their first prompt, 0 to 1")
      ->type_name("X")
      ->check(NumberRange(0, 1))
      ->capture_default_str();
  command.add_option("--turns", flags.mix.turns, "How many more prompts those have, on average")
      ->type_name("X")
      ->check(NumberRange(1, 1000))
      ->capture_default_str();
  command
      .add_option("--system-prompts", flags.mix.system_prompts,
                  "How many system prompts conversations begin with")
      ->type_name("N")
      ->check(CountRange(1, 100'000))
      ->capture_default_str();
  command.add_option("--system-tokens", flags.system_tokens, "Tokens of each of them")
      ->type_name("N")
      ->check(CountRange(0, kTokensMax))
      ->capture_default_str();
  command
      .add_option("--zipf", flags.mix.zipf,
                  "How uneven their popularity is: the k-th is 1/k^X as popular as the first")
      ->type_name("X")
      ->check(NumberRange(0, 10))
      ->capture_default_str();
  command.add_option("--seed", flags.mix.seed, "Other prompts for another number")
      ->type_name("N")
      ->check(CountRange(0, UINT64_MAX))
      ->capture_default_str();
}

size_t BenchFlags::prompt_blocks_max() const {
  const uint64_t usual = trace.empty() ? prompt_tokens * kPromptsLongest : kTracePromptTokens;
  const uint64_t tokens = prompt_tokens_max > 0 ? prompt_tokens_max : usual;
  return std::max<size_t>(tokens / block_tokens, 1);
}

std::optional<Duration> BenchFlags::deadline() const {
  if (deadline_ms <= 0) {
    return std::nullopt;
  }
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<double, std::milli>(deadline_ms));
}

Result<RequestTrace> BenchFlags::Requests() const {
  if (trace.empty()) {
    ConversationMix made = mix;
    made.prompt_blocks = static_cast<double>(prompt_tokens) / static_cast<double>(block_tokens);
    made.prompt_blocks_max = prompt_blocks_max();
    made.system_blocks = system_tokens / block_tokens;
    // A prompt is read, waits and is published before its conversation goes on.
    made.rest = readers + 2 * publishers;
    return MakeConversations(made);
  }
  if (trace_tokens % block_tokens != 0) {
    throw CLI::ValidationError(
        "--block-tokens",
        fmt::format("A block of the trace has {} tokens (--trace-tokens), which are no whole "
                    "number of blocks of {}.",
                    trace_tokens, block_tokens));
  }
  KVCAST_TRY(RequestTrace whole, ReadRequestTrace(trace));
  whole.requests.resize(std::min(whole.requests.size(), mix.requests));
  return CutFiner(whole, trace_tokens / block_tokens, prompt_blocks_max());
}

Result<std::vector<std::vector<Rung>>> BenchFlags::Measurements(HalfType halves) const {
  std::vector<Rung> wanted;
  for (const std::string& name : rungs) {
    KVCAST_TRY(const Rung rung, BuiltRungOf(name));
    const std::optional<HalfType> exact = ExactTypeOf(rung);
    if (exact && *exact != halves) {
      return Error(ErrorCode::kUnsupported,
                   fmt::format("{} is for values of another type than this model's, which are {}.",
                               name, halves == HalfType::kBf16 ? "BF16" : "FP16"));
    }
    if (std::ranges::find(wanted, rung) == wanted.end()) {
      wanted.push_back(rung);
    }
  }
  if (wanted.empty()) {
    wanted = UsualRungs(halves);
  }
  if (together) {
    SortByQuality(wanted);
    return std::vector<std::vector<Rung>>{wanted};
  }
  std::vector<std::vector<Rung>> each;
  for (const Rung rung : wanted) {
    each.push_back({rung});
  }
  return each;
}

Result<uint64_t> BenchFlags::RamBytes() const {
  KVCAST_TRY(const MemoryFacts memory, ProbeMemory());
  const Result<uint64_t> bytes = NodeMemory(
      ram.empty()
          ? ExactBytes(std::clamp(memory.available_bytes / 4, uint64_t{64} << 20, kRamUsual))
          : ram,
      memory);
  if (!bytes.ok()) {
    throw CLI::ValidationError("--ram", bytes.error().message());
  }
  return *bytes;
}

}  // namespace kvcast
