// Naming a prompt must stay far below the cost of prefilling it, and looking it up far below naming
// it. Each is measured in turn with its limit: bare SHA-256 over the same tokens, naming the prompt
// once more, and the hash map of the standard library.
#include <benchmark/benchmark.h>

#include <numeric>
#include <unordered_map>

#include "bench/interleaved.h"
#include "kvcast/base/random.h"
#include "kvcast/kv/prefix_chain.h"
#include "kvcast/kv/prefix_index.h"

namespace kvcast {
namespace {

constexpr size_t kPromptTokens = 131072;
constexpr size_t kBlocksPerTrack = 8;

std::vector<Token> Prompt() {
  Random random(1);
  std::vector<Token> tokens(kPromptTokens);
  for (Token& token : tokens) {
    token = static_cast<Token>(random.Below(128000));
  }
  return tokens;
}

BlockNamer Namer() { return *BlockNamer::Of(NamingKey::Public(), Sha256::Of("model")); }

// Does the chain, with its key, its positions and 1,024 names, keep half the speed of one digest?
void HashPrompt(benchmark::State& state) {
  const std::vector<Token> tokens = Prompt();
  BlockNamer namer = Namer();
  Interleave(
      state, "of_bare_sha256",
      [&] { benchmark::DoNotOptimize(Sha256::Of(std::as_bytes(std::span(tokens)))); },
      [&] { benchmark::DoNotOptimize(PrefixChain::Of(namer, tokens, kBlockTokensDefault)); });
}

// A million blocks: the chains of a thousand prompts, so that a lookup finds nothing in the
// processor's caches that the lookup before it brought there.
constexpr size_t kPrompts = 976;
constexpr size_t kBlocksPerPrompt = kPromptTokens / kBlockTokensDefault;

std::vector<std::vector<BlockHash>> ManyPrompts() {
  Random random(2);
  std::vector<std::vector<BlockHash>> prompts(kPrompts, std::vector<BlockHash>(kBlocksPerPrompt));
  for (std::vector<BlockHash>& prompt : prompts) {
    for (BlockHash& hash : prompt) {
      random.Fill(hash.bytes);
    }
  }
  return prompts;
}

// Prompts are told of in runs of so many blocks, and the runs in any order, as when many engines
// publish at a time. A run is at least a track's blocks: catalogs tell of tracks group by group.
void FillIndex(PrefixIndex& index, const std::vector<std::vector<BlockHash>>& prompts,
               size_t run_blocks) {
  const size_t run_count = kPrompts * kBlocksPerPrompt / run_blocks;
  std::vector<size_t> runs(run_count);
  std::iota(runs.begin(), runs.end(), size_t{0});
  Random random(3);
  for (size_t i = run_count; i > 1; --i) {
    std::swap(runs[i - 1], runs[random.Below(i)]);
  }
  const NodeRef node = *index.OpenNode();
  TrackRef track{};
  for (size_t i = 0; i < run_count * run_blocks; ++i) {
    if (i % kBlocksPerTrack == 0) {
      const Digest prefix = Sha256::Of(std::to_string(i));
      const std::string_view fields[] = {"moq://kvcache.moq.arpa/v1/",
                                         "tenant/model@0123456789abcdef", AsText(prefix.bytes),
                                         AsText(prefix.bytes).substr(0, 16)};
      track = *index.OpenTrack(node, *TrackName::Of(*TrackNamespace::Of(fields), "BF16-lossless"));
    }
    const size_t block = runs[i / run_blocks] * run_blocks + i % run_blocks;
    const BlockHash& hash = prompts[block / kBlocksPerPrompt][block % kBlocksPerPrompt];
    (void)index.Add(track, i % kBlocksPerTrack, hash, 1 << 20).ok();
  }
}

// What share of the time to name a prompt does it cost to look its 1,024 blocks up in a million?
// A prompt that nobody has looked up before, as prompts are; its blocks told of in runs of a whole
// prompt, of a track, and, as the worst there can be, one by one in any order.
void LookUpPrompt(benchmark::State& state) {
  const std::vector<Token> tokens = Prompt();
  BlockNamer namer = Namer();
  const std::vector<std::vector<BlockHash>> prompts = ManyPrompts();
  PrefixIndex index;
  FillIndex(index, prompts, static_cast<size_t>(state.range(0)));
  size_t found = 0;
  size_t next = 0;
  std::vector<BlockHash> blocks;
  Interleave(
      state, "naming_over_lookup",
      [&] {
        benchmark::DoNotOptimize(PrefixChain::Of(namer, tokens, kBlockTokensDefault));
        blocks = prompts[next++ % kPrompts];  // Just named, so their names are at hand.
      },
      [&] { found = index.LongestMatch(blocks).leading(); });
  state.counters["share_of_naming"] = 1 / state.counters["naming_over_lookup"];
  state.counters["blocks_found"] = static_cast<double>(found);
  state.counters["bytes_per_block_beside_256_per_track"] =
      (static_cast<double>(index.bytes()) - 256.0 * static_cast<double>(index.track_count())) /
      static_cast<double>(index.source_count());
}

struct FirstBytes {
  size_t operator()(const BlockHash& hash) const {
    size_t value = 0;
    std::memcpy(&value, hash.bytes.data(), sizeof(value));
    return value;
  }
};

// The peer: what one would write in an afternoon, without sources, tracks or bounds.
void LookUpPromptBesideUnorderedMap(benchmark::State& state) {
  const std::vector<std::vector<BlockHash>> prompts = ManyPrompts();
  PrefixIndex index;
  FillIndex(index, prompts, kBlocksPerTrack);
  std::unordered_map<BlockHash, uint32_t, FirstBytes> map;
  for (const std::vector<BlockHash>& prompt : prompts) {
    for (const BlockHash& hash : prompt) {
      map.emplace(hash, static_cast<uint32_t>(map.size()));
    }
  }
  size_t next = 0;
  Interleave(
      state, "times_unordered_map",
      [&] {
        for (const BlockHash& hash : prompts[next % kPrompts]) {
          benchmark::DoNotOptimize(map.contains(hash));
        }
      },
      [&] { benchmark::DoNotOptimize(index.LongestMatch(prompts[(next++ + 100) % kPrompts])); });
}

BENCHMARK(HashPrompt)->Unit(benchmark::kMicrosecond)->UseManualTime();
BENCHMARK(LookUpPrompt)
    ->ArgName("run_blocks")
    ->Arg(kBlocksPerPrompt)
    ->Arg(kBlocksPerTrack)
    ->Arg(1)
    ->Unit(benchmark::kMicrosecond)
    ->UseManualTime();
BENCHMARK(LookUpPromptBesideUnorderedMap)->Unit(benchmark::kMicrosecond)->UseManualTime();

}  // namespace
}  // namespace kvcast
