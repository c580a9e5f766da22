#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kvcast/client/publication.h"
#include "kvcast/client/value_outcome.h"

namespace kvcast {

// What a publication's end means for each of these blocks of it. REQUIRES: over().
std::vector<ValueOutcome> PutOutcomes(const Publication& publication,
                                      std::span<const size_t> blocks);

}  // namespace kvcast
