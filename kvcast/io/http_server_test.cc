#include "kvcast/io/http_server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kvcast/io/http_call.h"
#include "kvcast/io/http_client_test.h"

namespace kvcast {
namespace {

using namespace std::chrono_literals;

HttpServer::Options OnLoopback() {
  HttpServer::Options options;
  options.listen = SocketAddress::Loopback(0);
  return options;
}

std::unique_ptr<HttpServer> Echoing(const HttpServer::Options& options = OnLoopback()) {
  return *HttpServer::Start(options,
                            [](const HttpRequest& request, const HttpServer::Reply& reply) {
                              reply({200, "text/plain", request.path});
                            });
}

TEST(HttpServer, AnswersAndHangsUp) {
  const auto server = Echoing();
  const std::string answer = HttpClient::Get(server->local(), "/metrics");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n")) << answer;
  EXPECT_TRUE(answer.ends_with("\r\nConnection: close\r\n\r\n/metrics")) << answer;
}

TEST(HttpServer, SendsPagesOfAnyLength) {
  const std::string page(5'000'000, 'x');
  const auto server =
      *HttpServer::Start(OnLoopback(), [&](const HttpRequest&, const HttpServer::Reply& reply) {
        reply({200, "text/plain", page});
      });
  const std::string answer = HttpClient::Get(server->local(), "/");
  EXPECT_EQ(answer.substr(answer.find("\r\n\r\n") + 4), page);
}

TEST(HttpServer, TakesRequestsInAnyCut) {
  const auto server = Echoing();
  HttpClient client(server->local());
  for (const char c : std::string("GET /a HTTP/1.0\r\n\r\n")) {
    client.Send(std::string(1, c));
  }
  EXPECT_TRUE(client.ReadAll().ends_with("\r\n\r\n/a"));
}

TEST(HttpServer, SendsNoBodyToWhoWantsNone) {
  const auto server = Echoing();
  const std::string answer = HttpClient::Get(server->local(), "/ab", "HEAD");
  EXPECT_NE(answer.find("Content-Length: 3\r\n"), std::string::npos);
  EXPECT_TRUE(answer.ends_with("\r\n\r\n"));
}

TEST(HttpServer, RefusesWhatIsNoRequestForAPage) {
  const auto server = Echoing();
  const auto answer_to = [&](const std::string& request) {
    HttpClient client(server->local());
    client.Send(request);
    return client.ReadAll().substr(0, 12);
  };
  EXPECT_EQ(answer_to("nonsense\r\n\r\n"), "HTTP/1.1 400");
  EXPECT_EQ(answer_to("DELETE / HTTP/1.0\r\n\r\n"), "HTTP/1.1 405");
  EXPECT_EQ(answer_to("GET / HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc"), "HTTP/1.1 413");
  EXPECT_EQ(answer_to("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"), "HTTP/1.1 421");
  EXPECT_EQ(answer_to("GET /" + std::string(9000, 'a')), "HTTP/1.1 431");
}

TEST(HttpServer, TakesAnOrderWithItsBodyInAnyCut) {
  const auto server = *HttpServer::Start(
      OnLoopback(), [](const HttpRequest& request, const HttpServer::Reply& reply) {
        reply({200, "text/plain",
               request.method + " " + std::string(request.bearer()) + " " + request.body});
      });
  HttpClient client(server->local());
  for (const char c : std::string("POST / HTTP/1.0\r\nAuthorization: Bearer t\r\n"
                                  "Content-Length: 5\r\n\r\nabcde")) {
    client.Send(std::string(1, c));
  }
  EXPECT_TRUE(client.ReadAll().ends_with("\r\n\r\nPOST t abcde"));
  const auto called = CallHttp(server->local(), {"POST", "/", "key", "{}"}, 10s);
  ASSERT_TRUE(called.ok());
  EXPECT_EQ(called->status, 200);
  EXPECT_EQ(called->body, "POST key {}");
}

TEST(HttpServer, RefusesBodiesThatAreLongOrOfNoLength) {
  const auto server = Echoing();
  const auto answer_to = [&](const std::string& headers) {
    HttpClient client(server->local());
    client.Send("POST / HTTP/1.0\r\n" + headers + "\r\n");
    return client.ReadAll().substr(0, 12);
  };
  EXPECT_EQ(answer_to("Content-Length: 8193\r\n"), "HTTP/1.1 413");
  EXPECT_EQ(answer_to("Content-Length: 18446744073709551615\r\n"), "HTTP/1.1 413");
  EXPECT_EQ(answer_to("Transfer-Encoding: chunked\r\n"), "HTTP/1.1 413");
  EXPECT_EQ(answer_to(""), "HTTP/1.1 200");
}

// Whoever asks whether a node is well wants to hear it while it is not.
TEST(HttpServer, SaysSoWhenNobodyAnswers) {
  HttpServer::Options options = OnLoopback();
  options.answer_patience = 1ms;
  std::vector<HttpServer::Reply> kept;
  const auto server = *HttpServer::Start(
      options, [&](const HttpRequest&, HttpServer::Reply reply) { kept.push_back(reply); });
  EXPECT_TRUE(HttpClient::Get(server->local(), "/").starts_with("HTTP/1.1 503 "));
  kept.front()({200, "text/plain", "late"});
  EXPECT_TRUE(HttpClient::Get(server->local(), "/").starts_with("HTTP/1.1 503 "));
}

TEST(HttpServer, HangsUpOnWhoSaysNothing) {
  HttpServer::Options options = OnLoopback();
  options.read_patience = 1ms;
  const auto server = Echoing(options);
  EXPECT_EQ(HttpClient(server->local()).ReadAll(), "");
}

TEST(HttpServer, HoldsNoMoreClientsThanItMay) {
  HttpServer::Options options = OnLoopback();
  options.connections_max = 1;
  options.read_patience = 1h;
  const auto server = Echoing(options);
  auto idle = std::make_unique<HttpClient>(server->local());
  EXPECT_EQ(HttpClient::Get(server->local(), "/"), "");  // The idle one has come first.
  idle.reset();
  while (HttpClient::Get(server->local(), "/").empty()) {
    std::this_thread::yield();
  }
}

// Replies come from other threads, also after the server has gone.
TEST(HttpServer, MayGoBeforeItsReplies) {
  HttpServer::Reply kept;
  {
    std::atomic<bool> asked = false;
    const auto server =
        *HttpServer::Start(OnLoopback(), [&](const HttpRequest&, HttpServer::Reply reply) {
          kept = std::move(reply);
          asked = true;
        });
    HttpClient client(server->local());
    client.Send("GET / HTTP/1.0\r\n\r\n");
    while (!asked) {
      std::this_thread::yield();
    }
  }
  kept({});
}

TEST(HttpServer, SaysWhichAddressIsNotToBeHad) {
  const auto server = Echoing();
  HttpServer::Options options;
  options.listen = server->local();
  const auto second = HttpServer::Start(options, [](const HttpRequest&, const auto&) {});
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().message().find(server->local().ToString()), std::string::npos);
}

}  // namespace
}  // namespace kvcast
