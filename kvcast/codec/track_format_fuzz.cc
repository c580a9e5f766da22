// Any bytes: a format that writes the same bytes again, or an error.
#include "kvcast/base/bytes.h"
#include "kvcast/base/check.h"
#include "kvcast/codec/track_format.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto format = kvcast::TrackFormat::Parse(input);
  if (format.ok()) {
    KVCAST_CHECK(format->Encode() == input);
  }
  return 0;
}
