#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "kvcast/base/result.h"
#include "kvcast/base/time.h"
#include "kvcast/io/http_request.h"
#include "kvcast/io/loop_thread.h"
#include "kvcast/io/socket_address.h"

namespace kvcast {

struct HttpAnswer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
  std::string allow{};  // With 405: what would have been right.
};

// A small HTTP/1 server on a thread of its own, for pages that people and monitors read. It gives
// one answer to a connection, takes GET and HEAD without a body and POST with a small one, and is
// meant for loopback: whatever a client does, it costs no more than the options say.
class HttpServer {
 public:
  struct Options {
    SocketAddress listen;
    size_t connections_max = 32;  // Further clients are hung up on.
    size_t head_bytes_max = 8192;
    size_t body_bytes_max = 8192;
    Duration read_patience = std::chrono::seconds(5);
    // How long whoever is asked may take: then the client is told that the node does not answer.
    Duration answer_patience = std::chrono::seconds(2);
    Duration write_patience = std::chrono::seconds(10);
  };
  // To be called once, on any thread; one that comes too late is for nobody.
  using Reply = std::function<void(HttpAnswer)>;
  // Called on the server's thread: must not wait for anything.
  using Handler = std::function<void(const HttpRequest&, Reply)>;

  // Machine: the address is not to be had.
  static Result<std::unique_ptr<HttpServer>> Start(const Options& options, Handler handler);
  // Nobody is called any more.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  const SocketAddress& local() const { return local_; }

 private:
  class Connection;
  // What replies from other threads find their way by, while there is one.
  struct Gate;

  HttpServer(const Options& options, Handler handler);
  Result<void> Listen();
  void Accept();
  void OnReply(uint64_t connection, const HttpAnswer& answer);
  void Bury();
  // Stops accepting for a moment, and begins again.
  void Rest();

  Options options_;
  Handler handler_;
  SocketAddress local_;
  std::shared_ptr<Gate> gate_;
  std::unique_ptr<LoopThread> thread_;
  // These belong to the thread.
  Descriptor socket_;
  std::unique_ptr<LoopWatch> watch_;
  std::unique_ptr<LoopTimer> burial_;
  std::unique_ptr<LoopTimer> rest_;
  std::map<uint64_t, std::unique_ptr<Connection>> connections_;
  uint64_t last_connection_ = 0;
};

}  // namespace kvcast
