// What a stock says to who wants to know how durable something is that stands here already.
#include "kvcast/relay/stock.h"

namespace kvcast::relay {
namespace {

// Rungs and slices of one generation, and groups of all of them: nobody is told of more at once.
constexpr size_t kTracksMax = 256;
constexpr size_t kGroupsMax = 8192;

}  // namespace

void Stock::RecallAcks(const TrackName& ack_track, Instant until, Instant now) {
  const TrackNamespace& space = ack_track.space();
  size_t groups_left = kGroupsMax;
  for (const TrackName& track : store_.Tracks(*TrackName::Of(space, ""), kTracksMax)) {
    if (track.space() != space) {
      break;
    }
    std::vector<AckBook::Standing> standings;
    for (std::optional<uint64_t> group = store_.GroupFrom(track, 0); group && groups_left > 0;
         group = store_.GroupFrom(track, *group + 1)) {
      --groups_left;
      if (const std::optional<Durability> level = LevelOf(track, *group)) {
        standings.push_back({*group, *level});
      }
    }
    acks_.Recall(track, standings, until);
  }
  if (acks_.IsAck(ack_track)) {
    (void)KeepAck(ack_track, std::nullopt, now).ok();
  }
}

std::optional<Durability> Stock::LevelOf(const TrackName& track, uint64_t group) const {
  for (const Durability level : {Durability::kBucket, Durability::kDisk}) {
    if (store_.tiers().HasWritten(track, group, level)) {
      return level;
    }
  }
  const std::optional<GroupFacts> facts = store_.FindGroup(track, group);
  const bool whole = facts && facts->whole() && facts->object_count > 0;
  return whole ? std::optional(Durability::kMemory) : std::nullopt;
}

}  // namespace kvcast::relay
