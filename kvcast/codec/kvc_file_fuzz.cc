// Any bytes: a coded cache whose payloads all lie within it, or an error.
#include "kvcast/base/check.h"
#include "kvcast/codec/kvc_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> input = std::as_bytes(std::span(data, size));
  const auto file = kvcast::KvcFile::Parse(input);
  if (!file.ok()) {
    return 0;
  }
  std::string again = kvcast::KvcOpening(file->format());
  size_t payload_bytes = 0;
  for (size_t block = 0; block < file->blocks(); ++block) {
    for (size_t object = 0; object < file->objects_per_block(); ++object) {
      const std::span<const std::byte> payload = file->Payload(block, object);
      KVCAST_CHECK(payload.data() >= input.data() &&
                   payload.data() + payload.size() <= input.data() + input.size());
      payload_bytes += payload.size();
    }
  }
  KVCAST_CHECK(payload_bytes + again.size() <= size + again.size());
  return 0;
}
