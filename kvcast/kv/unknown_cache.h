#pragma once

#include "kvcast/base/result.h"
#include "kvcast/kv/config_text.h"

namespace kvcast {

// Unsupported: the configuration has members that only models have whose cache is not what
// ModelConfig would take it for. A model that is refused costs time, one that is misunderstood
// costs wrong answers.
Result<void> RefuseUnknownCache(const ConfigText& text);

}  // namespace kvcast
