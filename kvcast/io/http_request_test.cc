#include "kvcast/io/http_request.h"

#include <gtest/gtest.h>

namespace kvcast {
namespace {

TEST(HttpRequest, IsReadFromItsHead) {
  const HttpRequest request = *HttpRequest::Parse(
      "GET /metrics?name=a HTTP/1.1\r\nhOST: localhost:4480\r\nUser-Agent: a b\r\n\r\n");
  EXPECT_EQ(request.method, "GET");
  EXPECT_EQ(request.path, "/metrics");
  EXPECT_EQ(request.query, "name=a");
  EXPECT_EQ(request.host, "localhost:4480");
  EXPECT_FALSE(request.has_body);
  EXPECT_TRUE(HttpRequest::Parse("GET / HTTP/1.0\r\n\r\n").ok());
}

TEST(HttpRequest, EndsWithABlankLine) {
  EXPECT_EQ(HttpRequest::EndOfHead("GET / HTTP/1.1\r\n"), std::string_view::npos);
  EXPECT_EQ(HttpRequest::EndOfHead("GET / HTTP/1.0\r\n\r\nbody"), 18U);
}

TEST(HttpRequest, RefusesWhatIsNone) {
  for (const char* text :
       {"", "\r\n\r\n", "GET /\r\n\r\n", "GET / HTTP/2\r\n\r\n", "GET metrics HTTP/1.0\r\n\r\n",
        "GET /a b HTTP/1.0\r\n\r\n", "G(T / HTTP/1.0\r\n\r\n", "GET /\x01 HTTP/1.0\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.0\r\nno colon\r\n\r\n",
        "GET / HTTP/1.0\r\n: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET / HTTP/1.0\r\nHost: a", "GET / HTTP/1.0\r\nContent-Length: -1\r\n\r\n",
        "GET / HTTP/1.0\r\nContent-Length: 5x\r\n\r\n",
        "GET / HTTP/1.0\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        "GET / HTTP/1.0\r\nAuthorization: a\r\nAuthorization: b\r\n\r\n"}) {
    EXPECT_FALSE(HttpRequest::Parse(text).ok()) << text;
  }
}

TEST(HttpRequest, TellsOfABody) {
  EXPECT_TRUE(HttpRequest::Parse("POST / HTTP/1.0\r\nContent-Length: 5\r\n\r\n")->has_body);
  EXPECT_TRUE(HttpRequest::Parse("POST / HTTP/1.0\r\nTransfer-Encoding: x\r\n\r\n")->has_body);
  EXPECT_FALSE(HttpRequest::Parse("POST / HTTP/1.0\r\nContent-Length: 0\r\n\r\n")->has_body);
}

TEST(HttpRequest, TellsOfABodysLengthUnlessItComesInChunks) {
  EXPECT_EQ(HttpRequest::Parse("POST / HTTP/1.0\r\nContent-Length: 5\r\n\r\n")->content_length, 5U);
  const auto chunked = HttpRequest::Parse(
      "POST / HTTP/1.0\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_TRUE(chunked->has_body);
  EXPECT_EQ(chunked->content_length, 0U);
}

TEST(HttpRequest, TellsWhoIsAuthorised) {
  const auto bearer = [](const std::string& said) {
    return std::string(
        HttpRequest::Parse("POST / HTTP/1.0\r\nAuthorization: " + said + "\r\n\r\n")->bearer());
  };
  EXPECT_EQ(bearer("Bearer kvcast_12"), "kvcast_12");
  EXPECT_EQ(bearer("bearer  kvcast_12"), "kvcast_12");
  EXPECT_EQ(bearer("Basic kvcast_12"), "");
  EXPECT_EQ(bearer("Bearer"), "");
  EXPECT_EQ(HttpRequest::Parse("POST / HTTP/1.0\r\n\r\n")->bearer(), "");
}

// A name that somebody else's domain gives to 127.0.0.1 is not this machine's.
TEST(HttpRequest, KnowsWhetherItWasMeantForThisMachine) {
  const auto is_for_loopback = [](const std::string& host) {
    return HttpRequest::Parse("GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n")->IsForLoopback();
  };
  for (const char* host :
       {"localhost", "localhost:4480", "127.0.0.1:80", "127.8.9.1", "[::1]:4480", "[::1]"}) {
    EXPECT_TRUE(is_for_loopback(host)) << host;
  }
  for (const char* host : {"example.org", "127.0.0.1.example.org:80", "192.0.2.1",
                           "[2001:db8::1]:1", "localhost.example"}) {
    EXPECT_FALSE(is_for_loopback(host)) << host;
  }
}

}  // namespace
}  // namespace kvcast
