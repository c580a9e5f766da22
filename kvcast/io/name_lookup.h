#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/io/event_loop.h"
#include "kvcast/io/socket_address.h"

namespace kvcast {

// The addresses of a host, asked for in the network on a thread of its own, since that may take
// seconds. Belongs to the loop's thread; destroying it means that nobody wants to know.
class NameLookup {
 public:
  using Places = Result<std::vector<SocketAddress>>;
  // `tell` is called once, from the loop, and may destroy this.
  NameLookup(EventLoop& loop, const std::string& host_and_port, std::function<void(Places)> tell);
  ~NameLookup();
  NameLookup(const NameLookup&) = delete;
  NameLookup& operator=(const NameLookup&) = delete;

 private:
  struct Question;
  std::shared_ptr<Question> question_;
};

}  // namespace kvcast
