#pragma once

#include <string_view>

#include "kvcast/base/error.h"

namespace kvcast {

// What the operating system said, as a sentence that ends in what to do about it:
//
//   SystemError("Cannot open it", ENOENT).In(path)
//   model/config.json: Cannot open it: No such file or directory. Check the path.
//
// The code is kNotFound for what is not there and kMachine for everything else.
Error SystemError(std::string_view what, int error_number);

}  // namespace kvcast
