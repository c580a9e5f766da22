// Any bytes as a weight index: plain names in rising order, or an error. As the configuration of an
// adapter, or of a quantization: taken or not, and told where.
// Inputs of up to 16384 bytes: indexes of many parts.
#include <algorithm>

#include "kvcast/base/check.h"
#include "kvcast/kv/config_dtype.h"
#include "kvcast/kv/model_files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view index(reinterpret_cast<const char*>(data), size);
  const auto files = kvcast::WeightFiles({"a.safetensors", "b.safetensors"}, index);
  if (files.ok()) {
    KVCAST_CHECK(!files->empty() && std::ranges::is_sorted(*files));
  } else {
    // What lies beside the weights is no fault of the index, which has no place to tell then.
    const bool of_the_folder = files.error().code() == kvcast::ErrorCode::kInvalid;
    KVCAST_CHECK(files.error().offset().value_or(of_the_folder ? 0 : size + 1) <= size);
  }
  for (const auto check : {kvcast::CheckAdapterConfig, kvcast::CheckQuantConfig}) {
    const kvcast::Result<void> checked = check(index);
    KVCAST_CHECK(checked.ok() || checked.error().offset().value_or(size + 1) <= size);
  }
  return 0;
}
