#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "kvcast/io/descriptor.h"

namespace kvcast {

// An S3 server on loopback that misbehaves: for faults only, since it checks no signature.
class S3FaultServer {
 public:
  enum class Fault : uint8_t {
    kNone,
    kSlowDown,      // 503.
    kHang,          // No answer.
    kResetInBody,   // The connection is reset in the middle of an answer.
    kShortBody,     // It is closed there.
    kWrongByte,     // A bit of the body is another one.
    kErrorInOk,     // 200, and an error as its body.
    kGarbage,       // Not HTTP.
    kTooMuch,       // A body that is longer than what was asked for.
    kStaleListing,  // Listings are empty.
    kForbidden,     // 403.
    // What is put is not kept, and the answer is
    kPage,        // a page of HTML,
    kTaggedPage,  // the same with an ETag,
    kCutError,    // the beginning of an error,
    kAccepted,    // 202,
    kNoTag,       // as it should be but for the ETag,
    kOtherSum,    // or for the check sum.
  };

  S3FaultServer() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener_.number(), any, length), 0);
    EXPECT_EQ(::listen(listener_.number(), 64), 0);
    EXPECT_EQ(::getsockname(listener_.number(), any, &length), 0);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { Accept(); });
  }
  ~S3FaultServer() {
    stopping_ = true;
    acceptor_.join();
    for (std::thread& thread : threads_) {
      thread.join();
    }
  }

  std::string endpoint() const { return "http://127.0.0.1:" + std::to_string(port_); }
  void Set(Fault fault) { fault_ = fault; }
  uint64_t request_count() const { return requests_; }
  // As the last request with that field said it; empty: none did.
  std::string Header(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    return headers_[name];
  }
  std::map<std::string, std::string> objects() {
    const std::scoped_lock lock(mutex_);
    return objects_;
  }

 private:
  static constexpr int kTurnMilliseconds = 20;

  bool Readable(int descriptor) {
    pollfd poll{descriptor, POLLIN, 0};
    while (!stopping_) {
      if (::poll(&poll, 1, kTurnMilliseconds) > 0) {
        return true;
      }
    }
    return false;
  }

  void Accept() {
    while (Readable(listener_.number())) {
      const int peer = ::accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC);
      if (peer >= 0) {
        threads_.emplace_back([this, peer] { Serve(Descriptor(peer)); });
      }
    }
  }

  void Serve(const Descriptor& peer) {
    std::string input;
    while (true) {
      const size_t end = input.find("\r\n\r\n");
      if (end != std::string::npos) {
        const size_t body = Number(Field(input.substr(0, end + 2), "content-length"));
        if (input.size() >= end + 4 + body) {
          if (!Answer(peer, input.substr(0, end + 2), input.substr(end + 4, body))) {
            return;
          }
          input.erase(0, end + 4 + body);
          continue;
        }
      }
      char buffer[65536];
      const ssize_t got =
          Readable(peer.number()) ? ::recv(peer.number(), buffer, sizeof(buffer), 0) : 0;
      if (got <= 0) {
        return;
      }
      input.append(buffer, static_cast<size_t>(got));
    }
  }

  static size_t Number(const std::string& text) {
    size_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
  }
  static std::string Lower(std::string text) {
    for (char& c : text) {
      c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    return text;
  }
  static std::string Field(const std::string& head, const std::string& name) {
    const size_t at = Lower(head).find("\r\n" + name + ":");
    if (at == std::string::npos) {
      return "";
    }
    const size_t start = head.find_first_not_of(' ', at + name.size() + 3);
    return head.substr(start, head.find("\r\n", start) - start);
  }

  // False: the connection is over.
  bool Answer(const Descriptor& peer, const std::string& head, const std::string& body) {
    ++requests_;
    const Fault fault = fault_;
    {
      const std::scoped_lock lock(mutex_);
      for (const char* name : {"x-amz-content-sha256", "x-amz-checksum-crc32c", "authorization",
                               "x-amz-security-token", "host"}) {
        const std::string value = Field(head, name);
        headers_[name] = value.empty() ? headers_[name] : value;
      }
    }
    switch (fault) {
      case Fault::kHang:
        while (!stopping_ && fault_ == Fault::kHang) {
          ::poll(nullptr, 0, kTurnMilliseconds);
        }
        return false;
      case Fault::kGarbage:
        return Send(peer, "hello\r\n\r\n") && false;
      case Fault::kSlowDown:
        return Send(peer, Reply("503 Slow Down", ErrorText("SlowDown")));
      case Fault::kForbidden:
        return Send(peer, Reply("403 Forbidden", ErrorText("SignatureDoesNotMatch")));
      case Fault::kErrorInOk:
        return Send(peer, Reply("200 OK", ErrorText("InternalError")));
      default:
        break;
    }
    std::string answer = Carry(head, body, fault);
    const size_t start = answer.find("\r\n\r\n") + 4;
    if (start < answer.size()) {
      const size_t middle = start + (answer.size() - start) / 2;
      if (fault == Fault::kWrongByte) {
        answer[middle] = static_cast<char>(answer[middle] ^ 1);
      } else if (fault == Fault::kShortBody || fault == Fault::kResetInBody) {
        Send(peer, answer.substr(0, middle));
        if (fault == Fault::kResetInBody) {
          const linger now{1, 0};
          ::setsockopt(peer.number(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
        }
        return false;
      }
    }
    return Send(peer, answer);
  }

  std::string Carry(const std::string& head, const std::string& body, Fault fault) {
    const std::scoped_lock lock(mutex_);
    const std::string method = head.substr(0, head.find(' '));
    std::string target = head.substr(method.size() + 1);
    target = target.substr(0, target.find(' '));
    if (method == "PUT") {
      return CarryPut(head, target, body, fault);
    }
    if (method == "DELETE") {
      objects_.erase(target);
      return Reply("204 No Content", "");
    }
    const size_t query = target.find('?');
    if (query != std::string::npos) {
      return Reply("200 OK", ListingOf(target.substr(0, query), fault == Fault::kStaleListing));
    }
    const auto found = objects_.find(target);
    if (found == objects_.end()) {
      return Reply("404 Not Found", ErrorText("NoSuchKey"));
    }
    const std::string range = Field(head, "range");
    const size_t first = Number(range.substr(range.find('=') + 1));
    const size_t last = Number(range.substr(range.find('-') + 1));
    if (last >= found->second.size()) {
      return Reply("416 Range Not Satisfiable", ErrorText("InvalidRange"));
    }
    std::string part = found->second.substr(first, last - first + 1);
    part += fault == Fault::kTooMuch ? "more" : "";
    return Reply("206 Partial Content", part,
                 "Content-Range: bytes " + std::to_string(first) + "-" + std::to_string(last) +
                     "/" + std::to_string(found->second.size()) + "\r\n");
  }

  std::string CarryPut(const std::string& head, const std::string& target, const std::string& body,
                       Fault fault) {
    static constexpr const char* kTag = "ETag: \"9e107d9d372bb6826bd81d3542a419d6\"\r\n";
    static constexpr const char* kPageText = "<html><body>Please log in.</body></html>";
    switch (fault) {
      case Fault::kPage:
        return Reply("200 OK", kPageText);
      case Fault::kTaggedPage:
        return Reply("200 OK", kPageText, kTag);
      case Fault::kCutError:
        return Reply("200 OK", "<Error><Code>InternalError</Code><Mess", kTag);
      case Fault::kAccepted:
        return Reply("202 Accepted", "", kTag);
      case Fault::kNoTag:
        return Reply("200 OK", "");
      case Fault::kOtherSum:
        return Reply("200 OK", "", std::string(kTag) + "x-amz-checksum-crc32c: AAAAAA==\r\n");
      default:
        break;
    }
    objects_[target] = body;
    return Reply("200 OK", "",
                 std::string(kTag) +
                     "x-amz-checksum-crc32c: " + Field(head, "x-amz-checksum-crc32c") + "\r\n");
  }

  std::string ListingOf(const std::string& bucket, bool stale) const {
    std::string text = "<ListBucketResult><IsTruncated>false</IsTruncated>";
    for (const auto& [target, object] : objects_) {
      if (!stale && target.starts_with(bucket)) {
        text += "<Contents><Key>" + target.substr(bucket.size()) + "</Key><Size>" +
                std::to_string(object.size()) + "</Size></Contents>";
      }
    }
    return text + "</ListBucketResult>";
  }

  static std::string ErrorText(const std::string& code) {
    return "<Error><Code>" + code + "</Code><Message>Told so.</Message></Error>";
  }
  static std::string Reply(const std::string& status, const std::string& body,
                           const std::string& fields = "") {
    return "HTTP/1.1 " + status + "\r\n" + fields +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }
  static bool Send(const Descriptor& peer, const std::string& text) {
    size_t sent = 0;
    while (sent < text.size()) {
      const ssize_t some =
          ::send(peer.number(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (some <= 0) {
        return false;
      }
      sent += static_cast<size_t>(some);
    }
    return true;
  }

  Descriptor listener_;
  uint16_t port_ = 0;
  std::atomic<bool> stopping_ = false;
  std::atomic<Fault> fault_ = Fault::kNone;
  std::atomic<uint64_t> requests_ = 0;
  std::mutex mutex_;
  std::map<std::string, std::string> objects_;  // By target.
  std::map<std::string, std::string> headers_;
  std::list<std::thread> threads_;  // Of the acceptor, and then of the destructor.
  std::thread acceptor_;
};

}  // namespace kvcast
