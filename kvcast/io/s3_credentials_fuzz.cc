// Any bytes as a file of credentials: those of a profile, without a line's end in them, or none.
#include "kvcast/base/check.h"
#include "kvcast/io/s3_credentials.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const std::string_view profile : {"default", "a", ""}) {
    const auto found = kvcast::ParseS3Credentials(text, profile);
    if (found.ok()) {
      KVCAST_CHECK(!found->access_key.empty() && !found->secret_key.empty());
      KVCAST_CHECK((found->access_key + found->secret_key).find('\n') == std::string::npos);
    }
  }
  return 0;
}
