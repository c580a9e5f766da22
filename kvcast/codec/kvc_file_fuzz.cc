// Any bytes: a coded cache whose payloads all lie within it, or an error.
#include "kvcast/base/bytes.h"
#include "kvcast/base/check.h"
#include "kvcast/codec/kvc_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> input = std::as_bytes(std::span(data, size));
  const auto file = kvcast::KvcFile::Parse(input);
  if (!file.ok()) {
    return 0;
  }
  // Written again, it says the same: payloads, and how they are coded.
  std::string again = kvcast::KvcOpening(file->format());
  for (size_t block = 0; block < file->blocks(); ++block) {
    for (size_t object = 0; object < file->objects_per_block(); ++object) {
      const std::span<const std::byte> payload = file->Payload(block, object);
      const auto token = static_cast<uint32_t>(object * file->format().run_tokens);
      again += kvcast::KvcObjectOpening(file->format(), token, payload.size());
      again += kvcast::AsText(payload);
    }
  }
  const auto read = kvcast::KvcFile::Parse(kvcast::AsBytes(again));
  KVCAST_CHECK(read.ok() && read->format() == file->format() && read->blocks() == file->blocks());
  return 0;
}
