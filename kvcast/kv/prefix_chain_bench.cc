// Naming a prompt must stay far below the cost of prefilling it, and looking it up far below naming
// it. Each is measured in turn with its limit: bare SHA-256 over the same tokens, naming the prompt
// once more, and the hash map of the standard library.
#include <benchmark/benchmark.h>

#include <unordered_map>

#include "bench/interleaved.h"
#include "kvcast/base/random.h"
#include "kvcast/kv/prefix_chain.h"
#include "kvcast/kv/prefix_index.h"

namespace kvcast {
namespace {

constexpr size_t kPromptTokens = 131072;
constexpr size_t kIndexBlocks = 1'000'000;
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

// Calls insert(number, hash) for a million blocks, the prompt's scattered among them.
template <typename Insert>
void ForEachBlock(const PrefixChain& chain, Insert insert) {
  Random random(2);
  const size_t spread = kIndexBlocks / chain.blocks().size();
  for (size_t i = 0; i < kIndexBlocks; ++i) {
    BlockHash hash;
    random.Fill(hash.bytes);
    const size_t own = i / spread;
    insert(i, i % spread == 0 && own < chain.blocks().size() ? chain.blocks()[own] : hash);
  }
}

void FillIndex(PrefixIndex& index, const PrefixChain& chain) {
  const NodeRef node = index.OpenNode();
  TrackRef track{};
  ForEachBlock(chain, [&](size_t i, const BlockHash& hash) {
    if (i % kBlocksPerTrack == 0) {
      const Digest prefix = Sha256::Of(std::to_string(i));
      const std::string_view fields[] = {"moq://kvcache.moq.arpa/v1/",
                                         "tenant/model@0123456789abcdef", AsText(prefix.bytes),
                                         AsText(prefix.bytes).substr(0, 16)};
      track = *index.OpenTrack(node, *TrackName::Of(*TrackNamespace::Of(fields), "BF16-lossless"));
    }
    (void)index.Add(track, i % kBlocksPerTrack, hash, 1 << 20).ok();
  });
}

// What share of the time to name a prompt does it cost to look its 1,024 blocks up in a million?
void LookUpPrompt(benchmark::State& state) {
  const std::vector<Token> tokens = Prompt();
  BlockNamer namer = Namer();
  const PrefixChain chain = *PrefixChain::Of(namer, tokens, kBlockTokensDefault);
  PrefixIndex index;
  FillIndex(index, chain);
  size_t found = 0;
  Interleave(
      state, "naming_over_lookup",
      [&] { benchmark::DoNotOptimize(PrefixChain::Of(namer, tokens, kBlockTokensDefault)); },
      [&] { found = index.LongestMatch(chain.blocks()).leading(); });
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
  BlockNamer namer = Namer();
  const PrefixChain chain = *PrefixChain::Of(namer, Prompt(), kBlockTokensDefault);
  PrefixIndex index;
  FillIndex(index, chain);
  std::unordered_map<BlockHash, uint32_t, FirstBytes> map;
  ForEachBlock(
      chain, [&](size_t i, const BlockHash& hash) { map.emplace(hash, static_cast<uint32_t>(i)); });
  Interleave(
      state, "times_unordered_map",
      [&] {
        for (const BlockHash& hash : chain.blocks()) {
          benchmark::DoNotOptimize(map.contains(hash));
        }
      },
      [&] { benchmark::DoNotOptimize(index.LongestMatch(chain.blocks())); });
}

BENCHMARK(HashPrompt)->Unit(benchmark::kMicrosecond)->UseManualTime();
BENCHMARK(LookUpPrompt)->Unit(benchmark::kMicrosecond)->UseManualTime();
BENCHMARK(LookUpPromptBesideUnorderedMap)->Unit(benchmark::kMicrosecond)->UseManualTime();

}  // namespace
}  // namespace kvcast
