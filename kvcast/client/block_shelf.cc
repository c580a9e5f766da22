#include "kvcast/client/block_shelf.h"

#include "kvcast/base/check.h"

namespace kvcast {

Object BlockShelf::Copy(const Object& object) {
  Object copy = object;
  copy.payload = {};
  for (size_t i = 0; i < object.payload.piece_count(); ++i) {
    copy.payload.Append(Bytes::Copy(object.payload.piece(i)));
  }
  return copy;
}

uint64_t BlockShelf::BytesOf(const Object& copy) {
  return sizeof(Object) + copy.payload.memory_bytes();
}

bool BlockShelf::Grow(Turn turn, uint64_t bytes) {
  while (bytes > bytes_max_ - bytes_ - growing_) {
    const auto oldest = order_.begin();
    if (oldest == order_.end() || oldest->first.first >= turn) {
      return false;
    }
    (void)Remove(blocks_.find(oldest->second));
  }
  growing_ += bytes;
  return true;
}

void BlockShelf::Put(Turn turn, const BlockHash& hash, Block block) {
  KVCAST_CHECK(block.bytes <= growing_);
  growing_ -= block.bytes;
  bytes_ += block.bytes;
  const Key key{hash, block.rung};
  const Place place{turn, ++last_number_};
  order_.emplace(place, key);
  const bool is_new = blocks_.emplace(key, Entry{place, std::move(block)}).second;
  KVCAST_CHECK(is_new);
  ++version_;
}

BlockShelf::Entries::const_iterator BlockShelf::Find(
    const BlockHash& hash, std::span<const Rung> rungs,
    const std::optional<Generation>& generation) const {
  for (const Rung rung : blocks_.empty() ? std::span<const Rung>() : rungs) {
    const auto entry = blocks_.find({hash, rung});
    if (entry != blocks_.end() && (!generation || entry->second.block.generation == *generation)) {
      return entry;
    }
  }
  return blocks_.end();
}

bool BlockShelf::Has(const BlockHash& hash, std::span<const Rung> rungs,
                     const std::optional<Generation>& generation) const {
  return Find(hash, rungs, generation) != blocks_.end();
}

std::optional<BlockShelf::Block> BlockShelf::Take(const BlockHash& hash,
                                                  std::span<const Rung> rungs,
                                                  const std::optional<Generation>& generation) {
  const auto entry = Find(hash, rungs, generation);
  return entry == blocks_.end() ? std::nullopt : std::optional(Remove(entry));
}

BlockShelf::Block BlockShelf::Remove(Entries::const_iterator entry) {
  order_.erase(entry->second.place);
  Block block = std::move(blocks_.extract(entry).mapped().block);
  bytes_ -= block.bytes;
  ++version_;
  return block;
}

}  // namespace kvcast
