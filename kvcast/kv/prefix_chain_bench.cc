// Naming a prompt must stay far below the cost of prefilling it, and looking it up far below naming
// it. The limits in the same run: bare SHA-256 over the same bytes, and a std::unordered_map.
#include <benchmark/benchmark.h>

#include <unordered_map>

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

PrefixChain ChainOfPrompt() {
  BlockNamer namer = *BlockNamer::Of(NamingKey::Public(), Sha256::Of("model"));
  return *PrefixChain::Of(namer, Prompt(), kBlockTokensDefault);
}

// The limit: one SHA-256 over the prompt's tokens, without names, chain or key.
void BareSha256(benchmark::State& state) {
  const std::vector<Token> tokens = Prompt();
  for (auto _ : state) {
    benchmark::DoNotOptimize(Sha256::Of(std::as_bytes(std::span(tokens))));
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * tokens.size() * sizeof(Token)));
}

void HashPrompt(benchmark::State& state) {
  const std::vector<Token> tokens = Prompt();
  BlockNamer namer = *BlockNamer::Of(NamingKey::Public(), Sha256::Of("model"));
  for (auto _ : state) {
    benchmark::DoNotOptimize(PrefixChain::Of(namer, tokens, kBlockTokensDefault));
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * tokens.size() * sizeof(Token)));
}

// A million blocks, the prompt's among them, scattered.
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

void LookUpPrompt(benchmark::State& state) {
  const PrefixChain chain = ChainOfPrompt();
  PrefixIndex index;
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
  size_t found = 0;
  for (auto _ : state) {
    found = index.LongestMatch(chain.blocks()).leading();
  }
  state.counters["blocks_found"] = static_cast<double>(found);
  const double tracks = static_cast<double>(index.track_count());
  state.counters["bytes_per_block"] = (static_cast<double>(index.bytes()) - 256 * tracks) /
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
void LookUpPromptInUnorderedMap(benchmark::State& state) {
  const PrefixChain chain = ChainOfPrompt();
  std::unordered_map<BlockHash, uint32_t, FirstBytes> map;
  ForEachBlock(
      chain, [&](size_t i, const BlockHash& hash) { map.emplace(hash, static_cast<uint32_t>(i)); });
  size_t found = 0;
  for (auto _ : state) {
    found = 0;
    for (const BlockHash& hash : chain.blocks()) {
      found += map.contains(hash) ? 1 : 0;
    }
  }
  state.counters["blocks_found"] = static_cast<double>(found);
}

BENCHMARK(BareSha256)->Unit(benchmark::kMicrosecond);
BENCHMARK(HashPrompt)->Unit(benchmark::kMicrosecond);
BENCHMARK(LookUpPrompt)->Unit(benchmark::kMicrosecond);
BENCHMARK(LookUpPromptInUnorderedMap)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace kvcast
