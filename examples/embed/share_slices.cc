// Ranks of a tensor-parallel engine, each of which has its own KV heads: they publish their slices
// of one cache under one generation, and load them again.
//
//   share_slices draw
//   share_slices publish|load NODE MODEL_FOLDER LAYERS KV_HEADS HEAD_SIZE RANK RANKS GENERATION
//
// Rank 0 of an engine draws the generation and tells the others, as it tells them everything else;
// here whoever starts the ranks does.
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

// What a rank has of the cache.
struct Part {
  uint32_t layers;
  uint32_t heads;
  uint32_t head_size;
  uint32_t first_head;

  size_t values() const { return size_t{kPages} * kPageTokens * heads * head_size; }
  // BF16 between 1 and 2, other ones for each head of the model.
  uint16_t ValueAt(size_t plane, size_t at) const {
    const size_t head = first_head + at / head_size % heads;
    const size_t token = at / head_size / heads;
    return static_cast<uint16_t>(
        0x3f80 | ((plane * 31 + token * 5 + head * 17 + at % head_size * 13) & 0x7f));
  }
};

std::string ToHex(const kvcast::Generation& generation) {
  std::string digits;
  for (const unsigned char byte : generation) {
    digits += "0123456789abcdef"[byte >> 4];
    digits += "0123456789abcdef"[byte & 15];
  }
  return digits;
}

kvcast::Generation FromHex(const std::string& digits) {
  kvcast::Generation generation{};
  for (size_t i = 0; i < generation.size() && 2 * i + 2 <= digits.size(); ++i) {
    generation[i] =
        static_cast<unsigned char>(std::strtoul(digits.substr(2 * i, 2).c_str(), nullptr, 16));
  }
  return generation;
}

int Draw() {
  const auto drawn = kvcast::Cache::DrawGeneration();
  if (!drawn) {
    return 2;
  }
  std::printf("%s\n", ToHex(*drawn).c_str());
  return 0;
}

uint32_t Number(const char* text) { return static_cast<uint32_t>(std::strtoul(text, nullptr, 10)); }

// How many of the values are not what was published.
size_t Wrong(const Part& part, const std::vector<std::vector<uint16_t>>& memory, size_t tokens) {
  size_t wrong = 0;
  for (size_t plane = 0; plane < memory.size(); ++plane) {
    for (size_t at = 0; at < tokens * part.heads * part.head_size; ++at) {
      wrong += memory[plane][at] != part.ValueAt(plane, at) ? 1u : 0u;
    }
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "draw") {
    return Draw();
  }
  if (argc != 10) {
    std::fprintf(stderr,
                 "usage: %s draw, or publish|load NODE MODEL LAYERS KV_HEADS HEAD_SIZE RANK RANKS "
                 "GENERATION\n",
                 argv[0]);
    return 64;
  }
  const uint32_t heads = Number(argv[5]) / Number(argv[8]);
  const Part part{Number(argv[4]), heads, Number(argv[6]), heads * Number(argv[7])};

  // The rank's memory: K and V of each layer, as [page, token, its own heads, value].
  std::vector<std::vector<uint16_t>> memory(2 * part.layers, std::vector<uint16_t>(part.values()));
  kvcast::Cache::Pages pages;
  pages.page_tokens = kPageTokens;
  pages.page_count = kPages;
  for (size_t layer = 0; layer < part.layers; ++layer) {
    pages.layers.push_back({memory[2 * layer].data(), 2 * part.values(),
                            memory[2 * layer + 1].data(), 2 * part.values()});
  }
  kvcast::Node node;
  node.address = argv[2];
  kvcast::Cache::Model model;
  model.folder = argv[3];
  model.first_head = part.first_head;
  model.head_count = part.heads;
  auto cache = kvcast::Cache::Open(node, model, pages);
  if (!cache) {
    std::fprintf(stderr, "%s\n", cache.failure().message.c_str());
    return 2;
  }
  kvcast::Cache::Prompt prompt;
  for (uint32_t i = 0; i < kPromptTokens; ++i) {
    prompt.tokens.push_back(2000 + i);
  }
  for (uint32_t page = 0; page < kPages; ++page) {
    prompt.pages.push_back(page);
  }
  kvcast::Cache::Terms terms;
  terms.generation = FromHex(argv[9]);
  if (what == "publish") {
    for (size_t plane = 0; plane < memory.size(); ++plane) {
      for (size_t at = 0; at < part.values(); ++at) {
        memory[plane][at] = part.ValueAt(plane, at);
      }
    }
    const auto published = cache->Publish(prompt, terms);
    std::printf("rank published %llu tokens %s\n",
                static_cast<unsigned long long>(published ? published->tokens : 0),
                published ? published->reason.c_str() : published.failure().message.c_str());
    return published && published->tokens > 0 ? 0 : 1;
  }
  const auto loaded = cache->Load(prompt, terms);
  if (!loaded) {
    std::fprintf(stderr, "%s\n", loaded.failure().message.c_str());
    return 2;
  }
  const size_t wrong = Wrong(part, memory, loaded->tokens);
  std::printf("rank loaded %llu tokens, %zu wrong values\n",
              static_cast<unsigned long long>(loaded->tokens), wrong);
  return loaded->tokens > 0 && wrong == 0 ? 0 : 1;
}
