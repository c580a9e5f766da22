#include <gtest/gtest.h>
#include <pthread.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "kvcast/base/bytes.h"
#include "kvcast/base/json.h"
#include "kvcast/host/command.h"
#include "kvcast/host/command_outcome_test.h"
#include "kvcast/io/udp_socket.h"

namespace kvcast {
namespace {

uint16_t FreePort() { return UdpSocket::Bind(SocketAddress::Loopback(0))->local().port(); }

// Runs the command with a client that sends through it until a datagram has arrived at the server,
// and then ends it.
class RunningImpair {
 public:
  CommandOutcome Run(const std::vector<const char*>& more) {
    sigset_t signals;
    sigset_t before;
    ::sigemptyset(&signals);
    ::sigaddset(&signals, SIGINT);
    ::pthread_sigmask(SIG_BLOCK, &signals, &before);
    const pthread_t command_thread = ::pthread_self();
    std::thread client([&] {
      auto socket = *UdpSocket::Bind(SocketAddress::Loopback(0));
      // The proxy may not be there yet, and loses some: so until one has arrived.
      bool arrived = false;
      while (!arrived) {
        socket.Send(proxy_, AsBytes("hello"), 5);
        std::this_thread::yield();
        arrived = server_.Receive([](const UdpPath&, std::span<const std::byte>) {});
      }
      ::pthread_kill(command_thread, SIGINT);
    });
    std::vector<const char*> words{"impair", "--to", to_.c_str(), "--listen", listen_.c_str()};
    words.insert(words.end(), more.begin(), more.end());
    CommandOutcome outcome = RunKvcast(words);
    client.join();
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return outcome;
  }
  const std::string& to() const { return to_; }
  const std::string& listen() const { return listen_; }

 private:
  UdpSocket server_ = *UdpSocket::Bind(SocketAddress::Loopback(0));
  const SocketAddress proxy_ = SocketAddress::Loopback(FreePort());
  const std::string to_ = server_.local().ToString();
  const std::string listen_ = proxy_.ToString();
};

TEST(ImpairCommand, LosesWhatItIsToldToAndSaysSo) {
  RunningImpair impair;
  const CommandOutcome outcome =
      impair.Run({"--direction", "there", "--loss-percent", "50", "--seed", "2"});
  EXPECT_EQ(outcome.status, kExitOk) << outcome.err;
  EXPECT_NE(outcome.out.find("listen  " + impair.listen()), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("there   "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("back    0 datagrams"), std::string::npos) << outcome.out;
}

TEST(ImpairCommand, TellsProgramsLineByLineWhatPassed) {
  RunningImpair impair;
  const CommandOutcome outcome = impair.Run({"--json", "--report-every-s", "0.000001"});
  EXPECT_EQ(outcome.status, kExitOk) << outcome.err;
  std::istringstream lines(outcome.out);
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_EQ(*ParseJson(line), (Json{{"to", impair.to()}, {"listen", impair.listen()}}));
  size_t reports = 0;
  Json last;
  for (; std::getline(lines, line); ++reports) {
    const Result<Json> report = ParseJson(line);
    ASSERT_TRUE(report.ok()) << line;
    if (reports > 0) {
      EXPECT_GE((*report)["there"]["bytes"], last["there"]["bytes"]);
    }
    last = *report;
  }
  EXPECT_GE(reports, 2u);  // While it runs, and at the end.
  EXPECT_GE(last["there"]["bytes"], 5);
  EXPECT_EQ(last["there"]["lost"], 0);
  EXPECT_EQ(last["back"]["datagrams"], 0);
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
