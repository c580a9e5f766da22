#include "kvcast/io/http_call.h"

#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

#include "kvcast/io/descriptor.h"
#include "kvcast/io/system_error.h"

namespace kvcast {
namespace {

constexpr size_t kAnswerBytesMax = size_t{16} << 20;

Result<std::string> ReadAll(int socket) {
  std::string all;
  std::array<char, 4096> room{};
  while (true) {
    const ssize_t count = ::recv(socket, room.data(), room.size(), 0);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      return SystemError("No answer came", errno);
    }
    if (count == 0) {
      return all;
    }
    all.append(room.data(), static_cast<size_t>(count));
    if (all.size() > kAnswerBytesMax) {
      return Error(ErrorCode::kMalformed, "The answer does not end.");
    }
  }
}

// "HTTP/1.1 200 OK", headers, and the body up to the end: one answer to a connection.
Result<HttpAnswer> ParseAnswer(const std::string& text) {
  const size_t head = text.find("\r\n\r\n");
  const std::string status = text.substr(std::min<size_t>(9, text.size()), 3);
  HttpAnswer answer;
  if (!text.starts_with("HTTP/1.") || head == std::string::npos ||
      std::from_chars(status.data(), status.data() + status.size(), answer.status).ec !=
          std::errc()) {
    return Error(ErrorCode::kMalformed, "What answers there speaks no HTTP.");
  }
  answer.body = text.substr(head + 4);
  return answer;
}

}  // namespace

Result<HttpAnswer> CallHttp(const SocketAddress& server, const HttpCall& call, Duration patience) {
  const Descriptor socket(
      ::socket(server.is_v6() ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(patience).count();
  const timeval wait{us / 1'000'000, us % 1'000'000};
  if (!socket || ::setsockopt(socket.number(), SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) != 0 ||
      ::setsockopt(socket.number(), SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) != 0 ||
      ::connect(socket.number(), server.get(), server.length()) != 0) {
    return SystemError("Nobody answers at " + server.ToString(), errno);
  }
  std::string text = call.method + " " + call.path + " HTTP/1.1\r\nHost: " + server.ToString() +
                     "\r\nConnection: close\r\n";
  if (!call.token.empty()) {
    text += "Authorization: Bearer " + call.token + "\r\n";
  }
  if (!call.body.empty()) {
    text +=
        "Content-Type: application/json\r\nContent-Length: " + std::to_string(call.body.size()) +
        "\r\n";
  }
  text += "\r\n" + call.body;
  for (size_t sent = 0; sent < text.size();) {
    const ssize_t count =
        ::send(socket.number(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno != EINTR) {
      return SystemError("Nobody listens at " + server.ToString(), errno);
    }
    sent += count > 0 ? static_cast<size_t>(count) : 0;
  }
  KVCAST_TRY(const std::string answer, ReadAll(socket.number()));
  return ParseAnswer(answer);
}

}  // namespace kvcast
