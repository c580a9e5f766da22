// Any bytes as a file that a node or a tool of ours is given: who may do what, what engines asked
// for, how long and until when. Something within bounds, or an error.
#include "kvcast/base/check.h"
#include "kvcast/host/request_trace.h"
#include "kvcast/host/token_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)kvcast::TokenFile::Parse(text).ok();
  (void)kvcast::ParseTerm(text).ok();
  (void)kvcast::ParseTimeOfDay(text).ok();
  const auto trace = kvcast::ParseRequestTrace(text);
  if (trace.ok()) {
    size_t blocks = 0;
    for (const auto& request : trace->requests) {
      blocks += request.size();
      for (const uint64_t block : request) {
        KVCAST_CHECK(block < trace->distinct_count);
      }
    }
    KVCAST_CHECK(blocks == trace->block_count && trace->distinct_count <= blocks);
  }
  return 0;
}
