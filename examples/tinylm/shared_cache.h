#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "examples/tinylm/base/clock.h"
#include "examples/tinylm/base/result.h"
#include "examples/tinylm/base/token.h"
#include "examples/tinylm/inference/kv_cache.h"
#include "kvcast/kvcast.hpp"

namespace kvcast::tinylm {

// All that an engine has to do to share its KV cache: load the blocks of a prompt that a node has
// before it computes the rest, and publish what it has computed. It knows no more of kvcast than
// kvcast.hpp says.
class SharedCache {
 public:
  // Connects to a node. `folder` is the model's, with its calibration; the pages of `cache` are
  // written to and read from, so it must stay where it is. `rungs` are those to publish and to load
  // at, the truest first; where there are none, an exact one and a small one are published, and
  // only what is exact is loaded. Invalid: an address that is none, or there is no such rung.
  static Result<SharedCache> Open(const kvcast::Node& node, const std::string& folder,
                                  KvCache& cache, std::vector<std::string> rungs = {});

  struct Loaded {
    uint32_t tokens = 0;  // The sequence holds them now.
    uint64_t bytes = 0;
    uint64_t blocks_live = 0;        // That came as they were published.
    std::vector<std::string> rungs;  // At which it was.
    std::string reason;              // Why not all that was found; empty if it was.
    Duration took{};
  };
  // Waiting for another engine that computes the same prompt: for its first block, and the next.
  struct Following {
    Duration begin_within{};
    Duration next_within{};
  };
  // Has an empty sequence hold what the node has of a prompt, from its start. Whatever goes wrong
  // makes it less, and never a failure. Where it follows, the whole prompt is waited for.
  Loaded Load(std::span<const Token> prompt, Sequence& sequence, Duration patience,
              const std::optional<Following>& following = {});

  // Publishes the prompt's whole blocks, which the sequence holds, at one rung. They may be read
  // meanwhile, and tokens may be appended behind them.
  kvcast::CacheReport Publish(const std::string& rung, std::span<const Token> prompt,
                              const Sequence& sequence, Duration patience);
  // The same while the prompt is being computed into a sequence that has pages for all of it.
  Result<kvcast::CachePublication> BeginPublish(const std::string& rung,
                                                std::span<const Token> prompt,
                                                const Sequence& sequence);
  const std::vector<std::string>& published() const { return published_; }
  uint32_t block_tokens() const { return cache_.block_tokens(); }

 private:
  SharedCache(kvcast::Cache cache, KvCache& memory) : cache_(std::move(cache)), memory_(&memory) {}
  // Of a load.
  kvcast::CacheTerms Terms(Duration patience) const;

  kvcast::Cache cache_;
  KvCache* memory_;
  std::vector<std::string> published_;
  std::vector<std::string> loaded_;
};

// The same pages as a file, as any of kvcast's programs reads it (docs/reference/kv-files.md).
Result<void> SaveCache(const std::string& path, const std::string& folder, KvCache& cache,
                       const Sequence& sequence, std::span<const Token> prompt);
// Has an empty sequence hold what the file and the prompt share. Mismatch: another model's file.
Result<void> RestoreCache(const std::string& path, const std::string& folder, KvCache& cache,
                          Sequence& sequence, std::span<const Token> prompt);

}  // namespace kvcast::tinylm
