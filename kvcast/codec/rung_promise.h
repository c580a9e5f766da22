#pragma once

#include <optional>

#include "kvcast/kv/rung.h"

namespace kvcast {

// A rung promises how much of a model's values it keeps. The exact ones promise all of them.
bool IsExact(Rung rung);

// Whether values that came at one rung, and those that were computed on them, may be published at
// another: at one that promises no more than they keep. Whatever came exactly may be published at
// any. See docs/design/names.md.
bool KeepsPromise(Rung came, Rung published);

// The one that promises less, where there are two.
std::optional<Rung> LessTrue(std::optional<Rung> one, std::optional<Rung> other);

}  // namespace kvcast
