#pragma once

#include <cstdint>
#include <optional>

#include "kvcast/kv/config_text.h"

namespace kvcast {

// What the code of a family of models knows, and its files may leave out. All by "model_type".

// One KV head serves all.
bool IsUsuallyMultiQuery(const ConfigText& text);
// Every so many layers, one does not slide; absent for other families.
std::optional<uint64_t> UsualWindowPattern(const ConfigText& text);
// A head size, or a number of KV heads, that does not follow from the other counts. It has changed
// with versions of that code, so it is nothing to guess.
bool HasOwnHeadSize(const ConfigText& text);
bool HasOwnKvHeads(const ConfigText& text);
// Its layer types call full attention "attention", and its files keep members of recurrent layers
// where it has none.
bool IsGraniteHybrid(const ConfigText& text);

}  // namespace kvcast
