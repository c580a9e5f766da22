#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "kvcast/base/result.h"

namespace kvcast {

// What is asked of an HTTP/1 server: the part of a request before its body, and the body once it is
// there.
struct HttpRequest {
  std::string method;
  std::string path;  // "/metrics", as it is written; without what stands behind a question mark.
  std::string query;
  std::string host;             // "localhost:4480"; empty if an HTTP/1.0 client names none.
  std::string authorization;    // "Bearer ...", as it is written.
  bool has_body = false;        // Of a length that is told, or not.
  uint64_t content_length = 0;  // As it is told; 0 where nothing is, or it is sent in chunks.
  std::string body{};           // The server adds it.

  // What stands behind "Bearer "; empty if nothing does.
  std::string_view bearer() const;

  // Where the head of a request ends in what has come so far; npos if it has not ended yet.
  static size_t EndOfHead(std::string_view received);
  // Malformed: it is no request that a server should answer with anything but 400.
  static Result<HttpRequest> Parse(std::string_view head);

  // Whether it was meant for this machine and nobody else. A page that a browser has loaded from
  // elsewhere can have it send requests here, under a name of its own that leads here.
  bool IsForLoopback() const;
};

}  // namespace kvcast
