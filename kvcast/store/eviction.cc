#include "kvcast/store/eviction.h"

#include <string>

#include "kvcast/store/lfu.h"
#include "kvcast/store/lru.h"
#include "kvcast/store/prefix_eviction.h"
#include "kvcast/store/s3_fifo.h"

namespace kvcast {

Result<std::unique_ptr<Eviction>> MakeEviction(std::string_view name,
                                               const EvictionLimits& limits) {
  std::unique_ptr<Eviction> made;
  if (name == "lru") {
    made = std::make_unique<Lru>();
  } else if (name == "lfu") {
    made = std::make_unique<Lfu>();
  } else if (name == "s3fifo") {
    made = std::make_unique<S3Fifo>(limits);
  } else if (name == "default") {
    made = std::make_unique<PrefixEviction>(limits);
  } else {
    return Error(ErrorCode::kInvalid, "There is no policy '" + std::string(name) +
                                          "'; there are lru, lfu, s3fifo and default.");
  }
  return made;
}

std::vector<std::string_view> EvictionNames() { return {"lru", "lfu", "s3fifo", "default"}; }

}  // namespace kvcast
