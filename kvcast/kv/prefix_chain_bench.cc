// Naming a prompt must stay far below the cost of prefilling it, and looking it up far below naming
// it. Each is measured in turn with its limit: bare SHA-256 over the same tokens, naming the prompt
// once more, and the hash map of the standard library.
#include <benchmark/benchmark.h>

#include <algorithm>
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

std::vector<std::vector<BlockHash>> ManyPrompts(uint64_t seed = 2) {
  Random random(seed);
  std::vector<std::vector<BlockHash>> prompts(kPrompts, std::vector<BlockHash>(kBlocksPerPrompt));
  for (std::vector<BlockHash>& prompt : prompts) {
    for (BlockHash& hash : prompt) {
      random.Fill(hash.bytes);
    }
  }
  return prompts;
}

TrackName NameOf(size_t number) {
  const Digest prefix = Sha256::Of(std::to_string(number));
  const std::string_view fields[] = {"moq://kvcache.moq.arpa/v1/", "tenant/model@0123456789abcdef",
                                     AsText(prefix.bytes), AsText(prefix.bytes).substr(0, 16)};
  return *TrackName::Of(*TrackNamespace::Of(fields), "BF16-lossless");
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
      track = *index.OpenTrack(node, static_cast<uint32_t>(i), NameOf(i));
    }
    const size_t block = runs[i / run_blocks] * run_blocks + i % run_blocks;
    const BlockHash& hash = prompts[block / kBlocksPerPrompt][block % kBlocksPerPrompt];
    (void)index.Add(track, i % kBlocksPerTrack, hash, 1 << 20).ok();
  }
}

// Looks up prompts that nobody has looked up before, as prompts are, beside naming one.
void CompareWithNaming(benchmark::State& state, const PrefixIndex& index,
                       const std::vector<std::vector<BlockHash>>& prompts) {
  const std::vector<Token> tokens = Prompt();
  BlockNamer namer = Namer();
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

// What share of the time to name a prompt does it cost to look its 1,024 blocks up in a million?
// Its blocks were told of in runs of a whole prompt, of a track, and one by one in any order:
// tracks whose blocks have nothing to do with each other, which no publisher has.
void LookUpPrompt(benchmark::State& state) {
  const std::vector<std::vector<BlockHash>> prompts = ManyPrompts();
  PrefixIndex index;
  FillIndex(index, prompts, static_cast<size_t>(state.range(0)));
  CompareWithNaming(state, index, prompts);
}

// The same once every block has made room for another, as in a node that is full: those used least
// recently go first, so many at a time, and as many new ones come.
void LookUpPromptAfterTurnover(benchmark::State& state) {
  const size_t batch = static_cast<size_t>(state.range(0));
  const std::vector<std::vector<BlockHash>> old_prompts = ManyPrompts();
  const std::vector<std::vector<BlockHash>> prompts = ManyPrompts(4);
  PrefixIndex index;
  const NodeRef node = *index.OpenNode();
  std::vector<TrackRef> old_tracks;
  for (size_t prompt = 0; prompt < kPrompts; ++prompt) {
    old_tracks.push_back(*index.OpenTrack(node, static_cast<uint32_t>(prompt), NameOf(prompt)));
    for (size_t group = 0; group < kBlocksPerPrompt; ++group) {
      (void)index.Add(old_tracks.back(), group, old_prompts[prompt][group], 1 << 20).ok();
    }
  }
  for (size_t prompt = 0; prompt < kPrompts; ++prompt) {
    const auto number = static_cast<uint32_t>(kPrompts + prompt);
    const TrackRef track = *index.OpenTrack(node, number, NameOf(number));
    for (size_t first = 0; first < kBlocksPerPrompt; first += batch) {
      for (size_t group = first; group < first + batch; ++group) {
        (void)index.Remove(old_tracks[prompt], group);
      }
      for (size_t group = first; group < first + batch; ++group) {
        (void)index.Add(track, group, prompts[prompt][group], 1 << 20).ok();
      }
    }
    index.CloseTrack(old_tracks[prompt]);
  }
  CompareWithNaming(state, index, prompts);
}

// So many publish at a time, a prompt each, and their blocks become whole in turn.
void FillInTurn(PrefixIndex& index, const std::vector<std::vector<BlockHash>>& prompts,
                size_t publishers, size_t blocks_per_track = kBlocksPerTrack) {
  const NodeRef node = *index.OpenNode();
  uint32_t track_count = 0;
  for (size_t first = 0; first < kPrompts; first += publishers) {
    std::vector<TrackRef> tracks(std::min(publishers, kPrompts - first));
    for (size_t block = 0; block < kBlocksPerPrompt; ++block) {
      for (size_t i = 0; i < tracks.size(); ++i) {
        if (block % blocks_per_track == 0) {
          tracks[i] = *index.OpenTrack(node, track_count, NameOf(track_count));
          ++track_count;
        }
        (void)index.Add(tracks[i], block % blocks_per_track, prompts[first + i][block], 1 << 20)
            .ok();
      }
    }
  }
}

// The same where many publish at a time.
void LookUpPromptOfManyPublishers(benchmark::State& state) {
  const std::vector<std::vector<BlockHash>> prompts = ManyPrompts();
  PrefixIndex index;
  FillInTurn(index, prompts, static_cast<size_t>(state.range(0)));
  CompareWithNaming(state, index, prompts);
}

// The same where tracks have other numbers of blocks than eight.
void LookUpPromptOfTracks(benchmark::State& state) {
  const std::vector<std::vector<BlockHash>> prompts = ManyPrompts();
  PrefixIndex index;
  FillInTurn(index, prompts, 1, static_cast<size_t>(state.range(0)));
  CompareWithNaming(state, index, prompts);
}

// The same for prompts of which only so many blocks from the start are there: 0, as most that
// nobody has computed yet, or half.
void LookUpPromptPartlyThere(benchmark::State& state) {
  const size_t there = static_cast<size_t>(state.range(0));
  const std::vector<std::vector<BlockHash>> known = ManyPrompts();
  std::vector<std::vector<BlockHash>> prompts = ManyPrompts(4);
  for (size_t i = 0; i < kPrompts; ++i) {
    std::copy_n(known[i].begin(), there, prompts[i].begin());
  }
  PrefixIndex index;
  FillInTurn(index, known, 64);
  CompareWithNaming(state, index, prompts);
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
BENCHMARK(LookUpPromptOfManyPublishers)
    ->ArgName("publishers")
    ->Arg(2)
    ->Arg(64)
    ->Arg(kPrompts)
    ->Unit(benchmark::kMicrosecond)
    ->UseManualTime();
BENCHMARK(LookUpPromptOfTracks)
    ->ArgName("blocks")
    ->Arg(1)
    ->Arg(3)
    ->Arg(11)
    ->Unit(benchmark::kMicrosecond)
    ->UseManualTime();
BENCHMARK(LookUpPromptPartlyThere)
    ->ArgName("blocks")
    ->Arg(0)
    ->Arg(kBlocksPerPrompt / 2)
    ->Unit(benchmark::kMicrosecond)
    ->UseManualTime();
BENCHMARK(LookUpPromptAfterTurnover)
    ->ArgName("batch")
    ->Arg(1)
    ->Arg(64)
    ->Unit(benchmark::kMicrosecond)
    ->UseManualTime();
BENCHMARK(LookUpPromptBesideUnorderedMap)->Unit(benchmark::kMicrosecond)->UseManualTime();

}  // namespace
}  // namespace kvcast
