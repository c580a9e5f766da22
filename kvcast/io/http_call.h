#pragma once

#include <string>

#include "kvcast/base/result.h"
#include "kvcast/base/time.h"
#include "kvcast/io/http_server.h"
#include "kvcast/io/socket_address.h"

namespace kvcast {

// What is asked of a node's admin port by a command of ours.
struct HttpCall {
  std::string method = "GET";
  std::string path = "/";
  std::string token{};  // Sent as a bearer, unless it is empty.
  std::string body{};   // JSON.
};

// Asks, and waits for the answer; each step has so long. Not for a loop's thread. Machine: nobody
// answers there. Malformed: what does speaks no HTTP, or says more than 16 MiB.
Result<HttpAnswer> CallHttp(const SocketAddress& server, const HttpCall& call, Duration patience);

}  // namespace kvcast
