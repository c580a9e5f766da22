#include "sim/road_engine.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

namespace kvcast::sim {
namespace {

BlockShape Shape() { return {{{2, 3, 3}, {1, 4, 0}}, RoadPrompts::kBlockTokens}; }

constexpr uint32_t kValueBytes = 2;

}  // namespace

RoadPrompts::RoadPrompts()
    : kind_(*ModelScope::Of(Tenant::Public(), "toy", Sha256::Of("toy")), Rung::kBf16) {
  BlockNamer namer = *BlockNamer::Of(NamingKey::Public(), Sha256::Of("toy"));
  for (size_t prompt = 0; prompt < kPrompts; ++prompt) {
    // Prompt 0 is the trunk; the others leave it after one block, two, and so on.
    const size_t length = 1 + (prompt * 5 + 3) % kBlocksMax;
    std::vector<Token> tokens(length * kBlockTokens);
    for (size_t i = 0; i < tokens.size(); ++i) {
      const bool own = i / kBlockTokens >= prompt % 4;
      tokens[i] = static_cast<Token>(i + (own ? prompt * 1000 : 0));
    }
    const PrefixChain chain = *PrefixChain::Of(namer, tokens, kBlockTokens);
    blocks_.emplace_back(chain.blocks().begin(), chain.blocks().end());
  }
}

RoadEngine::RoadEngine(uint64_t number, Random& random) : number_(number) {
  PageFormat format;
  format.order = random.Happens(0.5) ? PageOrder::kNhd : PageOrder::kHnd;
  format.page_tokens = static_cast<uint32_t>(1 + random.Below(5));
  format.value_bytes = kValueBytes;
  const size_t tokens = RoadPrompts::kBlocksMax * RoadPrompts::kBlockTokens;
  // More pages than a prompt needs, in no particular order.
  const size_t pages = tokens / format.page_tokens + 3;
  const BlockShape shape = Shape();
  for (const LayerShape& layer : shape.layers()) {
    for (const Plane plane : {Plane::kKey, Plane::kValue}) {
      buffers_.emplace_back(pages * format.page_tokens * layer.kv_heads * layer.size(plane) *
                            kValueBytes);
    }
  }
  std::vector<LayerMemory> memory;
  for (size_t i = 0; i < buffers_.size(); i += 2) {
    memory.push_back({buffers_[i], buffers_[i + 1]});
  }
  cache_.emplace(*PagedCache::Of(Shape(), format, memory));
  table_.resize(pages);
  std::iota(table_.begin(), table_.end(), 0u);
  for (size_t i = pages; i > 1; --i) {
    std::swap(table_[i - 1], table_[random.Below(i)]);
  }
}

PromptPages RoadEngine::Pages(size_t blocks) const {
  return *PromptPages::Of(*cache_, table_, RoadPrompts::kBlockTokens, blocks);
}

template <typename Row>
void RoadEngine::ForRows(size_t block, Row row) const {
  const PromptPages pages = Pages(block + 1);
  BlockView view = pages.Block(block);
  for (uint32_t token = 0; token < RoadPrompts::kBlockTokens; ++token) {
    for (size_t layer = 0; layer < view.shape().layers().size(); ++layer) {
      for (const Plane plane : {Plane::kKey, Plane::kValue}) {
        for (uint32_t head = 0; head < view.shape().layers()[layer].kv_heads; ++head) {
          row(view.MutableRow(token, layer, plane, head));
        }
      }
    }
  }
}

std::string RoadEngine::Values(uint64_t number, const BlockHash& block) {
  uint64_t seed = 0;
  std::memcpy(&seed, block.bytes.data(), sizeof(seed));
  Random random(seed + number);
  std::string values(Shape().values_per_token() * RoadPrompts::kBlockTokens * kValueBytes, '\0');
  random.Fill(std::as_writable_bytes(std::span(values)));
  return values;
}

void RoadEngine::Compute(const std::vector<BlockHash>& blocks) {
  for (size_t block = 0; block < blocks.size(); ++block) {
    ComputeBlock(blocks, block);
  }
}

void RoadEngine::ComputeBlock(const std::vector<BlockHash>& blocks, size_t block) {
  const std::string values = Values(number_, blocks[block]);
  size_t at = 0;
  ForRows(block, [&](std::span<std::byte> row) {
    std::ranges::copy(AsBytes(values).subspan(at, row.size()), row.begin());
    at += row.size();
  });
}

void RoadEngine::Scribble(Random& random) {
  for (std::vector<std::byte>& buffer : buffers_) {
    random.Fill(buffer);
  }
}

std::string RoadEngine::Read(size_t block) const {
  std::string values;
  ForRows(block, [&](std::span<std::byte> row) { values += AsText(row); });
  return values;
}

}  // namespace kvcast::sim
