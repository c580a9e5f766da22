#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "kvcast/base/check.h"
#include "kvcast/store/pack_format.h"
#include "kvcast/store/pack_pools.h"

namespace kvcast {

// Which packs of a node one of several tiers sees to that have them together: those whose markers
// say so, which each draws for what it writes. Another number of them divides all packs anew.
struct PackShare {
  uint64_t index = 0;
  uint64_t count = 1;
  bool Has(const PackId& id) const { return id.marker % count == index; }
};

// A pack that is in the bucket, as far as we know.
struct Pack {
  PackId id;
  std::string key;
  uint64_t bytes = 0;
  uint64_t written_us = 0;  // Since 1970; 0: not known.
  bool has_removals = false;
  std::shared_ptr<const PackHorizon> seen{};  // What its removals reach.
  PackOwner owner{};
  bool leaving = false;        // It is being given up.
  bool forgotten = false;      // The index had no room for what it holds.
  uint32_t damaged_count = 0;  // How often it came damaged when it was to be.
  bool partly_ours = false;    // It holds tracks that another tier of the node answers for.
  bool unmergeable = false;    // Something of it came damaged when it was to be merged.
  uint64_t shown_in = 0;       // The last listing that showed it,
  uint32_t missed = 0;         // and how many whole ones in a row since did not.
};

// The packs of a bucket. To an index each is a segment, whose number is our own and never used
// again.
struct PackTable {
  std::map<uint32_t, Pack> packs;
  std::map<std::string, uint32_t, std::less<>> by_key;
  PackHorizon seen;        // Of other nodes, and of earlier starts of this one.
  PackNode node;           // Ours, since this start.
  PackShare share;         // Of packs: of the node's that are ours, and of all, that we count.
  uint64_t own_bytes = 0;  // Of all our packs.
  size_t counted = 0;
  uint32_t last_own = 0;  // Of the numbers that it has used since.
  uint32_t last_segment = 0;
  uint64_t removers_seen_bytes = 0;

  // Of this start of the node, or of an earlier one.
  bool Own(const Pack& pack) const { return SameNode(pack.id.node, node) && share.Has(pack.id); }
  bool Has(std::string_view key) const { return by_key.contains(key); }
  const Pack* Find(uint32_t segment) const {
    const auto found = packs.find(segment);
    return found == packs.end() ? nullptr : &found->second;
  }
  // What all horizons take from the heap. The packs themselves are bounded by their number.
  uint64_t horizon_bytes() const { return removers_seen_bytes + seen.bytes(); }
  uint32_t Add(Pack pack) {
    KVCAST_CHECK(last_segment < UINT32_MAX);
    ++last_segment;
    by_key.emplace(pack.key, last_segment);
    Learn(pack.id);
    own_bytes += Own(pack) ? pack.bytes : 0;
    counted += share.Has(pack.id) ? 1u : 0u;
    removers_seen_bytes += pack.seen ? pack.seen->bytes() : 0;
    packs.emplace(last_segment, std::move(pack));
    return last_segment;
  }
  // It was read again, and says this of itself.
  void Reread(uint32_t segment, uint64_t written_us, bool has_removals,
              std::shared_ptr<const PackHorizon> its_seen, PackOwner owner) {
    Pack& pack = packs.at(segment);
    removers_seen_bytes -= pack.seen ? pack.seen->bytes() : 0;
    removers_seen_bytes += its_seen ? its_seen->bytes() : 0;
    pack.written_us = written_us;
    pack.has_removals = has_removals;
    pack.seen = std::move(its_seen);
    // What it once said it removes, it still does.
    for (const uint32_t pool : pack.owner.removes) {
      owner.Add(pool, true);
    }
    pack.owner = std::move(owner);
  }
  // That there is, or was, such a pack.
  void Learn(const PackId& id) {
    if (id.node == node) {
      last_own = std::max(last_own, id.number);
    } else {
      seen.Add(id.node, id.number);
    }
  }
  void Drop(uint32_t segment) {
    const auto found = packs.find(segment);
    KVCAST_CHECK(found != packs.end());
    own_bytes -= Own(found->second) ? found->second.bytes : 0;
    counted -= share.Has(found->second.id) ? 1u : 0u;
    removers_seen_bytes -= found->second.seen ? found->second.seen->bytes() : 0;
    by_key.erase(found->second.key);
    packs.erase(found);
  }
};

}  // namespace kvcast
