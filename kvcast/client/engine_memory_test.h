#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kvcast/base/random.h"
#include "kvcast/client/cache_kind.h"
#include "kvcast/client/prompt_pages.h"
#include "kvcast/kv/prefix_chain.h"

namespace kvcast {

inline constexpr uint32_t kTestBlockTokens = 4;

inline const BlockShape& TestShape() {
  static const BlockShape shape({{2, 3, 3}, {1, 4, 0}}, kTestBlockTokens);
  return shape;
}

inline CacheKind TestKind(Rung rung = Rung::kBf16) {
  return CacheKind(*ModelScope::Of(Tenant::Public(), "toy", Sha256::Of("toy")), rung);
}

// The names of a prompt of so many blocks; prompts of one `family` share the first `shared`.
inline std::vector<BlockHash> TestBlocks(size_t blocks, uint64_t family = 0, size_t shared = 0) {
  std::vector<Token> tokens(blocks * kTestBlockTokens);
  for (size_t i = 0; i < tokens.size(); ++i) {
    const bool own = i >= shared * kTestBlockTokens;
    tokens[i] = static_cast<Token>(i + (own ? family * 1'000'000 : 0));
  }
  BlockNamer namer = *BlockNamer::Of(NamingKey::Public(), Sha256::Of("toy"));
  const PrefixChain chain = *PrefixChain::Of(namer, tokens, kTestBlockTokens);
  return {chain.blocks().begin(), chain.blocks().end()};
}

// An engine's memory, random at first, whose pages of one prompt lie in no particular order.
class EngineMemory {
 public:
  EngineMemory(size_t blocks, uint64_t seed) : blocks_(blocks) {
    constexpr uint32_t kPageTokens = 2;
    const size_t tokens = blocks * kTestBlockTokens;
    Random random(seed);
    std::vector<LayerMemory> memory;
    for (const LayerShape& layer : TestShape().layers()) {
      for (const Plane plane : {Plane::kKey, Plane::kValue}) {
        buffers_.emplace_back(tokens * 2 * layer.kv_heads * layer.size(plane));
        random.Fill(buffers_.back());
      }
    }
    for (size_t i = 0; i < buffers_.size(); i += 2) {
      memory.push_back({buffers_[i], buffers_[i + 1]});
    }
    cache_.emplace(*PagedCache::Of(TestShape(),
                                   {PageOrder::kNhd, KvPlacement::kApart, kPageTokens, 2}, memory));
    for (uint32_t page = cache_->page_count(); page-- > 0;) {
      table_.push_back(page);
    }
  }
  EngineMemory(const EngineMemory&) = delete;
  EngineMemory& operator=(const EngineMemory&) = delete;

  const PagedCache& cache() const { return *cache_; }
  // BF16 from 1 to 2, of either sign: what a lossy rung can be held to.
  void Soften() {
    for (std::vector<std::byte>& buffer : buffers_) {
      for (size_t i = 1; i < buffer.size(); i += 2) {
        buffer[i] = (buffer[i] & std::byte{0x80}) | std::byte{0x3f};
        buffer[i - 1] |= std::byte{0x80};
      }
    }
  }
  // Holds the block as another memory of the same size does.
  void CopyBlock(const EngineMemory& other, size_t block) {
    const BlockView from = other.Pages().Block(block);
    BlockView to = Pages().Block(block);
    for (uint32_t token = 0; token < kTestBlockTokens; ++token) {
      for (size_t layer = 0; layer < TestShape().layers().size(); ++layer) {
        for (const Plane plane : {Plane::kKey, Plane::kValue}) {
          for (uint32_t head = 0; head < TestShape().layers()[layer].kv_heads; ++head) {
            std::ranges::copy(from.Row(token, layer, plane, head),
                              to.MutableRow(token, layer, plane, head).begin());
          }
        }
      }
    }
  }
  PromptPages Pages(const Slice& slice = {}) const {
    return *PromptPages::Of(*cache_, table_, kTestBlockTokens, blocks_, slice);
  }
  // A token's values in the canonical order.
  std::string Token(size_t block, uint32_t token) const {
    const BlockView view = Pages().Block(block);
    std::string values;
    for (size_t layer = 0; layer < TestShape().layers().size(); ++layer) {
      for (const Plane plane : {Plane::kKey, Plane::kValue}) {
        for (uint32_t head = 0; head < TestShape().layers()[layer].kv_heads; ++head) {
          values += AsText(view.Row(token, layer, plane, head));
        }
      }
    }
    return values;
  }
  std::string Block(size_t block) const {
    std::string values;
    for (uint32_t token = 0; token < kTestBlockTokens; ++token) {
      values += Token(block, token);
    }
    return values;
  }

 private:
  size_t blocks_;
  std::vector<std::vector<std::byte>> buffers_;
  std::vector<uint32_t> table_;
  std::optional<PagedCache> cache_;
};

}  // namespace kvcast
