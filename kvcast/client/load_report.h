#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kvcast/client/load_run.h"

namespace kvcast {

// What became of a block that was to be loaded. All but the first mean: compute it again.
enum class BlockOutcome : uint8_t {
  kLoaded,           // Every token is in its page, checked.
  kNotHeld,          // The node does not have it, or not all of it, although its catalog said so.
  kRefused,          // The node would not give it.
  kWrong,            // What came was damaged, or something else than was asked for.
  kTooLate,          // The deadline passed first.
  kCancelled,        // The caller no longer wanted it.
  kNodeLost,         // The session to the node ended.
  kComputingFaster,  // Loading it would have taken longer than computing it.
  kAfterGap,         // A block before it is missing, so that it was not waited for.
};

std::string_view ToString(BlockOutcome outcome);

// Why a block has to be computed again.
struct LoadFault {
  BlockOutcome outcome = BlockOutcome::kNotHeld;
  std::string reason;  // A sentence for a person.
};

// How a load ended. Pages of blocks that were not loaded may have been written to, with tokens that
// passed their checks, and are not written to any more.
struct LoadReport {
  size_t first_block = 0;
  std::vector<BlockOutcome> outcomes;  // Of each block from first_block on.
  std::string reason;                  // Why not all were loaded; empty if they were.
  uint64_t bytes = 0;                  // Of payload that was decoded.
  size_t fetches = 0;
  size_t live = 0;        // Of the loaded blocks, those that were followed as they were published.
  size_t prefetched = 0;  // Of the loaded blocks, those that were here before they were asked for.
  std::vector<LoadRun> runs;         // Where the loaded blocks came from, in the prompt's order.
  std::vector<std::string> choices;  // Which rungs were chosen and why, a sentence each.
  // By which of the choices each loaded block came; absent of those that were followed.
  std::vector<std::optional<size_t>> chosen;

  // Of a load that found no node.
  static LoadReport NodeLost(size_t first_block, size_t blocks, const std::string& why);
  // What came at another node after this one was lost: it begins with the first block that is
  // missing here. REQUIRES: one is.
  void GoOnWith(LoadReport next);
  // How many were loaded: they stand first, without a hole.
  size_t loaded() const;
  // What became of the first block that was not; absent if all were.
  std::optional<BlockOutcome> fault() const;
  // At which rung a block was loaded, of those from first_block on; absent where it was not.
  std::optional<Rung> RungOf(size_t number) const;
  // Why it came as that, or did not: a sentence for a person. REQUIRES: there is such a block.
  std::string WhyOf(size_t number) const;
  // At which rungs, each once, in the order of their first blocks.
  std::vector<Rung> rungs() const;
  bool complete() const { return loaded() == outcomes.size(); }
};

}  // namespace kvcast
