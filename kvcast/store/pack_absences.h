#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "kvcast/base/time.h"
#include "kvcast/store/bucket_calls.h"
#include "kvcast/store/pack_table.h"

namespace kvcast {

// Packs that listings have ceased to show. Another node, or a rule of the bucket, may have deleted
// them; or the listings are old, and lack what is there. Only a read tells: a pack that several
// whole listings in a row do not show is asked for a byte, and has gone if there is no such key.
class PackAbsences {
 public:
  // A listing begins: what is found from now on it need not show.
  void Begin(const PackTable& table);
  // It shows this pack.
  void OnShown(Pack& pack) const { pack.shown_in = listing_; }
  // It has come to its end, and nothing of it is missing.
  void OnListed(PackTable& table);

  // Asks for those that were missed.
  void Start(const PackTable& table, BucketCalls& calls, Instant now);
  // False: not of these.
  bool OnEnded(const BucketCalls::Ended& ended, PackTable& table);
  // Packs that are not there.
  std::vector<uint32_t> TakeGone();

  bool idle() const { return missed_.empty() && asked_.empty(); }

 private:
  uint64_t listing_ = 0;
  uint32_t known_up_to_ = 0;      // The last segment that it should show.
  std::vector<uint32_t> missed_;  // To be asked for.
  std::map<BucketCalls::Id, uint32_t> asked_;
  std::vector<uint32_t> gone_;
};

}  // namespace kvcast
