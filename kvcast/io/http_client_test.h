#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>

#include "kvcast/io/descriptor.h"
#include "kvcast/io/socket_address.h"

namespace kvcast {

// A client that sends what it likes, and reads until the other side closes.
class HttpClient {
 public:
  explicit HttpClient(const SocketAddress& server)
      : socket_(::socket(server.is_v6() ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    EXPECT_EQ(::connect(socket_.number(), server.get(), server.length()), 0);
  }
  void Send(const std::string& text) {
    (void)::send(socket_.number(), text.data(), text.size(), MSG_NOSIGNAL);
  }
  std::string ReadAll() {
    std::string all;
    std::array<char, 4096> room{};
    for (ssize_t count = 1; count > 0;) {
      count = ::recv(socket_.number(), room.data(), room.size(), 0);
      all.append(room.data(), static_cast<size_t>(std::max<ssize_t>(count, 0)));
    }
    return all;
  }

  // The whole answer to a request for a page.
  static std::string Get(const SocketAddress& server, const std::string& path,
                         const std::string& method = "GET") {
    HttpClient client(server);
    client.Send(method + " " + path + " HTTP/1.1\r\nHost: " + server.ToString() + "\r\n\r\n");
    return client.ReadAll();
  }

 private:
  Descriptor socket_;
};

}  // namespace kvcast
