#include "kvcast/moqt/request_ids.h"

#include <algorithm>
#include <limits>

namespace kvcast::moqt {

bool RequestIds::Add(uint64_t id) {
  if (id % 2 != first_ || Has(id)) {
    return false;
  }
  runs_.Add(id / 2, id / 2);
  if (runs_.run_count() > kGapsMax + 1) {
    runs_.FillLowestGap();
  }
  return true;
}

uint64_t RequestIds::next() const {
  const uint64_t place = runs_.empty() ? 0 : runs_.largest() + 1;
  return 2 * std::min(place, std::numeric_limits<uint64_t>::max() / 2) + first_;
}

}  // namespace kvcast::moqt
