#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/client/cache_kind.h"
#include "kvcast/engine/node_connection.h"
#include "kvcast/host/input_flags.h"
#include "kvcast/host/model_flags.h"
#include "kvcast/host/node_flags.h"
#include "kvcast/host/slice_flags.h"
#include "kvcast/host/tenant_flags.h"
#include "kvcast/kv/kv_file.h"
#include "kvcast/kv/prefix_chain.h"

namespace kvcast {

// What `kvcast put` and `kvcast get` are told: whose cache, of which prompt, at which node.
struct CacheFlags {
  std::string prompt;
  InputFlags inputs;  // Among its tokens.
  std::string file;
  ModelFlags model;
  TenantFlags tenant;
  NodeFlags node;
  SliceFlags slice;
  std::vector<std::string> rungs;  // Empty: what the ladder does by default.
  std::string calibration;         // Empty: model.kvcal in the model's folder, if it is there.
  uint32_t timeout_s = 300;
  bool json = false;

  enum class Nodes : uint8_t { kOne, kAnyOfSeveral };
  // `rungs` and `generation` say what they are for.
  static void AddTo(CLI::App& command, CacheFlags& flags, const std::string& rungs,
                    const std::string& generation, Nodes nodes = Nodes::kAnyOfSeveral);
};

// The same once it is understood: the prompt's blocks have names, and the nodes addresses.
struct CacheTask {
  ModelFolder model;
  CacheKind kind;  // At the first of the rungs.
  Ladder ladder;
  std::vector<Rung> rungs;  // Those said; empty if none was.
  ValueType values;
  BlockShape shape;  // Of a block: of the slice, where that is all that is meant.
  Slice slice;
  std::optional<Generation> generation;
  std::vector<Token> prompt;
  PrefixChain chain;
  std::vector<NodeAddress> addresses;  // In order of preference.
  Instant deadline;

  // Reads model and prompt, and asks nobody.
  static Result<CacheTask> Prepare(const CacheFlags& flags);
  Result<std::unique_ptr<NodeConnection>> Connect() const;
  void Print(const CacheFlags& flags) const;
  // Where the nodes are.
  std::string node() const { return NamesOf(addresses); }

  size_t tokens() const { return prompt.size(); }
  size_t block_bytes() const {
    return shape.values_per_token() * ValueBytes(values) * shape.tokens();
  }
};

}  // namespace kvcast
