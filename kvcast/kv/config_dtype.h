#pragma once

#include <string_view>

#include "kvcast/base/result.h"
#include "kvcast/kv/config_text.h"
#include "kvcast/kv/model_key.h"

namespace kvcast {

// What an engine computes KV in where nobody tells it otherwise: by the whole configuration, as
// engines ask it first, and by its text part (the same where there is none). Invalid: it does not
// say, says two things, or says that KV is quantized, which depends on the engine.
Result<KvDtype> UsualKvDtype(const ConfigText& whole, const ConfigText& text);

// Checkpoints of NVIDIA's ModelOpt say so in a file of their own beside config.json. Invalid, too:
// it says that KV is quantized.
inline constexpr std::string_view kQuantConfigFile = "hf_quant_config.json";
Result<void> CheckQuantConfig(std::string_view text);

}  // namespace kvcast
