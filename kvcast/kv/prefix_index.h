#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/kv/block_table.h"
#include "kvcast/kv/prefix_chain.h"
#include "kvcast/kv/slab.h"
#include "kvcast/kv/slot_table.h"
#include "kvcast/kv/text_slab.h"
#include "kvcast/object/track_name.h"

namespace kvcast {

enum class NodeRef : uint32_t {};
enum class TrackRef : uint32_t {};

// Where one block can be had.
struct BlockSource {
  NodeRef node{};
  TrackName track;
  uint64_t group = 0;
  uint64_t bytes = 0;
  friend bool operator==(const BlockSource&, const BlockSource&) = default;
};

// What an index knew about a prompt. Good until the index changes.
class PrefixMatch {
 public:
  // How many blocks from the start are there without a hole: what can simply be loaded.
  size_t leading() const { return leading_; }
  // One past the last block that is there. Blocks may be missing in between; whoever computes
  // those can load the ones after them.
  size_t end() const { return blocks_.size(); }
  bool Has(size_t block) const { return block < blocks_.size() && blocks_[block] != kMissing; }

 private:
  friend class PrefixIndex;
  static constexpr uint32_t kMissing = BlockTable::kNone;
  std::vector<uint32_t> blocks_;  // Numbers in the index.
  size_t leading_ = 0;
  uint64_t version_ = 0;
};

// Which blocks exist somewhere, and where: what catalogs say, arranged so that the longest prefix
// of a prompt is found in local memory, asking nobody.
//
// A block may have many sources: several nodes, rungs and slices. Entries may be stale; that costs
// one failed fetch. Belongs to one thread.
class PrefixIndex {
 public:
  // Never more than `bytes_max`, all included, not even while it grows. The seed keeps a hostile
  // catalog from choosing keys that fall into one slot; it comes from the machine, or is fixed in
  // a test. REQUIRES: room for the index itself.
  explicit PrefixIndex(size_t bytes_max = SIZE_MAX, uint64_t seed = 0);

  // Too large: the index is full.
  Result<NodeRef> OpenNode();
  // Forgets the node with all its tracks; their refs end with it.
  void CloseNode(NodeRef node);

  // Forgets the node's tracks, and keeps the node.
  void CloseTracks(NodeRef node);

  // `number` is what the node's catalog calls the track. Too large: the index is full, and keeps
  // nothing of the track. REQUIRES: the node has no track of that number.
  Result<TrackRef> OpenTrack(NodeRef node, uint32_t number, const TrackName& name);
  // The track that the node calls so.
  std::optional<TrackRef> FindTrack(NodeRef node, uint32_t number) const;
  // Forgets the track with all its blocks; how many there were.
  size_t CloseTrack(TrackRef track);

  // Says that a group of the track is the block `hash`. Mismatch: it is another one already, or a
  // hash of zeros, which names nothing. Too large: the index is full, or the group or its bytes are
  // past 2^32.
  Result<void> Add(TrackRef track, uint64_t group, const BlockHash& hash, uint64_t bytes);
  // Whether it was there.
  bool Remove(TrackRef track, uint64_t group);

  // Looks every block up, past holes too.
  PrefixMatch LongestMatch(std::span<const BlockHash> blocks) const;
  // Where a block of a match is; newest source first. REQUIRES: the index has not changed since.
  std::vector<BlockSource> Sources(const PrefixMatch& match, size_t block) const;

  // Another one whenever it has changed.
  uint64_t version() const { return version_; }
  size_t block_count() const { return blocks_.size(); }
  size_t source_count() const { return sources_.size(); }
  size_t track_count() const { return tracks_.size(); }
  // Every byte the index has allocated, with what the allocator adds.
  size_t bytes() const;

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  // A group of a track, and so one place where a block is.
  struct Source {
    uint32_t block = kNone;
    uint32_t track = kNone;
    uint32_t group = 0;
    uint32_t bytes = 0;
    uint32_t next_of_block = kNone;
    uint32_t previous_of_block = kNone;
    uint32_t next_of_track = kNone;
    uint32_t previous_of_track = kNone;
  };
  // Names are long and alike: the fields of a tenant and model are kept once, as a Scope.
  struct Track {
    uint32_t node = kNone;
    uint32_t number = 0;
    uint32_t first_source = kNone;
    uint32_t next_of_node = kNone;
    uint32_t previous_of_node = kNone;
    uint32_t scope = kNone;
    uint32_t rest = kNone;  // The namespace's other fields and the name, encoded: a text.
  };
  struct Node {
    uint32_t first_track = kNone;
    bool open = false;
  };
  struct Scope {
    uint32_t fields = kNone;  // Encoded: a text.
    uint32_t tag = 0;
    uint32_t tracks = 0;
  };

  // Of a group of a track, or of a number of a node.
  uint32_t TagOf(uint32_t owner, uint32_t number) const;
  std::optional<uint32_t> FindSource(uint32_t track, uint64_t group) const;
  uint32_t TagOf(std::string_view scope_fields) const;
  std::optional<uint32_t> FindScope(uint32_t tag, std::string_view fields) const;
  uint32_t InsertScope(uint32_t tag, std::string_view fields);
  void LeaveScope(uint32_t number);
  uint32_t NewestBlockOf(uint32_t track) const;
  void Link(uint32_t index);
  void RemoveSource(uint32_t index);
  void UnlinkFromBlock(uint32_t index);
  bool HasRoomFor(size_t more) const { return more <= bytes_max_ && bytes() <= bytes_max_ - more; }
  Error Full() const;

  size_t bytes_max_;
  uint64_t seed_;
  BlockTable blocks_;  // The head of each is its first source.
  Slab<Source, &Source::block> sources_;
  Slab<Track, &Track::next_of_node> tracks_;
  Slab<Node, &Node::first_track> nodes_;
  SlotTable source_slots_;  // Sources by track and group.
  SlotTable track_slots_;   // Tracks by node and number.
  Slab<Scope, &Scope::fields> scopes_;
  SlotTable scope_slots_;  // Scopes by their fields.
  TextSlab texts_;
  uint64_t version_ = 0;
};

}  // namespace kvcast
