#include "sim/catalog_world.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "kvcast/base/check.h"
#include "sim/fault_chance.h"

namespace kvcast::sim {
namespace {

constexpr size_t kNodes = 4;
constexpr uint64_t kTracks = 10;
constexpr uint64_t kGroups = 8;

constexpr size_t kStepsBetweenChecks = 10;

}  // namespace

CatalogPlaces::CatalogPlaces() {
  for (uint64_t track = 0; track < kTracks; ++track) {
    const std::string number = std::to_string(track);
    names_.push_back(
        *TrackName::Of(*TrackNamespace::Of({"service", "tenant/model", number}), "BF16"));
    prompts_.emplace_back();
    for (uint64_t group = 0; group < kGroups; ++group) {
      // Two tracks of each prompt: several sources of one block.
      prompts_.back().push_back(
          Sha256::Of(std::to_string(track / 2) + "/" + std::to_string(group)));
    }
  }
}

void CatalogWorldCounts::Add(const CatalogWorldCounts& more) {
  delivered += more.delivered;
  lost += more.lost;
  damaged += more.damaged;
  repeated += more.repeated;
  delayed += more.delayed;
  restarts += more.restarts;
  refetches += more.refetches;
}

CatalogFaults CatalogFaults::Draw(Random& random) {
  const auto chance = [&](double most) { return FaultChance(random, most); };
  return {.lose = chance(0.3),
          .damage = chance(0.1),
          .repeat = chance(0.3),
          .delay = chance(0.5),
          .restart = chance(0.02)};
}

CatalogWorld::CatalogWorld(uint64_t seed)
    : random_(seed), faults_(CatalogFaults::Draw(random_)), index_(SIZE_MAX, seed) {
  for (size_t i = 0; i < kNodes; ++i) {
    nodes_.push_back({std::make_unique<CatalogWriter>(), {}});
    boots_.push_back(0);
    feeds_.push_back(*IndexFeed::Open(index_));
  }
}

void CatalogWorld::Note(const std::string& event) {
  Sha256 hash;
  hash.Update(history_.bytes);
  hash.Update(event);
  history_ = hash.Finish();
}

std::string CatalogWorld::Play(size_t steps) {
  for (size_t step = 0; step < steps; ++step) {
    ChangeSomething();
    DeliverSome(random_.Below(4));
    if (step % kStepsBetweenChecks == 0) {
      if (std::string wrong = CheckPlaces(); !wrong.empty()) {
        return wrong;
      }
    }
  }
  faults_ = CatalogFaults();
  for (size_t node = 0; node < kNodes; ++node) {
    Publish(node);
  }
  DeliverSome(network_.size());
  // A client asks now and then whether it has missed the last of a track; here, once.
  for (size_t node = 0; node < kNodes; ++node) {
    Refetch(node);
  }
  const std::string wrong = CheckPlaces();
  return wrong.empty() ? CheckAllKnown() : wrong;
}

void CatalogWorld::ChangeSomething() {
  const size_t node = random_.Below(kNodes);
  if (random_.Happens(faults_.restart)) {
    Restart(node);
    return;
  }
  CatalogWriter& writer = *nodes_[node].writer;
  const uint64_t track = random_.Below(kTracks);
  const uint64_t group = random_.Below(kGroups);
  const uint64_t kind = random_.Below(100);
  if (kind < 60) {
    KVCAST_CHECK(
        writer.Add(places_.name(track), group, places_.prompt(track)[group], 1000 + group).ok());
  } else if (kind < 85) {
    writer.Remove(places_.name(track), group);
  } else if (kind < 90) {
    writer.Drop(places_.name(track));
  } else if (kind < 93) {
    Publish(node);
    writer.StartEpoch();
    nodes_[node].epoch.clear();
  }
  if (random_.Happens(0.5)) {
    Publish(node);
  }
}

void CatalogWorld::Publish(size_t node) {
  for (Object& object : nodes_[node].writer->TakeObjects()) {
    nodes_[node].epoch.push_back(object);
    Send(node, std::move(object));
  }
}

void CatalogWorld::Restart(size_t node) {
  Note("restart " + std::to_string(node));
  ++counts_.restarts;
  ++boots_[node];
  nodes_[node].writer = std::make_unique<CatalogWriter>();
  nodes_[node].epoch.clear();
  feeds_[node].reset();
  feeds_[node] = *IndexFeed::Open(index_);
}

void CatalogWorld::Send(size_t node, Object object) {
  if (random_.Happens(faults_.lose)) {
    ++counts_.lost;
    return;
  }
  if (random_.Happens(faults_.damage)) {
    ++counts_.damaged;
    std::string bytes = object.payload.ToString();
    const uint64_t bit = random_.Below(8);
    char& damaged = bytes[random_.Below(bytes.size())];
    damaged = static_cast<char>(damaged ^ (1 << bit));
    object.payload = Bytes::Of(bytes);
  }
  const Packet packet{node, boots_[node], std::move(object)};
  const uint64_t copies = random_.Happens(faults_.repeat) ? 2 : 1;
  counts_.repeated += copies - 1;
  for (uint64_t i = 0; i < copies; ++i) {
    const bool delayed = random_.Happens(faults_.delay);
    counts_.delayed += delayed ? 1 : 0;
    const size_t ahead = delayed ? random_.Below(network_.size() + 1) : network_.size();
    network_.insert(network_.begin() + static_cast<std::ptrdiff_t>(ahead), packet);
  }
}

void CatalogWorld::DeliverSome(size_t packets) {
  for (; packets > 0 && !network_.empty(); --packets) {
    const Packet packet = std::move(network_.front());
    network_.pop_front();
    Deliver(packet);
  }
}

void CatalogWorld::Deliver(const Packet& packet) {
  if (packet.boot != boots_[packet.node]) {
    return;  // A subscription to a track that ended with its node.
  }
  ++counts_.delivered;
  IndexFeed& feed = *feeds_[packet.node];
  const Result<void> taken = feed.OnObject(packet.object.location, packet.object.payload);
  Note("deliver " + std::to_string(packet.node) + packet.object.location.ToString() +
       (taken.ok() ? "" : taken.error().message()));
  if (!taken.ok()) {
    feed.Restart();
    Refetch(packet.node);
  } else if (feed.missed()) {
    Refetch(packet.node);
  }
}

// A fetch goes over a stream, which loses nothing; the damage was on its way to the client's
// memory.
void CatalogWorld::Refetch(size_t node) {
  ++counts_.refetches;
  IndexFeed& feed = *feeds_[node];
  for (const Object& object : nodes_[node].epoch) {
    if (object.location >= feed.wanted()) {
      KVCAST_CHECK(feed.OnObject(object.location, object.payload).ok());
    }
  }
}

std::string CatalogWorld::CheckPlaces() const {
  for (uint64_t track = 0; track < kTracks; track += 2) {
    const PrefixMatch match = index_.LongestMatch(places_.prompt(track));
    for (uint64_t group = 0; group < match.end(); ++group) {
      for (const BlockSource& source : index_.Sources(match, group)) {
        const bool right =
            source.group == group && source.bytes == 1000 + group &&
            (source.track == places_.name(track) || source.track == places_.name(track + 1));
        if (!right) {
          return "The index has " + source.track.Render() + " for a block it never held.";
        }
      }
    }
  }
  return "";
}

std::string CatalogWorld::CheckAllKnown() const {
  using Place = std::tuple<uint32_t, TrackName, uint64_t>;
  std::vector<Place> held;
  for (size_t node = 0; node < kNodes; ++node) {
    for (const auto& [id, track] : nodes_[node].writer->holdings().tracks()) {
      for (const auto& [group, block] : track.groups) {
        held.emplace_back(static_cast<uint32_t>(feeds_[node]->node()), track.name, group);
      }
    }
  }
  std::vector<Place> known;
  for (uint64_t track = 0; track < kTracks; track += 2) {
    const PrefixMatch match = index_.LongestMatch(places_.prompt(track));
    for (uint64_t group = 0; group < match.end(); ++group) {
      for (const BlockSource& source : index_.Sources(match, group)) {
        known.emplace_back(static_cast<uint32_t>(source.node), source.track, source.group);
      }
    }
  }
  std::ranges::sort(held);
  std::ranges::sort(known);
  return held == known ? "" : "After the faults stopped, the index knows other than what is held.";
}

}  // namespace kvcast::sim
