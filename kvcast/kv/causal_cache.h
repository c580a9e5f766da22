#pragma once

#include "kvcast/base/result.h"
#include "kvcast/kv/config_text.h"

namespace kvcast {

// Unsupported: the KV of a token depends on more than the tokens up to it, by the configuration.
// Names cover a prefix and nothing after it, so two prompts that go on differently would share what
// is not equal.
Result<void> RefuseBeyondPrefix(const ConfigText& text);

}  // namespace kvcast
