#pragma once

#include <cstdint>
#include <optional>

#include "kvcast/base/bytes.h"
#include "kvcast/base/result.h"
#include "kvcast/catalog/record.h"
#include "kvcast/object/location.h"

namespace kvcast {

// A reader's side of a catalog: takes the track's objects as they come and gives its records in
// order, none twice and none left out.
class CatalogReader {
 public:
  struct Update {
    bool restart = false;  // Forget all that was said before: an epoch begins.
    CatalogRecords records;
  };

  // Objects of an older epoch and those already seen give an empty update; so does one that comes
  // too early, and then missed() is true. A malformed object is an error, and everything until the
  // next epoch is then ignored: what it said is not known.
  Result<Update> OnObject(Location location, const Bytes& payload);

  // The next object it can use; fetch from here when objects were missed.
  Location wanted() const { return wanted_; }
  // Objects after wanted() have arrived: a delta was lost on the way.
  bool missed() const { return missed_; }
  // The snapshot is complete, so what is not listed is not held.
  bool synced() const { return synced_; }
  // Begin again with the first object of the epoch, as after an error.
  void Restart();

 private:
  Result<Update> Take(Location location, const Bytes& payload);

  Location wanted_;
  bool broken_ = false;
  bool missed_ = false;
  bool synced_ = false;
  uint32_t snapshot_parts_ = 0;
};

}  // namespace kvcast
