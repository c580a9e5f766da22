#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kvcast/catalog/catalog_feed.h"
#include "kvcast/catalog/holdings.h"
#include "kvcast/catalog/reader.h"

namespace kvcast {

// That a node holds a block, or does not any longer.
struct HoldingsChange {
  bool added = false;
  TrackName track;
  uint64_t group = 0;
  Holdings::Block block;
  friend bool operator==(const HoldingsChange&, const HoldingsChange&) = default;
};

// What one node holds, in full and by name, for who shows it to people; and what changes of it.
//
// An epoch that begins again tells everything anew. What it says is compared with what was known
// before, so that only real changes are told; until all of it is known, nothing is.
class HoldingsFeed : public CatalogFeed {
 public:
  explicit HoldingsFeed(CatalogLimits limits = {}) : limits_(limits), holdings_(limits) {}

  Result<void> OnObject(Location location, const Bytes& payload) override;
  Location wanted() const override { return reader_.wanted(); }
  bool missed() const override { return reader_.missed(); }
  bool synced() const override { return reader_.synced(); }
  void Restart() override;

  // As far as it is known.
  const Holdings& holdings() const { return holdings_; }
  // Since the last call. The first that are told are all that the node held when it was first
  // known. In no particular order where an epoch began.
  std::vector<HoldingsChange> TakeChanges();
  // The node has gone: what it was told to hold is told as removed.
  void End();

 private:
  // Keeps what was told until the new is known.
  void BeginAgain();
  void Note(const CatalogRecord& record);
  void TellDifference();

  CatalogLimits limits_;
  CatalogReader reader_;
  Holdings holdings_;
  std::optional<Holdings> told_ = Holdings();  // While what is held is not yet known in full.
  bool broken_ = false;
  std::vector<HoldingsChange> changes_;
};

}  // namespace kvcast
