#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace kvcast::moqt {

// The request ids that a peer has used. They rise by two, but arrive in any order, and some never
// do because their stream was reset; none may come twice.
class RequestIds {
 public:
  // `first` is the peer's first id: 0 for a client, 1 for a server.
  explicit RequestIds(uint64_t first) : first_(first) {}

  // False if the id cannot be the peer's or was used before. Gaps are remembered, but not without
  // end: beyond a thousand, nothing is known of the ids between the oldest and the last that was
  // forgotten, and they count as new.
  bool Add(uint64_t id);

  // Whether it was used for certain.
  bool Has(uint64_t id) const;

  // The smallest id above all that were used.
  uint64_t next() const;

 private:
  uint64_t first_;
  std::map<uint64_t, uint64_t> runs_;  // First to last, of ids without a gap.
  // From the first gap that was forgotten to the last, both included.
  std::optional<std::pair<uint64_t, uint64_t>> forgotten_;
};

}  // namespace kvcast::moqt
