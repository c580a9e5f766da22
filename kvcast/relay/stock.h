#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "kvcast/base/log.h"
#include "kvcast/base/result.h"
#include "kvcast/relay/catalogs.h"
#include "kvcast/relay/expiry_book.h"
#include "kvcast/relay/limits.h"
#include "kvcast/relay/relay_metrics.h"
#include "kvcast/store/ram_tier.h"

namespace kvcast::relay {

// What a node has, and what it tells of it: the tier and the catalogs, kept in step. A group is
// listed once it is whole, if its first object carries a key; it is unlisted when it is evicted, or
// any object of it may be kept no longer.
class Stock {
 public:
  Stock(size_t ram_bytes, const NodeId& node, const BootId& boot, const Limits& limits,
        RelayMetrics& metrics, Log log)
      : tier_(ram_bytes), catalogs_(node, boot, limits), metrics_(&metrics), log_(std::move(log)) {}

  RamTier& tier() { return tier_; }
  const Catalogs& catalogs() const { return catalogs_; }
  const TrackFacts* Find(const TrackName& track) const { return tier_.Find(track); }

  // As the tier has them.
  Result<void> Describe(const TrackName& track, const Properties& properties,
                        std::optional<Location> largest) {
    return tier_.Describe(track, properties, largest);
  }
  // Until `expires`, if that is given: from then on nobody can tell whether the object exists.
  Result<bool> Keep(const TrackName& track, const Object& object,
                    std::optional<Instant> expires = std::nullopt);
  // Gives up what may be kept no longer.
  void Expire(Instant now);
  std::optional<Instant> next_expiry() const { return expiries_.next(); }
  Result<void> EndGroup(const TrackName& track, uint64_t group, uint64_t end);
  // The last object that came is the track's last.
  Result<void> EndTrack(const TrackName& track);
  Result<void> EndTrack(const TrackName& track, Location end) { return tier_.EndTrack(track, end); }

  // Brings the catalogs up to date. Their new objects are in the tier; what is left is to tell
  // those who follow them.
  std::vector<CatalogChange> Settle();
  // Tracks that have lost their last group since the last call.
  std::vector<TrackName> TakeEmptied() { return std::exchange(emptied_, {}); }
  void Forget(const TrackName& track) { (void)tier_.Forget(track); }

 private:
  void ListIfWhole(const TrackName& track, uint64_t group);
  void UnlistEvicted();
  void Unlist(const TrackName& track, uint64_t group);
  void KeepCatalog(const CatalogChange& change);

  RamTier tier_;
  Catalogs catalogs_;
  ExpiryBook expiries_;
  RelayMetrics* metrics_;
  Log log_;
  std::vector<TrackName> emptied_;
};

}  // namespace kvcast::relay
