#include "kvcast/io/http_request.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "kvcast/io/socket_address.h"

namespace kvcast {
namespace {

constexpr size_t kMethodBytesMax = 16;

Error NoRequest(const char* why) { return Error(ErrorCode::kMalformed, why); }

bool IsToken(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

bool IsPlain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7f; });
}

std::string_view Trimmed(std::string_view text) {
  const size_t first = std::min(text.find_first_not_of(" \t"), text.size());
  text.remove_prefix(first);
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  return lower;
}

// Takes a line off the text; absent if it does not end as HTTP's do.
std::optional<std::string_view> TakeLine(std::string_view& text) {
  const size_t end = text.find("\r\n");
  if (end == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 2);
  return line;
}

std::optional<uint64_t> LengthOf(std::string_view text) {
  uint64_t length = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), length);
  return failed == std::errc() && end == text.data() + text.size() ? std::optional(length)
                                                                   : std::nullopt;
}

// GET /metrics HTTP/1.1
Result<bool> TakeRequestLine(std::string_view line, HttpRequest& request) {
  const size_t first = line.find(' ');
  const size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) {
    return NoRequest("The first line is no request.");
  }
  const std::string_view version = line.substr(last + 1);
  if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    return NoRequest("Only HTTP/1.1 and 1.0 are spoken.");
  }
  const std::string_view target = line.substr(first + 1, last - first - 1);
  request.method = line.substr(0, first);
  if (!IsToken(request.method) || request.method.size() > kMethodBytesMax ||
      !target.starts_with('/') || !IsPlain(target) || target.find(' ') != std::string_view::npos) {
    return NoRequest("The first line is no request.");
  }
  const size_t question = target.find('?');
  request.path = target.substr(0, question);
  request.query = question == std::string_view::npos ? "" : target.substr(question + 1);
  return version == "HTTP/1.1";
}

}  // namespace

size_t HttpRequest::EndOfHead(std::string_view received) {
  const size_t end = received.find("\r\n\r\n");
  return end == std::string_view::npos ? end : end + 4;
}

Result<HttpRequest> HttpRequest::Parse(std::string_view head) {
  HttpRequest request;
  const std::optional<std::string_view> first = TakeLine(head);
  if (!first) {
    return NoRequest("The first line does not end.");
  }
  KVCAST_TRY(const bool needs_host, TakeRequestLine(*first, request));
  std::optional<std::string> host;
  std::optional<uint64_t> length;
  bool in_chunks = false;
  while (true) {
    const std::optional<std::string_view> line = TakeLine(head);
    if (!line) {
      return NoRequest("A header does not end.");
    }
    if (line->empty()) {
      break;
    }
    const size_t colon = std::min(line->find(':'), line->size());
    const std::string name = Lower(line->substr(0, colon));
    const std::string_view value = Trimmed(line->substr(std::min(colon + 1, line->size())));
    if (colon == line->size() || !IsToken(name)) {
      return NoRequest("A header has no name.");
    }
    if (name == "host") {
      if (host || !IsPlain(value)) {
        return NoRequest("It names no host, or two.");
      }
      host = value;
    }
    if (name == "content-length") {
      const std::optional<uint64_t> told = LengthOf(value);
      if (!told || length.value_or(*told) != *told) {
        return NoRequest("It tells no length, or two.");
      }
      length = told;
    }
    if (name == "authorization") {
      if (!request.authorization.empty() || !IsPlain(value)) {
        return NoRequest("It is authorised by nothing, or twice.");
      }
      request.authorization = value;
    }
    in_chunks = in_chunks || name == "transfer-encoding";
  }
  if (needs_host && !host) {
    return NoRequest("It names no host.");
  }
  request.host = host.value_or("");
  request.has_body = in_chunks || length.value_or(0) > 0;
  request.content_length = in_chunks ? 0 : length.value_or(0);
  return request;
}

std::string_view HttpRequest::bearer() const {
  constexpr std::string_view kBearer = "bearer ";
  const std::string_view said = authorization;
  return Lower(said.substr(0, kBearer.size())) == kBearer ? Trimmed(said.substr(kBearer.size()))
                                                          : std::string_view();
}

bool HttpRequest::IsForLoopback() const {
  // A port may be left out, which addresses may not.
  const std::string named =
      SocketAddress::PortOf(host) ? host : host + (host.ends_with(':') ? "0" : ":0");
  const std::string place = SocketAddress::HostOf(named);
  if (host.empty() || place == "localhost" || place == "::1") {
    return true;
  }
  return place.starts_with("127.") && place.find_first_not_of("0123456789.") == std::string::npos;
}

}  // namespace kvcast
