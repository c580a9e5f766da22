#pragma once

#include "kvcast/base/metrics.h"
#include "kvcast/moqt/codes.h"
#include "kvcast/object/object.h"

namespace kvcast::relay {

// What a relay counts.
class RelayMetrics {
 public:
  explicit RelayMetrics(Metrics& metrics);

  void Received(const Object& object);
  void Sent(const Object& object);
  void Refused(moqt::RequestCode code);

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
};

}  // namespace kvcast::relay
