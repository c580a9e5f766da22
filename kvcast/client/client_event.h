#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "kvcast/client/load_report.h"
#include "kvcast/client/prefetching.h"
#include "kvcast/client/publication.h"
#include "kvcast/client/value_outcome.h"

// What a client tells whoever drives it.
namespace kvcast {

// Names a publication, a load, or a batch of values of one client.
using OperationId = uint64_t;

// What the node holds is known now, as far as it tells: Find() means something from here on.
struct NodeReady {};
// The session is over. Told before every operation ends for it; every later one ends at once.
struct NodeLost {
  std::string reason;
};
struct PublishProgress {
  OperationId operation;
  PublishReport report;
};
// The pages are not read any more.
struct PublishEnded {
  OperationId operation;
  PublishReport report;
};
// So many blocks of the plan are loaded, without a hole, and stay so.
struct LoadProgress {
  OperationId operation;
  size_t blocks;
};
// The pages are not written to any more.
struct LoadEnded {
  OperationId operation;
  LoadReport report;
};

// Nothing more is fetched.
struct PrefetchEnded {
  OperationId operation;
  PrefetchReport report;
};
// Their memory is neither read nor written to any more. Of each, in the order they were given.
struct ValuesEnded {
  OperationId operation;
  std::vector<ValueOutcome> outcomes;
};

using ClientEvent = std::variant<NodeReady, NodeLost, PublishProgress, PublishEnded, LoadProgress,
                                 LoadEnded, ValuesEnded, PrefetchEnded>;

}  // namespace kvcast
