// Two engines and one prompt: the first publishes it while it computes, the second follows.
//
//   follow_prompt prefill|decode NODE MODEL_FOLDER LAYERS KV_HEADS HEAD_SIZE
//
// Start the second first, or a little later: it waits for the other to begin, and has each block
// moments after it was computed. Here computing a block means to fill its pages with what follows
// from their place.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <kvcast/kvcast.hpp>
#include <string>
#include <vector>

namespace {

constexpr uint32_t kPageTokens = 16;
constexpr uint32_t kPages = 80;
constexpr uint32_t kPromptTokens = 1200;

uint16_t ValueAt(size_t layer, bool is_key, size_t at) {
  // BF16 between 1 and 2: any that engines compute would do.
  return static_cast<uint16_t>(0x3f80 | ((layer * 31 + (is_key ? 7 : 3) + at * 13) & 0x7f));
}

// The engine's memory: K and V of each layer, as [page, token, head, value].
struct Memory {
  Memory(size_t layer_count, size_t row_values)
      : layers(layer_count),
        row(row_values),
        buffers(2 * layers, std::vector<uint16_t>(kPages * kPageTokens * row)) {}

  kvcast::Cache::Pages Pages() {
    kvcast::Cache::Pages pages;
    pages.page_tokens = kPageTokens;
    pages.page_count = kPages;
    for (size_t layer = 0; layer < layers; ++layer) {
      std::vector<uint16_t>& keys = buffers[2 * layer];
      std::vector<uint16_t>& values = buffers[2 * layer + 1];
      pages.layers.push_back({keys.data(), 2 * keys.size(), values.data(), 2 * values.size()});
    }
    return pages;
  }
  void Compute(size_t first_token, size_t end_token) {
    for (size_t i = 0; i < buffers.size(); ++i) {
      for (size_t at = first_token * row; at < end_token * row; ++at) {
        buffers[i][at] = ValueAt(i / 2, i % 2 == 0, at);
      }
    }
  }
  size_t WrongValues(size_t tokens) const {
    size_t wrong = 0;
    for (size_t i = 0; i < buffers.size(); ++i) {
      for (size_t at = 0; at < tokens * row; ++at) {
        wrong += buffers[i][at] != ValueAt(i / 2, i % 2 == 0, at) ? 1u : 0u;
      }
    }
    return wrong;
  }

  size_t layers;
  size_t row;
  std::vector<std::vector<uint16_t>> buffers;
};

int Fail(const kvcast::Failure& failure) {
  std::fprintf(stderr, "%s\n", failure.message.c_str());
  return 2;
}

int Prefill(kvcast::Cache& cache, const kvcast::Cache::Prompt& prompt, Memory& memory) {
  auto publication = cache.Begin(prompt);
  if (!publication) {
    return Fail(publication.failure());
  }
  const size_t step = cache.block_tokens();
  for (size_t done = 0; done < prompt.tokens.size(); done += step) {
    const size_t end = std::min(done + step, prompt.tokens.size());
    memory.Compute(done, end);
    publication->Ready(end);
  }
  const auto published = publication->Finish();
  if (!published) {
    return Fail(published.failure());
  }
  std::printf("published %llu tokens %s\n", static_cast<unsigned long long>(published->tokens),
              published->reason.c_str());
  return published->tokens > 0 ? 0 : 1;
}

int Decode(kvcast::Cache& cache, const kvcast::Cache::Prompt& prompt, const Memory& memory) {
  kvcast::Cache::Terms terms;
  terms.begin = kvcast::Microseconds(20'000'000);   // For the other engine to begin,
  terms.follow = kvcast::Microseconds(10'000'000);  // and for each block after the one before.
  terms.timeout = kvcast::Microseconds(60'000'000);
  const auto loaded = cache.Load(prompt, terms);
  if (!loaded) {
    return Fail(loaded.failure());
  }
  const size_t wrong = memory.WrongValues(loaded->tokens);
  std::printf("followed %llu tokens, %zu wrong values %s\n",
              static_cast<unsigned long long>(loaded->tokens), wrong, loaded->reason.c_str());
  return loaded->tokens > 0 && wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) {
    std::fprintf(stderr, "usage: %s prefill|decode NODE MODEL LAYERS KV_HEADS HEAD_SIZE\n",
                 argv[0]);
    return 64;
  }
  Memory memory(std::strtoul(argv[4], nullptr, 10),
                std::strtoul(argv[5], nullptr, 10) * std::strtoul(argv[6], nullptr, 10));
  kvcast::Node node;
  node.address = argv[2];
  kvcast::Cache::Model model;
  model.folder = argv[3];
  auto cache = kvcast::Cache::Open(node, model, memory.Pages());
  if (!cache) {
    return Fail(cache.failure());
  }
  kvcast::Cache::Prompt prompt;
  for (uint32_t i = 0; i < kPromptTokens; ++i) {
    prompt.tokens.push_back(5000 + i);
  }
  for (uint32_t page = 0; page < kPages; ++page) {
    prompt.pages.push_back(page);
  }
  return std::string(argv[1]) == "prefill" ? Prefill(*cache, prompt, memory)
                                           : Decode(*cache, prompt, memory);
}
