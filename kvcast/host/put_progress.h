#pragma once

#include <algorithm>
#include <cstddef>

#include "kvcast/client/publication.h"

namespace kvcast {

// How far a publication is, in blocks. What was handed to the session is on its way at best: a
// block is done when nobody has to wait for it any more.
struct PutProgress {
  size_t done = 0;
  size_t all = 0;

  static PutProgress Of(const PublishReport& report, Durability asked) {
    return {asked == Durability::kMemory ? report.listed : std::min(report.listed, report.durable),
            report.blocks - report.skipped};
  }
};

}  // namespace kvcast
