#pragma once

#include <cstddef>
#include <cstdint>

#include "kvcast/moqt/id_runs.h"

namespace kvcast::moqt {

// The request ids that a peer has used. They rise by two, but arrive in any order, and some never
// do because their stream was reset; none may come twice.
//
// Whatever was used is known for good. What was left out is not: an id that comes after all is new
// as long as its gap is remembered, and one of the oldest gap counts as used once there are too
// many. For a peer that keeps to the draft it takes as many others that are reset unread, and far
// more than it may have open, to overtake one that still comes.
class RequestIds {
 public:
  static constexpr size_t kGapsMax = 16 * 1024;

  // `first` is the peer's first id: 0 for a client, 1 for a server.
  explicit RequestIds(uint64_t first) : first_(first) {}

  // False if the id cannot be the peer's, was used before, or nobody can tell any more.
  bool Add(uint64_t id);

  // Whether Add() would say so of one of the peer's.
  bool Has(uint64_t id) const { return runs_.Contains(id / 2); }

  // The smallest id above all that were used, or the last that there is.
  uint64_t next() const;

 private:
  uint64_t first_;
  IdRuns runs_{kGapsMax + 2};  // By their place among the peer's, half of the id.
};

}  // namespace kvcast::moqt
