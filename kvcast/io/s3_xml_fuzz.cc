// Any bytes as a server's answer: refused, or a listing or an error within bounds.
#include "kvcast/base/check.h"
#include "kvcast/io/s3_xml.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view xml(reinterpret_cast<const char*>(data), size);
  const auto listing = kvcast::ParseS3Listing(xml);
  if (listing.ok()) {
    for (const auto& entry : listing->entries) {
      KVCAST_CHECK(!entry.key.empty() && entry.key.size() <= 1024);
    }
  }
  const auto failure = kvcast::ParseS3Error(xml);
  KVCAST_CHECK(!listing.ok() || !failure.ok());
  return 0;
}
