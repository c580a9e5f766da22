#include "kvcast/io/impairment_proxy.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "kvcast/base/bytes.h"
#include "kvcast/io/loop_until_test.h"

namespace kvcast {
namespace {

// A server that answers every datagram with itself, behind a proxy, and clients before it.
class ImpairmentProxyTest : public testing::Test {
 protected:
  static constexpr Duration kPatience = std::chrono::seconds(60);

  void SetUp() override {
    loop_ = *EventLoop::Make();
    server_ = std::make_unique<UdpSocket>(*UdpSocket::Bind(SocketAddress::Loopback(0)));
    watch_ = *LoopWatch::Make(*loop_, server_->descriptor(), [this](LoopWatch::Ready) {
      while (server_->Receive([this](const UdpPath& path, std::span<const std::byte> bytes) {
        askers_.push_back(path.remote);
        asked_.emplace_back(AsText(bytes));
        server_->Send(path, bytes, bytes.size());
      })) {
      }
    });
  }

  void Start(ImpairmentProxy::Options options) {
    options.listen = SocketAddress::Loopback(0);
    options.server = server_->local();
    proxy_ = *ImpairmentProxy::Start(*loop_, options);
  }
  void Send(UdpSocket& client, const std::string& text) {
    EXPECT_EQ(client.Send(proxy_->local(), AsBytes(text), text.size()), text.size());
  }
  bool Until(const std::function<bool()>& done) { return LoopUntil(*loop_, kPatience, done); }
  // What has arrived at a client, in its order.
  std::vector<std::string>& Collect(UdpSocket& client) {
    while (client.Receive([&](const UdpPath& path, std::span<const std::byte> bytes) {
      EXPECT_EQ(path.remote, proxy_->local());
      answers_.emplace_back(AsText(bytes));
    })) {
    }
    return answers_;
  }

  std::unique_ptr<EventLoop> loop_;
  std::unique_ptr<UdpSocket> server_;
  std::unique_ptr<LoopWatch> watch_;
  std::unique_ptr<ImpairmentProxy> proxy_;
  std::vector<SocketAddress> askers_;
  std::vector<std::string> asked_;
  std::vector<std::string> answers_;
};

TEST_F(ImpairmentProxyTest, PassesDatagramsThereAndBackUpToLoopbacksSize) {
  Start({});
  auto client = *UdpSocket::Bind(SocketAddress::Loopback(0));
  const std::vector<std::string> sent{"a", std::string(1452, 'b'),
                                      std::string(UdpSocket::kSendBytesMax, 'c')};
  for (const std::string& text : sent) {
    Send(client, text);
  }
  ASSERT_TRUE(Until([&] { return Collect(client).size() == sent.size(); }));
  EXPECT_EQ(answers_, sent);
  EXPECT_EQ(proxy_->there().datagrams, 3U);
  EXPECT_EQ(proxy_->back().bytes, 1 + 1452 + UdpSocket::kSendBytesMax);
  EXPECT_EQ(proxy_->unintended_losses(), 0U);
}

TEST_F(ImpairmentProxyTest, AnswersFromTheAddressThatAClientAsked) {
  ImpairmentProxy::Options options;
  options.listen = SocketAddress::Loopback(0).Any();
  options.server = server_->local();
  proxy_ = *ImpairmentProxy::Start(*loop_, options);
  UdpSocket::Options of_client;  // Which takes answers from there alone.
  of_client.peer = *SocketAddress::Resolve("127.0.0.2:" + std::to_string(proxy_->local().port()));
  auto client = *UdpSocket::Bind(SocketAddress::Loopback(0), of_client);
  client.Send(*of_client.peer, AsBytes("a"), 1);
  ASSERT_TRUE(
      Until([&] { return client.Receive([](const UdpPath&, std::span<const std::byte>) {}); }));
}

TEST_F(ImpairmentProxyTest, TheServerTellsClientsApart) {
  Start({});
  auto one = *UdpSocket::Bind(SocketAddress::Loopback(0));
  auto two = *UdpSocket::Bind(SocketAddress::Loopback(0));
  Send(one, "one");
  Send(two, "two");
  Send(one, "one again");
  ASSERT_TRUE(Until([&] { return asked_.size() == 3; }));
  ASSERT_TRUE(Until([&] { return Collect(two).size() == 1; }));
  EXPECT_EQ(answers_, std::vector<std::string>{"two"});
  std::vector<SocketAddress> from_one;
  for (size_t i = 0; i < 3; ++i) {
    if (asked_[i] != "two") {
      from_one.push_back(askers_[i]);
    }
  }
  EXPECT_EQ(from_one[0], from_one[1]);
}

TEST_F(ImpairmentProxyTest, DuplicatesBothWays) {
  ImpairmentProxy::Options options;
  options.there.duplication = 1;
  options.back.duplication = 1;
  Start(options);
  auto client = *UdpSocket::Bind(SocketAddress::Loopback(0));
  Send(client, "twice");
  ASSERT_TRUE(Until([&] { return Collect(client).size() == 4; }));
  EXPECT_EQ(answers_, std::vector<std::string>(4, "twice"));
}

TEST_F(ImpairmentProxyTest, LosesOnOneWayOnly) {
  ImpairmentProxy::Options options;
  options.back.loss = 1;
  Start(options);
  auto client = *UdpSocket::Bind(SocketAddress::Loopback(0));
  Send(client, "heard");
  ASSERT_TRUE(Until([&] { return proxy_->back().lost == 1; }));
  EXPECT_EQ(asked_, std::vector<std::string>{"heard"});
  EXPECT_TRUE(Collect(client).empty());
}

// Everything that is held back arrives after what was not.
TEST_F(ImpairmentProxyTest, WhatIsHeldBackIsOvertaken) {
  ImpairmentProxy::Options options;
  options.there.reordering = 0.5;
  options.there.reorder_delay = std::chrono::milliseconds(200);
  Start(options);
  auto client = *UdpSocket::Bind(SocketAddress::Loopback(0));
  std::vector<std::string> sent;
  for (int i = 0; i < 20; ++i) {
    sent.push_back(std::to_string(i));
    Send(client, sent.back());
  }
  ASSERT_TRUE(Until([&] { return asked_.size() == 20; }));
  EXPECT_NE(asked_, sent);
  std::sort(asked_.begin(), asked_.end());
  std::sort(sent.begin(), sent.end());
  EXPECT_EQ(asked_, sent);
}

TEST_F(ImpairmentProxyTest, HoldsNoMoreThanItMay) {
  ImpairmentProxy::Options options;
  options.there.delay = std::chrono::hours(1);
  options.held_bytes_max = 2500;
  Start(options);
  auto client = *UdpSocket::Bind(SocketAddress::Loopback(0));
  for (int i = 0; i < 5; ++i) {
    Send(client, std::string(1000, 'x'));
  }
  ASSERT_TRUE(Until([&] { return proxy_->there().datagrams == 5; }));
  EXPECT_EQ(proxy_->unintended_losses(), 3U);
}

TEST_F(ImpairmentProxyTest, ForgetsTheClientThatWasSilentForLongest) {
  ImpairmentProxy::Options options;
  options.clients_max = 2;
  Start(options);
  auto one = *UdpSocket::Bind(SocketAddress::Loopback(0));
  auto two = *UdpSocket::Bind(SocketAddress::Loopback(0));
  auto three = *UdpSocket::Bind(SocketAddress::Loopback(0));
  const auto ask = [&](UdpSocket& client, const std::string& text) {
    Send(client, text);
    return Until([&] { return !asked_.empty() && asked_.back() == text; });
  };
  ASSERT_TRUE(ask(one, "1") && ask(two, "2") && ask(one, "3") && ask(three, "4"));
  // The second is gone, and comes from a new address; the first is still known.
  ASSERT_TRUE(ask(one, "5") && ask(two, "6"));
  EXPECT_EQ(askers_[4], askers_[0]);
  EXPECT_FALSE(askers_[5] == askers_[1]);
}

}  // namespace
}  // namespace kvcast
