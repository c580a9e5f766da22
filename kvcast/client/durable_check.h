#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "kvcast/base/time.h"
#include "kvcast/client/ack_follower.h"
#include "kvcast/kv/prefix_index.h"
#include "kvcast/object/durability.h"

namespace kvcast {

// Which blocks that a node holds are as durable there as is asked. A catalog does not tell, and
// nobody else may: so the node is asked on the `ack` track of each generation that has some of
// them, where it says of every group how durable it is. What it has not said in time counts as not
// durable, and costs one more copy.
class DurableCheck {
 public:
  static constexpr Duration kPatience = std::chrono::seconds(1);
  // Generations that are asked for: a block that very many have published is no reason to ask all.
  static constexpr size_t kGenerationsMax = 8;

  // The follower must outlive it.
  DurableCheck(AckFollower& acks, Durability level) : acks_(&acks), level_(level) {}
  ~DurableCheck();
  DurableCheck(const DurableCheck&) = delete;
  DurableCheck& operator=(const DurableCheck&) = delete;

  // The node has the block there, and there.
  void Add(size_t block, const std::vector<BlockSource>& sources, Instant now);
  // After every input, and when the deadline has come.
  void Look(Instant now);

  bool over() const { return open_.empty(); }
  // Absent once it is over.
  std::optional<Instant> deadline() const { return over() ? std::nullopt : deadline_; }
  // The blocks that are durable, and how much so.
  const std::map<size_t, Durability>& durable() const { return durable_; }

 private:
  using Place = std::pair<TrackName, uint64_t>;  // Track and group.

  bool Follows(const TrackName& track);
  void On(const TrackName& ack_track, const AckRecord& record);
  void GiveUp(const TrackName& ack_track);

  AckFollower* acks_;
  const Durability level_;
  std::map<TrackName, size_t> seen_;  // Of the ack tracks that are followed: records looked at.
  std::map<Place, size_t> open_;      // Nothing is known of this place of a block.
  std::map<size_t, Durability> durable_;
  std::optional<Instant> deadline_;
};

}  // namespace kvcast
