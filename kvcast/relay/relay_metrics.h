#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "kvcast/base/metrics.h"
#include "kvcast/moqt/codes.h"
#include "kvcast/object/object.h"
#include "kvcast/store/store.h"

namespace kvcast::relay {

// What a relay counts.
class RelayMetrics {
 public:
  explicit RelayMetrics(Metrics& metrics);

  void Received(const Object& object);
  void Sent(const Object& object);
  void Refused(moqt::RequestCode code);
  // What the store has counted.
  void Show(const StoreCounts& counts, uint64_t demoting_bytes, size_t reads_waiting);

 private:
  Metrics* metrics_;
  Counter& objects_received_;
  Counter& bytes_received_;
  Counter& objects_sent_;
  Counter& bytes_sent_;

 public:
  Counter& publications;
  Counter& subscriptions;
  Counter& subscriptions_cut;
  Counter& fetches;
  Counter& malformed_tracks;
  Counter& groups_evicted;
  Counter& objects_expired;
  Gauge& peers;
  Gauge& blocks_listed;
  Gauge& stored_bytes;
  Gauge& stored_objects;

 private:
  // Counters of the store's own, which only ever grow.
  std::vector<std::pair<uint64_t StoreCounts::*, Counter*>> store_counters_;
  StoreCounts shown_;
  Gauge& demoting_bytes_;
  Gauge& reads_waiting_;
};

}  // namespace kvcast::relay
