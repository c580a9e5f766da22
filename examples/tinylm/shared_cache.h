#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "examples/tinylm/inference/kv_cache.h"
#include "kvcast/base/result.h"
#include "kvcast/base/time.h"
#include "kvcast/client/load_report.h"
#include "kvcast/client/publication.h"
#include "kvcast/host/model_folder.h"
#include "kvcast/host/node_address.h"
#include "kvcast/host/node_connection.h"
#include "kvcast/kv/prefix_chain.h"
#include "kvcast/kv/token.h"

namespace kvcast::tinylm {

// All that an engine has to do to share its KV cache: name a prompt's blocks, load those that a
// node has before it computes the rest, and publish what it has computed.
class SharedCache {
 public:
  // The model's name under which engines find each other's blocks.
  static constexpr const char* kModelName = "tinylm";

  // Connects to a node. `folder` is the model's.
  static Result<SharedCache> Open(const NodeAddress& node, const std::string& folder);

  struct Loaded {
    uint32_t tokens = 0;  // The sequence holds them now.
    uint64_t bytes = 0;
    size_t blocks_found = 0;
    std::string reason;  // Why not all that was found; empty if it was.
    Duration took{};
  };
  // Has an empty sequence hold what the node has of a prompt, from its start. Whatever goes wrong
  // makes it less, and never a failure.
  Loaded Load(std::span<const Token> prompt, KvCache& cache, Sequence& sequence, Instant deadline);

  // Publishes the prompt's whole blocks, which the sequence holds. They may be read meanwhile, and
  // tokens may be appended behind them.
  PublishReport Publish(std::span<const Token> prompt, const KvCache& cache,
                        const Sequence& sequence, Instant deadline);

 private:
  SharedCache(BlockNamer namer, uint32_t block_tokens, std::unique_ptr<NodeConnection> node)
      : namer_(std::move(namer)), block_tokens_(block_tokens), node_(std::move(node)) {}

  BlockNamer namer_;
  uint32_t block_tokens_;
  std::unique_ptr<NodeConnection> node_;
};

}  // namespace kvcast::tinylm
