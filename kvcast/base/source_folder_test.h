#pragma once

namespace kvcast {

// Where the checkout is whose files a test reads. CMake writes the definition, so that nothing but
// that one line is compiled differently in another checkout.
extern const char kSourceFolder[];

}  // namespace kvcast
