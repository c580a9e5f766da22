// Any bytes as a file: tensors that lie within it and fill it, or an error with an offset.
// Inputs of up to 65536 bytes: headers of many layers.
#include "kvcast/base/check.h"
#include "kvcast/kv/kv_file.h"
#include "kvcast/kv/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> file = std::as_bytes(std::span(data, size));
  const auto safetensors = kvcast::Safetensors::Parse(file);
  const auto whole = kvcast::Safetensors::CheckWhole(file, size);
  KVCAST_CHECK(whole.ok() || whole.error().offset().value_or(size + 1) <= size);
  // The front is all that it looks at.
  if (const auto front = kvcast::Safetensors::FrontBytes(file, size); front.ok()) {
    KVCAST_CHECK(*front <= size);
    KVCAST_CHECK(kvcast::Safetensors::CheckWhole(file.first(*front), size).ok() == whole.ok());
  }
  // It asks for less: whatever can be read is whole.
  KVCAST_CHECK(whole.ok() || !safetensors.ok());
  if (!safetensors.ok()) {
    KVCAST_CHECK(safetensors.error().offset().value_or(size + 1) <= size);
    KVCAST_CHECK(!kvcast::KvFile::Parse(file).ok());
    return 0;
  }
  for (const auto& [name, tensor] : safetensors->tensors()) {
    KVCAST_CHECK(tensor.data.empty() ||
                 (tensor.data.data() >= file.data() &&
                  tensor.data.data() + tensor.data.size() <= file.data() + size));
  }
  const auto kv = kvcast::KvFile::Parse(file);
  if (!kv.ok()) {
    KVCAST_CHECK(kv.error().offset().value_or(size + 1) <= size);
    return 0;
  }
  (void)kv->CheckValues().ok();  // It may say a sum and not come to it; all of it can be read.
  size_t bytes = 0;
  for (size_t layer = 0; layer < kv->layers().size(); ++layer) {
    bytes += kv->Values(layer, kvcast::Plane::kKey).size();
    const std::span<const std::byte> queries = kv->Queries(layer);
    KVCAST_CHECK(queries.empty() || (queries.data() >= file.data() &&
                                     queries.data() + queries.size() <= file.data() + size));
    KVCAST_CHECK(queries.empty() == (kv->QueryHeads(layer) == 0));
    if (kv->layers()[layer].value_size > 0) {
      bytes += kv->Values(layer, kvcast::Plane::kValue).size();
    }
  }
  KVCAST_CHECK(bytes == kv->bytes_per_token() * kv->tokens());
  // What we would write is what we read.
  const auto plan = kvcast::KvFilePlan::Of(kv->layers(), kv->type(), kv->tokens(), kv->metadata());
  KVCAST_CHECK(plan.ok() && plan->file_bytes() - plan->header().size() == bytes);
  return 0;
}
