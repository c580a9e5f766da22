// Any bytes as an HTTP request: refused, or a request whose parts are plain text.
#include "kvcast/base/check.h"
#include "kvcast/io/http_request.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t end = kvcast::HttpRequest::EndOfHead(text);
  KVCAST_CHECK(end == std::string_view::npos || end <= size);
  const auto request = kvcast::HttpRequest::Parse(text);
  if (request.ok()) {
    KVCAST_CHECK(request->path.starts_with('/') && !request->method.empty());
    for (const char c : request->path + request->query + request->host) {
      KVCAST_CHECK(c >= 0x20 && c < 0x7f);
    }
    (void)request->IsForLoopback();
  }
  return 0;
}
