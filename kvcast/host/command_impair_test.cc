#include <gtest/gtest.h>
#include <pthread.h>

#include <csignal>
#include <string>
#include <thread>

#include "kvcast/base/bytes.h"
#include "kvcast/host/command.h"
#include "kvcast/host/command_outcome_test.h"
#include "kvcast/io/udp_socket.h"

namespace kvcast {
namespace {

uint16_t FreePort() { return UdpSocket::Bind(SocketAddress::Loopback(0))->local().port(); }

TEST(ImpairCommand, LosesWhatItIsToldToAndSaysSo) {
  sigset_t signals;
  sigset_t before;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &signals, &before);
  auto server = *UdpSocket::Bind(SocketAddress::Loopback(0));
  const std::string to = server.local().ToString();
  const SocketAddress proxy = SocketAddress::Loopback(FreePort());
  const std::string listen = proxy.ToString();
  const pthread_t command_thread = ::pthread_self();
  std::thread client([&] {
    auto socket = *UdpSocket::Bind(SocketAddress::Loopback(0));
    // The proxy may not be there yet, and loses half: so until one has arrived.
    bool arrived = false;
    while (!arrived) {
      socket.Send(proxy, AsBytes("hello"), 5);
      std::this_thread::yield();
      arrived = server.Receive([](const UdpPath&, std::span<const std::byte>) {});
    }
    ::pthread_kill(command_thread, SIGINT);
  });
  const CommandOutcome outcome =
      RunKvcast({"impair", "--to", to.c_str(), "--listen", listen.c_str(), "--direction", "there",
                 "--loss-percent", "50", "--seed", "2"});
  client.join();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(outcome.status, kExitOk) << outcome.err;
  EXPECT_NE(outcome.out.find("listen  " + listen), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("there   "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("back    0 datagrams"), std::string::npos) << outcome.out;
}

TEST(ImpairCommand, RefusesWhatIsNoPercentage) {
  for (const char* percent : {"101", "-1", "nan", "inf", "half"}) {
    const CommandOutcome outcome =
        RunKvcast({"impair", "--to", "127.0.0.1:1", "--loss-percent", percent});
    EXPECT_EQ(outcome.status, kExitUsage) << percent;
    EXPECT_NE(outcome.err.find("--loss-percent"), std::string::npos) << outcome.err;
  }
}

TEST(ImpairCommand, DoesNotSendToItself) {
  for (const char* listen : {"127.0.0.1:4433", "0.0.0.0:4433"}) {
    const CommandOutcome outcome =
        RunKvcast({"impair", "--to", "127.0.0.1:4433", "--listen", listen});
    EXPECT_EQ(outcome.status, kExitFailed);
    EXPECT_NE(outcome.err.find("for ever"), std::string::npos) << outcome.err;
  }
}

TEST(ImpairCommand, WantsToKnowWhereTheServerIs) {
  EXPECT_EQ(RunKvcast({"impair"}).status, kExitUsage);
  EXPECT_EQ(RunKvcast({"impair", "--to", "nowhere"}).status, kExitFailed);
}

}  // namespace
}  // namespace kvcast
