#pragma once

#include <cstddef>
#include <span>

#include "kvcast/base/digest.h"

namespace kvcast {

// Bytes that nobody can guess, from the machine: for generations, boot ids and the names of
// temporary files. A machine that has none to give stops the process, because a generation that
// is drawn twice would give one name two payloads.
void FillRandom(std::span<std::byte> bytes);
// As many of them as a secret has.
Digest RandomDigest();

}  // namespace kvcast
