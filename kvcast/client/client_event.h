#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

#include "kvcast/client/load_report.h"
#include "kvcast/client/publication.h"

// What a client tells whoever drives it.
namespace kvcast {

// Names a publication or a load of one client.
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

using ClientEvent =
    std::variant<NodeReady, NodeLost, PublishProgress, PublishEnded, LoadProgress, LoadEnded>;

}  // namespace kvcast
