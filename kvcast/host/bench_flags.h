#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/host/bench_model.h"
#include "kvcast/host/bench_prompts.h"
#include "kvcast/host/node_flags.h"
#include "kvcast/host/tenant_flags.h"

namespace kvcast {

// What `kvcast bench` is told.
struct BenchFlags {
  std::string model = "Llama-3-8B";
  uint64_t block_tokens = kBlockTokensDefault;
  std::vector<std::string> rungs;  // Empty: some.
  bool together = false;
  size_t publishers = 2;
  size_t readers = 2;
  double seconds = 10;
  double deadline_ms = 0;  // 0: none.

  std::string trace;
  uint64_t trace_tokens = 512;  // Of a block of the trace.
  ConversationMix mix;
  uint64_t prompt_tokens = 1024;
  uint64_t prompt_tokens_max = 0;  // 0: four times that.
  uint64_t system_tokens = 128;

  NodeFlags node;
  TenantFlags tenant;
  std::string ram;  // Empty: some.
  bool json = false;

  // Adds them to a command; `flags` must outlive it.
  static void AddTo(CLI::App& command, BenchFlags& flags);

  // Whether the node is somebody else's.
  bool has_node() const { return !node.nodes.empty(); }
  size_t prompt_blocks_max() const;
  std::optional<Duration> deadline() const;
  // The requests of the trace that is named, or of conversations that are made up.
  Result<RequestTrace> Requests() const;
  // What is measured one after the other: a rung each, or all at once. Unsupported: a rung that
  // values of this type have not.
  Result<std::vector<std::vector<Rung>>> Measurements(HalfType halves) const;
  // Of a node of our own. Throws what CLI11 throws for what makes no sense.
  Result<uint64_t> RamBytes() const;

 private:
  static void AddEnginesTo(CLI::App& command, BenchFlags& flags);
  static void AddPromptsTo(CLI::App& command, BenchFlags& flags);
};

}  // namespace kvcast
