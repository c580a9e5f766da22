// Any bytes: golden vectors, or an error.
#include "kvcast/base/check.h"
#include "kvcast/base/golden_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = kvcast::GoldenFile::Parse({reinterpret_cast<const char*>(data), size});
  if (!file.ok()) {
    KVCAST_CHECK(file.error().offset().value_or(size + 1) <= size);
    return 0;
  }
  for (const kvcast::GoldenCase& golden : file->cases) {
    KVCAST_CHECK(golden.in.is_object());
  }
  return 0;
}
