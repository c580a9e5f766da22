#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "kvcast/base/digest.h"
#include "kvcast/base/random.h"
#include "kvcast/catalog/writer.h"
#include "kvcast/kv/index_feed.h"
#include "kvcast/kv/prefix_index.h"

namespace kvcast::sim {

// What goes wrong, each with its own chance per object or step; a seed draws which of them do.
struct CatalogFaults {
  double lose = 0;
  double damage = 0;
  double repeat = 0;
  double delay = 0;
  double restart = 0;  // A node forgets everything and starts with a new boot id.

  static CatalogFaults Draw(Random& random);
};

struct CatalogWorldCounts {
  uint64_t delivered = 0;
  uint64_t lost = 0;
  uint64_t damaged = 0;
  uint64_t repeated = 0;
  uint64_t delayed = 0;
  uint64_t restarts = 0;
  uint64_t refetches = 0;

  void Add(const CatalogWorldCounts& more);
};

// What stands at a place of a track never changes; this is where it is decided.
class CatalogPlaces {
 public:
  CatalogPlaces();
  const TrackName& name(uint64_t track) const { return names_[track]; }
  const std::vector<BlockHash>& prompt(uint64_t track) const { return prompts_[track]; }

 private:
  std::vector<TrackName> names_;
  std::vector<std::vector<BlockHash>> prompts_;
};

// Several nodes whose tiers fill and evict, and one client that follows their catalogs over a
// network that loses, damages, repeats and delays. In it, at every step:
//
//   the index never says of a place what no node ever said of it;
//
// and once the faults stop:
//
//   the index knows exactly what the nodes hold, without anybody's help.
class CatalogWorld {
 public:
  explicit CatalogWorld(uint64_t seed);

  // Plays `steps` with faults, then lets things settle. Returns what was violated, if anything.
  std::string Play(size_t steps);

  const CatalogWorldCounts& counts() const { return counts_; }
  // Of everything that happened, in order: equal for equal seeds.
  const Digest& history() const { return history_; }

 private:
  struct Node {
    std::unique_ptr<CatalogWriter> writer;
    std::vector<Object> epoch;  // What a fetch of the current group would give.
  };
  struct Packet {
    size_t node = 0;
    uint64_t boot = 0;
    Object object;
  };

  void ChangeSomething();
  void Publish(size_t node);
  void Restart(size_t node);
  void Send(size_t node, Object object);
  void DeliverSome(size_t packets);
  void Deliver(const Packet& packet);
  void Refetch(size_t node);
  std::string CheckPlaces() const;
  std::string CheckAllKnown() const;
  void Note(const std::string& event);

  const CatalogPlaces places_;
  Random random_;
  CatalogFaults faults_;
  CatalogWorldCounts counts_;
  Digest history_;
  std::vector<Node> nodes_;
  std::vector<uint64_t> boots_;
  std::deque<Packet> network_;
  PrefixIndex index_;
  std::vector<std::unique_ptr<IndexFeed>> feeds_;
};

}  // namespace kvcast::sim
