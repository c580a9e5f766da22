#pragma once

#include <string>

#include "kvcast/base/json.h"

namespace kvcast {

// A JSON value in the one spelling that goes into a model's fingerprint, whatever spelling it had:
//
//   'n' | 't' | 'f' | 'i' i64 | 'u' u64 | 'd' f64 | 's' text | 'a' u32 value* | 'o' u32 (text
//   value)* text := u32(len) bytes                keys ascend by their bytes; all little-endian
//
// A double that is a whole number of magnitude at most 2^53 is written as an integer.
std::string CanonicalValue(const Json& value);

}  // namespace kvcast
