#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "examples/tinylm/inference/kv_cache.h"
#include "kvcast/base/result.h"
#include "kvcast/base/time.h"
#include "kvcast/client/load_report.h"
#include "kvcast/client/publication.h"
#include "kvcast/engine/model_folder.h"
#include "kvcast/engine/node_address.h"
#include "kvcast/engine/node_connection.h"
#include "kvcast/kv/prefix_chain.h"
#include "kvcast/kv/token.h"

namespace kvcast::tinylm {

// All that an engine has to do to share its KV cache: name a prompt's blocks, load those that a
// node has before it computes the rest, and publish what it has computed.
class SharedCache {
 public:
  // The model's name under which engines find each other's blocks.
  static constexpr const char* kModelName = "tinylm";

  // Connects to a node. `folder` is the model's, with its calibration. `rungs` are those to publish
  // and to load at; where there are none, what is published by default, and only the exact ones are
  // loaded.
  static Result<SharedCache> Open(const NodeAddress& node, const std::string& folder,
                                  std::vector<Rung> rungs = {});

  struct Loaded {
    uint32_t tokens = 0;  // The sequence holds them now.
    uint64_t bytes = 0;
    size_t blocks_found = 0;
    size_t blocks_live = 0;   // That came as they were published.
    std::vector<Rung> rungs;  // At which it was.
    std::string reason;       // Why not all that was found; empty if it was.
    Duration took{};
  };
  // Has an empty sequence hold what the node has of a prompt, from its start. Whatever goes wrong
  // makes it less, and never a failure.
  // Where it is to follow, the whole prompt is waited for that another engine is computing.
  Loaded Load(std::span<const Token> prompt, KvCache& cache, Sequence& sequence, Instant deadline,
              const std::optional<FollowTerms>& follow = {});

  // Publishes the prompt's whole blocks, which the sequence holds, at one rung. They may be read
  // meanwhile, and tokens may be appended behind them.
  PublishReport Publish(Rung rung, std::span<const Token> prompt, const KvCache& cache,
                        const Sequence& sequence, Instant deadline);
  // The same while the prompt is being computed into a sequence that has pages for all of it.
  Result<std::unique_ptr<LivePublication>> BeginPublish(Rung rung, std::span<const Token> prompt,
                                                        const KvCache& cache,
                                                        const Sequence& sequence);
  const std::vector<Rung>& published() const { return published_; }
  uint32_t block_tokens() const { return block_tokens_; }

 private:
  SharedCache(BlockNamer namer, uint32_t block_tokens)
      : namer_(std::move(namer)), block_tokens_(block_tokens) {}

  BlockNamer namer_;
  uint32_t block_tokens_;
  std::vector<Rung> published_;
  std::vector<Rung> loaded_;
  std::unique_ptr<NodeConnection> node_;
};

}  // namespace kvcast::tinylm
