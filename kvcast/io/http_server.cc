#include "kvcast/io/http_server.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <mutex>
#include <optional>
#include <utility>

#include "kvcast/io/clock.h"
#include "kvcast/io/system_error.h"

namespace kvcast {
namespace {

constexpr int kWaiting = 64;  // Clients that the kernel keeps waiting.
constexpr Duration kRest = std::chrono::seconds(1);
constexpr const char* kPlainText = "text/plain; charset=utf-8";

const char* ReasonOf(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 413:
      return "Content Too Large";
    case 421:
      return "Misdirected Request";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    default:
      return "Answer";
  }
}

std::string Rendered(const HttpAnswer& answer, bool head_only) {
  std::string text = "HTTP/1.1 " + std::to_string(answer.status) + " " + ReasonOf(answer.status) +
                     "\r\nContent-Type: " + answer.type +
                     "\r\nContent-Length: " + std::to_string(answer.body.size()) +
                     "\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n" +
                     (answer.status == 405 ? "Allow: " + answer.allow + "\r\n" : "") +
                     (answer.status == 401 ? "WWW-Authenticate: Bearer\r\n" : "") +
                     "Connection: close\r\n\r\n";
  return head_only ? text : text + answer.body;
}

}  // namespace

struct HttpServer::Gate {
  std::mutex mutex;
  HttpServer* server = nullptr;  // Null once it is gone.

  void Pass(uint64_t connection, const HttpAnswer& answer) {
    const std::scoped_lock lock(mutex);
    if (server != nullptr) {
      server->OnReply(connection, answer);
    }
  }
};

// A client: its request is read, answered, and that is all.
class HttpServer::Connection {
 public:
  Connection(HttpServer& server, uint64_t id, Descriptor socket)
      : server_(&server),
        id_(id),
        socket_(std::move(socket)),
        timer_(server.thread_->loop(), [this] { OnTooLate(); }) {}

  Result<void> Begin() {
    KVCAST_TRY(watch_, LoopWatch::Make(server_->thread_->loop(), socket_.number(),
                                       [this](LoopWatch::Ready ready) { OnReady(ready); }));
    timer_.Set(Now() + server_->options_.read_patience);
    return {};
  }

  bool over() const { return state_ == State::kOver; }

  void Answer(const HttpAnswer& answer) {
    if (state_ == State::kReading || state_ == State::kAsking) {
      to_send_ = Rendered(answer, head_only_);
      state_ = State::kAnswering;
      timer_.Set(Now() + server_->options_.write_patience);
      Send();
    }
  }

 private:
  enum class State : uint8_t { kReading, kAsking, kAnswering, kEnding, kOver };

  void OnReady(LoopWatch::Ready ready) {
    if (ready.readable && !over()) {
      Receive();
    }
    if (ready.writable && state_ == State::kAnswering) {
      Send();
    }
  }

  void OnTooLate() {
    if (state_ == State::kAsking) {
      Answer({503, "text/plain; charset=utf-8", "The node does not answer.\n"});
    } else {
      End();
    }
  }

  void Receive() {
    std::array<char, 4096> room{};
    const ssize_t count = ::recv(socket_.number(), room.data(), room.size(), 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
      return;
    }
    if (count <= 0) {  // Whoever closes its half before the answer is gone does not want it.
      End();
      return;
    }
    if (state_ != State::kReading) {
      return;  // Nothing more is wanted; it is read so that it does not reset what we send.
    }
    received_.append(room.data(), static_cast<size_t>(count));
    if (!request_) {
      TakeHead();
    }
    if (request_ && state_ == State::kReading && received_.size() >= request_->content_length) {
      request_->body = received_.substr(0, static_cast<size_t>(request_->content_length));
      Ask();
    }
  }

  void TakeHead() {
    const size_t end = HttpRequest::EndOfHead(received_);
    if (std::min(end, received_.size()) > server_->options_.head_bytes_max) {
      Answer({431, kPlainText, "The request is too long.\n"});
      return;
    }
    if (end == std::string::npos) {
      return;
    }
    Result<HttpRequest> request = HttpRequest::Parse(received_.substr(0, end));
    received_.erase(0, end);
    if (!request.ok()) {
      Answer({400, kPlainText, request.error().message() + "\n"});
      return;
    }
    const bool is_post = request->method == "POST";
    if (!request->IsForLoopback()) {
      Answer(
          {421, kPlainText, "This is the page of another machine than the one that was named.\n"});
    } else if (request->method != "GET" && request->method != "HEAD" && !is_post) {
      Answer({405, kPlainText, "Pages can be read, and orders be posted.\n", "GET, HEAD, POST"});
    } else if (request->has_body && !is_post) {
      Answer({413, kPlainText, "A request for a page has no body.\n"});
    } else if (request->content_length > server_->options_.body_bytes_max ||
               (request->has_body && request->content_length == 0)) {
      Answer({413, kPlainText, "A body is short, and its length is told.\n"});
    } else {
      request_ = *std::move(request);
    }
  }

  void Ask() {
    head_only_ = request_->method == "HEAD";
    state_ = State::kAsking;
    timer_.Set(Now() + server_->options_.answer_patience);
    server_->handler_(*request_, [gate = server_->gate_, id = id_](HttpAnswer answer) {
      const std::scoped_lock lock(gate->mutex);
      if (gate->server != nullptr) {
        gate->server->thread_->loop().Post(
            [gate, id, answer = std::move(answer)] { gate->Pass(id, answer); });
      }
    });
  }

  void Send() {
    while (!to_send_.empty()) {
      const ssize_t count =
          ::send(socket_.number(), to_send_.data(), to_send_.size(), MSG_NOSIGNAL);
      if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
        watch_->WantWritable(true);
        return;
      }
      if (count < 0) {
        End();
        return;
      }
      to_send_.erase(0, static_cast<size_t>(count));
    }
    // The client closes when it has read all; what it still sends until then is thrown away.
    watch_->WantWritable(false);
    state_ = State::kEnding;
    ::shutdown(socket_.number(), SHUT_WR);
  }

  void End() {
    if (!over()) {
      state_ = State::kOver;
      timer_.Stop();
      server_->burial_->Set(Now());
    }
  }

  HttpServer* server_;
  uint64_t id_;
  Descriptor socket_;
  std::unique_ptr<LoopWatch> watch_;
  LoopTimer timer_;
  State state_ = State::kReading;
  bool head_only_ = false;
  std::optional<HttpRequest> request_;  // Once its head is there.
  std::string received_;
  std::string to_send_;
};

HttpServer::HttpServer(const Options& options, Handler handler)
    : options_(options), handler_(std::move(handler)), gate_(std::make_shared<Gate>()) {
  gate_->server = this;
}

Result<std::unique_ptr<HttpServer>> HttpServer::Start(const Options& options, Handler handler) {
  std::unique_ptr<HttpServer> server(new HttpServer(options, std::move(handler)));
  KVCAST_TRY(server->thread_, LoopThread::Make());
  Result<void> listening;
  server->thread_->Run([&] { listening = server->Listen(); });
  KVCAST_TRY_VOID(std::move(listening));
  return server;
}

HttpServer::~HttpServer() {
  {
    const std::scoped_lock lock(gate_->mutex);
    gate_->server = nullptr;
  }
  if (thread_ != nullptr) {
    thread_->Run([this] {
      connections_.clear();
      burial_.reset();
      rest_.reset();
      watch_.reset();
    });
  }
}

Result<void> HttpServer::Listen() {
  const SocketAddress& at = options_.listen;
  socket_ = Descriptor(
      ::socket(at.is_v6() ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  sockaddr_storage bound{};
  socklen_t length = sizeof(bound);
  if (!socket_ || ::setsockopt(socket_.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
      ::bind(socket_.number(), at.get(), at.length()) != 0 ||
      ::listen(socket_.number(), kWaiting) != 0 ||
      ::getsockname(socket_.number(), reinterpret_cast<sockaddr*>(&bound), &length) != 0) {
    return SystemError("Cannot serve pages at " + at.ToString(), errno);
  }
  local_ = SocketAddress(reinterpret_cast<const sockaddr*>(&bound), length);
  burial_ = std::make_unique<LoopTimer>(thread_->loop(), [this] { Bury(); });
  rest_ = std::make_unique<LoopTimer>(thread_->loop(), [this] { Rest(); });
  KVCAST_TRY(watch_, LoopWatch::Make(thread_->loop(), socket_.number(),
                                     [this](LoopWatch::Ready) { Accept(); }));
  return {};
}

void HttpServer::Accept() {
  Descriptor socket(::accept4(socket_.number(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket) {
    // Without descriptors, say, it would be asked again at once, and for ever.
    if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
      rest_->Set(Now());
    }
    return;
  }
  if (connections_.size() >= options_.connections_max) {
    return;  // It is closed unheard, which costs less than to have it wait.
  }
  const uint64_t id = ++last_connection_;
  auto connection = std::make_unique<Connection>(*this, id, std::move(socket));
  if (connection->Begin().ok()) {
    connections_.emplace(id, std::move(connection));
  }
}

void HttpServer::OnReply(uint64_t connection, const HttpAnswer& answer) {
  if (const auto found = connections_.find(connection); found != connections_.end()) {
    found->second->Answer(answer);
  }
}

void HttpServer::Rest() {
  if (watch_ != nullptr) {
    watch_.reset();
    rest_->Set(Now() + kRest);
    return;
  }
  auto watch =
      LoopWatch::Make(thread_->loop(), socket_.number(), [this](LoopWatch::Ready) { Accept(); });
  if (watch.ok()) {
    watch_ = *std::move(watch);
  } else {
    rest_->Set(Now() + kRest);
  }
}

void HttpServer::Bury() {
  std::erase_if(connections_, [](const auto& each) { return each.second->over(); });
}

}  // namespace kvcast
