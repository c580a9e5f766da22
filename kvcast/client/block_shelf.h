#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kvcast/kv/cache_track.h"
#include "kvcast/kv/prefix_chain.h"
#include "kvcast/kv/rung.h"
#include "kvcast/object/object.h"
#include "kvcast/object/properties.h"
#include "kvcast/object/track_name.h"

namespace kvcast {

// Blocks that were fetched before anybody loads them, coded as they came, in memory of the engine's
// host. A load takes a block from here instead of asking a node, once: then it is in pages. Names
// never change their bytes, so what stands here stays good, whichever node it came from.
//
// Bounded in bytes. Who brings blocks has a turn; what the turns before it brought gives way, the
// oldest first, and never what its own turn has: a prefix is worth its beginning. Belongs to one
// thread, and outlives sessions.
class BlockShelf {
 public:
  using Turn = uint64_t;
  struct Block {
    TrackName track;
    Generation generation{};
    Rung rung = Rung::kBf16;
    uint64_t group = 0;
    Properties properties{};        // Of the track: how it is coded.
    std::vector<Object> objects{};  // All of the block's, in their order.
    uint64_t bytes = 0;             // What they keep in memory.
  };
  // The same with a payload of its own, so that nothing else is kept: what it came in is a
  // session's.
  static Object Copy(const Object& object);
  // What that keeps in memory.
  static uint64_t BytesOf(const Object& copy);

  explicit BlockShelf(uint64_t bytes_max) : bytes_max_(bytes_max) {}

  Turn Begin() { return ++last_turn_; }
  // Room for so many bytes of a block that is still coming; false if there is none for this turn.
  bool Grow(Turn turn, uint64_t bytes);
  // What was grown for and does not come.
  void Shrink(uint64_t bytes) { growing_ -= bytes; }
  // A block that is whole. REQUIRES: its bytes were grown for; no other stands here as it.
  void Put(Turn turn, const BlockHash& hash, Block block);

  // Whether the block is here at one of these rungs, and, if one is named, from that generation.
  bool Has(const BlockHash& hash, std::span<const Rung> rungs,
           const std::optional<Generation>& generation) const;
  // At the first of the rungs that it is here at; it is gone from here then.
  std::optional<Block> Take(const BlockHash& hash, std::span<const Rung> rungs,
                            const std::optional<Generation>& generation);

  bool empty() const { return blocks_.empty(); }
  // Of whole blocks, and of those that are coming: never above the bound.
  uint64_t bytes() const { return bytes_ + growing_; }
  uint64_t bytes_max() const { return bytes_max_; }
  // Rises whenever a block comes or goes.
  uint64_t version() const { return version_; }

 private:
  using Key = std::pair<BlockHash, Rung>;
  using Place = std::pair<Turn, uint64_t>;  // And in the order in which they came.
  struct Entry {
    Place place;
    Block block;
  };
  using Entries = std::map<Key, Entry>;

  Entries::const_iterator Find(const BlockHash& hash, std::span<const Rung> rungs,
                               const std::optional<Generation>& generation) const;
  Block Remove(Entries::const_iterator entry);

  const uint64_t bytes_max_;
  Turn last_turn_ = 0;
  uint64_t last_number_ = 0;
  uint64_t version_ = 0;
  Entries blocks_;
  std::map<Place, Key> order_;
  uint64_t bytes_ = 0;
  uint64_t growing_ = 0;
};

}  // namespace kvcast
