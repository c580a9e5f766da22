#pragma once

#include "kvcast/base/result.h"
#include "kvcast/kv/config_text.h"

namespace kvcast {

// Unsupported: the code of the family that `part` names caches something else than keys and values
// of every layer, and `text` has no member that says otherwise. A family's files may leave out
// whatever equals its defaults, so that RefuseUnknownCache() finds nothing in them.
Result<void> RefuseFamilyCache(const ConfigText& part, const ConfigText& text);

}  // namespace kvcast
