#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "kvcast/client/block_shelf.h"
#include "kvcast/client/cache_kind.h"
#include "kvcast/client/load_run.h"
#include "kvcast/kv/prefix_chain.h"
#include "kvcast/kv/prefix_index.h"
#include "kvcast/object/track_name.h"

namespace kvcast {

// A track that holds a block.
struct BlockOffer {
  Rung rung = Rung::kBf16;
  uint32_t track = 0;  // Its number in the match.
  uint64_t group = 0;
  uint64_t bytes = 0;  // As the catalog has it.

  friend bool operator==(const BlockOffer&, const BlockOffer&) = default;
};

// How a prompt's blocks can be had: for each of them, without a hole, which tracks hold it and at
// which rungs. A value: it knows what an index knew, and a block that has gone since costs one
// failed fetch.
class CacheMatch {
 public:
  // The blocks from `first_block` on: an engine has those before. At any of these rungs, the best
  // first; a block of which there is none ends it. With a generation, only what was published under
  // it counts, now and later.
  static CacheMatch Of(const PrefixIndex& index, std::span<const BlockHash> blocks,
                       const CacheKind& kind, std::span<const Rung> rungs, size_t first_block = 0,
                       const std::optional<Generation>& generation = {});

  // Nothing from there on.
  static CacheMatch None(size_t first_block);

  bool empty() const { return offers_.empty(); }
  size_t first_block() const { return first_block_; }
  size_t end_block() const { return first_block_ + block_count(); }
  size_t block_count() const { return offers_.size(); }
  // Those that were asked for, the best first.
  std::span<const Rung> rungs() const { return rungs_; }
  const std::optional<Generation>& generation() const { return generation_; }
  const TrackName& track(uint32_t number) const { return tracks_[number]; }

  // REQUIRES below: a block of the match. None: it is on a shelf, or was withdrawn.
  std::span<const BlockOffer> offers(size_t block) const { return offers_[block - first_block_]; }
  // How large it is at that rung; absent where it is not to be had so.
  std::optional<uint64_t> BytesAt(size_t block, Rung rung) const;
  // The run of at most so many blocks from this one on that reaches furthest: no other choice needs
  // fewer fetches. Absent where no track holds the block at that rung.
  std::optional<LoadRun> RunFrom(size_t block, Rung rung, size_t blocks_max) const;
  // As few runs as possible for all blocks that somebody offers, each at the best rung that its
  // first block has.
  std::vector<LoadRun> BestRuns() const;
  // What those runs take.
  uint64_t bytes() const;

  // The track does not hold the block, whatever its catalog says, now or later.
  void Withdraw(size_t block, const TrackName& track);
  // By what the index says now: more blocks behind the last, up to `end`, and other tracks for
  // those that have none left. Whether there were any. REQUIRES: the blocks and the kind it is of.
  bool Extend(const PrefixIndex& index, std::span<const BlockHash> blocks, const CacheKind& kind,
              size_t end);
  // The same by what is on the shelf: blocks behind the last that are there, which nobody need
  // offer, and what the index says of those behind them.
  void ExtendOver(const BlockShelf& shelf, const PrefixIndex& index,
                  std::span<const BlockHash> blocks, const CacheKind& kind);

 private:
  std::vector<BlockOffer> Lookup(const PrefixIndex& index, std::span<const BlockHash> blocks,
                                 std::span<const CacheKind> kinds, size_t block);

  size_t first_block_ = 0;
  std::optional<Generation> generation_;
  std::vector<Rung> rungs_;
  std::vector<TrackName> tracks_;
  std::vector<std::vector<BlockOffer>> offers_;  // Of each block, those of the best rung first.
  std::set<std::pair<size_t, TrackName>> withdrawn_;
};

}  // namespace kvcast
