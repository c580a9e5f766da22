#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "kvcast/base/metrics.h"
#include "kvcast/base/time.h"
#include "kvcast/moqt/codes.h"
#include "kvcast/object/object.h"
#include "kvcast/store/store.h"

namespace kvcast::relay {

// A counter that does not count while the relay is muted.
class Tally {
 public:
  Tally(Counter& counter, const bool& muted) : counter_(&counter), muted_(&muted) {}
  void Add(uint64_t amount = 1) { counter_->Add(*muted_ ? 0 : amount); }

 private:
  Counter* counter_;
  const bool* muted_;
};

// What was asked of others.
struct UpstreamTallies {
  UpstreamTallies(Metrics& metrics, const bool& muted);

  Tally fetches;
  Tally objects;
  Tally bytes;
  Tally coalesced;
  Tally failures;
  Tally prefixes_refused;
  Tally tracks_blocked;
  Tally offers_refused;
};

// What comes of peers, before it is whole.
struct ReceptionTallies {
  ReceptionTallies(Metrics& metrics, const bool& muted);

  Gauge& bytes;
  Tally refused;
};

// What a relay counts.
class RelayMetrics {
 public:
  explicit RelayMetrics(Metrics& metrics);
  RelayMetrics(const RelayMetrics&) = delete;
  RelayMetrics& operator=(const RelayMetrics&) = delete;

  // From now on nothing is counted, or all is again. What is there is shown when all is.
  void Mute(bool muted) { muted_ = muted; }

  void Received(const Object& object);
  void Sent(const Object& object);
  void Refused(moqt::RequestCode code);
  // A fetch was handed to its connection, so long after it was asked for.
  void Fetched(Duration took);
  // One got less than it asked for.
  void Missed(std::string_view reason);
  // What the store has counted.
  void Show(const StoreCounts& counts, uint64_t demoting_bytes, size_t reads_waiting);

 private:
  bool muted_ = false;
  Metrics* metrics_;
  Tally objects_received_;
  Tally bytes_received_;
  Tally objects_sent_;
  Tally bytes_sent_;
  Histogram& fetch_seconds_;

 public:
  Tally publications;
  Tally subscriptions;
  Tally subscriptions_cut;
  Tally tracks_blocked;
  Tally fetches;
  Tally fetches_cut;
  Tally unauthorized;
  Tally prefixes_refused;
  Tally malformed_tracks;
  Tally groups_evicted;
  Tally objects_expired;
  Tally blocks_unlisted;
  UpstreamTallies upstream;
  ReceptionTallies receptions{*metrics_, muted_};
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
