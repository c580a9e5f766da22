// An engine that says what its pages hold: publishes a prompt's blocks, or finds and loads them; or
// has them brought to its host ahead, and loads them from there.
//
//   share_prompt publish|load|ahead NODE MODEL_FOLDER LAYERS KV_HEADS HEAD_SIZE
//
// What a page holds follows from its place, so that another process can tell whether it got what
// was published. The model's folder says how many layers, KV heads and values a head it has.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <kvcast/kvcast.hpp>
#include <string>
#include <vector>

namespace {

constexpr uint32_t kPageTokens = 16;
constexpr uint32_t kPages = 40;
constexpr uint32_t kPromptTokens = 600;

uint16_t ValueAt(size_t layer, bool is_key, size_t at) {
  // BF16 between 1 and 2: any that engines compute would do.
  return static_cast<uint16_t>(0x3f80 | ((layer * 31 + (is_key ? 7 : 3) + at * 13) & 0x7f));
}

// Of the first values of K and V of each layer.
size_t CountWrong(const std::vector<std::vector<uint16_t>>& memory, size_t values) {
  size_t wrong = 0;
  for (size_t plane = 0; plane < memory.size(); ++plane) {
    for (size_t at = 0; at < values; ++at) {
      wrong += memory[plane][at] != ValueAt(plane / 2, plane % 2 == 0, at) ? 1u : 0u;
    }
  }
  return wrong;
}

// An engine would do something else meanwhile: there is no need to wait.
bool FetchAhead(kvcast::Cache& cache, const kvcast::Cache::Prompt& prompt) {
  auto ahead = cache.BeginPrefetch(prompt);
  if (!ahead) {
    return false;
  }
  const auto fetched = ahead->Wait(std::chrono::seconds(30));
  if (!fetched || !*fetched) {
    return false;
  }
  std::printf("fetched %llu tokens ahead\n", static_cast<unsigned long long>((*fetched)->tokens));
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) {
    std::fprintf(stderr, "usage: %s publish|load|ahead NODE MODEL LAYERS KV_HEADS HEAD_SIZE\n",
                 argv[0]);
    return 64;
  }
  const bool publishing = std::string(argv[1]) == "publish";
  const size_t layers = std::strtoul(argv[4], nullptr, 10);
  const size_t row = std::strtoul(argv[5], nullptr, 10) * std::strtoul(argv[6], nullptr, 10);
  const size_t values = kPages * kPageTokens * row;

  // The engine's memory: K and V of each layer, as [page, token, head, value].
  std::vector<std::vector<uint16_t>> memory(2 * layers, std::vector<uint16_t>(values));
  kvcast::Cache::Pages pages;
  pages.page_tokens = kPageTokens;
  pages.page_count = kPages;
  for (size_t layer = 0; layer < layers; ++layer) {
    pages.layers.push_back(
        {memory[2 * layer].data(), 2 * values, memory[2 * layer + 1].data(), 2 * values});
    for (size_t at = 0; publishing && at < values; ++at) {
      memory[2 * layer][at] = ValueAt(layer, true, at);
      memory[2 * layer + 1][at] = ValueAt(layer, false, at);
    }
  }
  kvcast::Node node;
  node.address = argv[2];
  kvcast::Cache::Model model;
  model.folder = argv[3];
  auto cache = kvcast::Cache::Open(node, model, pages);
  if (!cache) {
    std::fprintf(stderr, "%s\n", cache.failure().message.c_str());
    return 2;
  }
  kvcast::Cache::Prompt prompt;
  for (uint32_t i = 0; i < kPromptTokens; ++i) {
    prompt.tokens.push_back(1000 + i);
  }
  for (uint32_t page = 0; page < kPages; ++page) {
    prompt.pages.push_back(page);
  }
  if (publishing) {
    const auto published = cache->Publish(prompt);
    std::printf("published %llu tokens %s\n",
                static_cast<unsigned long long>(published ? published->tokens : 0),
                published ? published->reason.c_str() : published.failure().message.c_str());
    return published && published->tokens > 0 ? 0 : 1;
  }
  if (std::string(argv[1]) == "ahead" && !FetchAhead(*cache, prompt)) {
    return 2;
  }
  const auto found = cache->Find(prompt);
  const auto loaded = cache->Load(prompt);
  if (!found || !loaded) {
    std::fprintf(stderr, "%s\n", loaded.failure().message.c_str());
    return 2;
  }
  const size_t wrong = CountWrong(memory, loaded->tokens * row);
  std::printf("found %llu tokens, loaded %llu, %zu wrong values\n",
              static_cast<unsigned long long>(found->tokens),
              static_cast<unsigned long long>(loaded->tokens), wrong);
  if (loaded->prefetched > 0) {
    std::printf("%llu blocks were here before\n",
                static_cast<unsigned long long>(loaded->prefetched));
  }
  return loaded->tokens > 0 && wrong == 0 ? 0 : 1;
}
