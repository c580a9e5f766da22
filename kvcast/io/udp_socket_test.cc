#include "kvcast/io/udp_socket.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kvcast/base/bytes.h"

namespace kvcast {
namespace {

std::vector<std::string> Exchange(const UdpSocket::Options& options, const std::string& sent,
                                  size_t datagram_bytes) {
  auto sender = *UdpSocket::Bind(SocketAddress::Loopback(0), options);
  auto receiver = *UdpSocket::Bind(SocketAddress::Loopback(0), options);
  EXPECT_EQ(sender.Send(receiver.local(), AsBytes(sent), datagram_bytes), sent.size());
  std::vector<std::string> received;
  // Loopback delivers before Send() returns.
  while (receiver.Receive([&](const UdpPath& path, std::span<const std::byte> datagram) {
    EXPECT_EQ(path, (UdpPath{receiver.local(), sender.local()}));
    received.emplace_back(AsText(datagram));
  })) {
  }
  return received;
}

TEST(UdpSocket, ManyDatagramsArriveAsTheyWereCut) {
  const std::string sent = std::string(1000, 'a') + std::string(1000, 'b') + std::string(7, 'c');
  const std::vector<std::string> expected{std::string(1000, 'a'), std::string(1000, 'b'),
                                          std::string(7, 'c')};
  UdpSocket::Options plain;
  plain.offload = false;
  EXPECT_EQ(Exchange({}, sent, 1000), expected);
  EXPECT_EQ(Exchange(plain, sent, 1000), expected);
}

TEST(UdpSocket, MoreDatagramsThanTheKernelTakesAtOnceArrive) {
  EXPECT_EQ(Exchange({}, std::string(150 * 10, 'x'), 10).size(), 150U);
}

TEST(UdpSocket, OneThatIsTooLargeForTheWayIsLostWithoutTrouble) {
  auto sender = *UdpSocket::Bind(SocketAddress::Loopback(0));
  const std::string large(UdpSocket::kSendBytesMax, 'x');
  // Nothing listens at the discard port; the loopback interface just takes it.
  EXPECT_EQ(sender.Send(SocketAddress::Loopback(9), AsBytes(large), large.size()), large.size());
}

// A kernel that cuts nothing on some way says so only when it is asked to; here, because there
// are to be no check sums.
TEST(UdpSocket, WhatTheKernelDoesNotCutGoesOneByOne) {
  auto sender = *UdpSocket::Bind(SocketAddress::Loopback(0));
  auto receiver = *UdpSocket::Bind(SocketAddress::Loopback(0));
  if (!sender.segments()) {
    GTEST_SKIP() << "This kernel cuts nothing anyway.";
  }
  const int on = 1;
  ASSERT_EQ(::setsockopt(sender.descriptor(), SOL_SOCKET, SO_NO_CHECK, &on, sizeof(on)), 0);
  const std::string sent = std::string(1000, 'a') + std::string(1000, 'b') + std::string(7, 'c');
  EXPECT_EQ(sender.Send(receiver.local(), AsBytes(sent), 1000), sent.size());
  std::string received;
  while (receiver.Receive(
      [&](const UdpPath&, std::span<const std::byte> datagram) { received += AsText(datagram); })) {
  }
  EXPECT_EQ(received, sent);
}

TEST(UdpSocket, SaysWhenNobodyListensAtItsPeer) {
  UdpSocket::Options options;
  {
    const auto gone = *UdpSocket::Bind(SocketAddress::Loopback(0));
    options.peer = gone.local();
  }
  auto socket = *UdpSocket::Bind(options.peer->Any(), options);
  EXPECT_FALSE(socket.TakeRefusal());
  socket.Send(*options.peer, AsBytes("anybody?"), 8);
  // Loopback answers before Send() returns.
  EXPECT_FALSE(socket.Receive([](const UdpPath&, std::span<const std::byte>) {}));
  EXPECT_TRUE(socket.TakeRefusal());
  EXPECT_FALSE(socket.TakeRefusal());
}

TEST(UdpSocket, TakesOnlyItsPeersDatagrams) {
  auto peer = *UdpSocket::Bind(SocketAddress::Loopback(0));
  auto stranger = *UdpSocket::Bind(SocketAddress::Loopback(0));
  UdpSocket::Options options;
  options.peer = peer.local();
  auto socket = *UdpSocket::Bind(SocketAddress::Loopback(0), options);
  stranger.Send(socket.local(), AsBytes("stranger"), 8);
  peer.Send(socket.local(), AsBytes("peer"), 4);
  std::vector<std::string> received;
  while (socket.Receive([&](const UdpPath&, std::span<const std::byte> datagram) {
    received.emplace_back(AsText(datagram));
  })) {
  }
  EXPECT_EQ(received, std::vector<std::string>{"peer"});
}

// Long packets have the id behind the version and its length, short ones behind the flags. A kernel
// that does not deal them out may bring them anywhere, but each once.
TEST(UdpSocket, SharedPortsDealPacketsOutByConnectionId) {
  constexpr size_t kCount = 3;
  auto sockets = *UdpSocket::BindShared(SocketAddress::Loopback(0), {}, kCount);
  ASSERT_EQ(sockets.size(), kCount);
  size_t right = 0;
  size_t came = 0;
  constexpr size_t kPackets = 60;
  for (size_t i = 0; i < kPackets; ++i) {
    auto sender = *UdpSocket::Bind(SocketAddress::Loopback(0));
    std::string packet(40, '\0');
    packet[0] = i % 2 == 0 ? '\x40' : '\xc0';
    packet[i % 2 == 0 ? 1 : 6] = static_cast<char>(i);
    sender.Send(sockets[0].local(), AsBytes(packet), packet.size());
    for (size_t at = 0; at < kCount; ++at) {
      while (sockets[at].Receive([&](const UdpPath&, std::span<const std::byte> datagram) {
        EXPECT_EQ(AsText(datagram), packet);
        ++came;
        right += at == i % kCount ? 1 : 0;
      })) {
      }
    }
  }
  EXPECT_EQ(came, kPackets);
  EXPECT_TRUE(right == kPackets || right < kPackets / 2) << right;
}

TEST(UdpSocket, ASharedPortIsNobodyElses) {
  auto sockets = *UdpSocket::BindShared(SocketAddress::Loopback(0), {}, 2);
  EXPECT_FALSE(UdpSocket::Bind(sockets[0].local()).ok());
  EXPECT_FALSE(UdpSocket::BindShared(sockets[0].local(), {}, 2).ok());
}

// A socket that listens everywhere is found at any address of the machine, also on IPv4 where it is
// one of IPv6, and answers from there.
TEST(UdpSocket, AnswersFromWhereItWasAsked) {
  UdpSocket::Options plain;
  plain.offload = false;
  for (const std::string everywhere : {"0.0.0.0:0", "[::]:0"}) {
    for (const UdpSocket::Options& options : {UdpSocket::Options(), plain}) {
      auto server = *UdpSocket::Bind(*SocketAddress::Resolve(everywhere), options);
      auto client = *UdpSocket::Bind(*SocketAddress::Resolve("127.0.0.1:0"), options);
      const std::string asked = "127.0.0.7:" + std::to_string(server.local().port());
      client.Send(*SocketAddress::Resolve(asked), AsBytes("question"), 8);
      const std::string answer(2000, 'x');
      EXPECT_TRUE(server.Receive([&](const UdpPath& path, std::span<const std::byte>) {
        EXPECT_NE(path.local.ToString().find(asked.substr(0, 9)), std::string::npos)
            << path.local.ToString();
        EXPECT_EQ(path.local.port(), server.local().port());
        EXPECT_EQ(server.Send(path, AsBytes(answer), 1000), answer.size());
      }));
      size_t received = 0;
      while (client.Receive([&](const UdpPath& path, std::span<const std::byte> datagram) {
        EXPECT_EQ(path.remote.ToString(), asked);
        received += datagram.size();
      })) {
      }
      EXPECT_EQ(received, answer.size());
    }
  }
}

TEST(UdpSocket, NamesTheAddressThatItIsBoundTo) {
  auto server = *UdpSocket::Bind(*SocketAddress::Resolve("[::]:0"));
  auto client = *UdpSocket::Bind(*SocketAddress::Resolve("[::1]:0"));
  client.Send(*SocketAddress::Resolve("[::1]:" + std::to_string(server.local().port())),
              AsBytes("x"), 1);
  const auto answer = [](UdpSocket& socket) {
    return socket.Receive([&](const UdpPath& path, std::span<const std::byte> datagram) {
      EXPECT_EQ(path.local.ToString().substr(0, 6), "[::1]:");
      EXPECT_EQ(path.remote.ToString().substr(0, 6), "[::1]:");
      socket.Send(path, datagram, datagram.size());
    });
  };
  EXPECT_TRUE(answer(server));
  EXPECT_TRUE(answer(client));
}

TEST(UdpSocket, SaysWhatBuffersItGot) {
  UdpSocket::Options options;
  options.receive_buffer_bytes = options.send_buffer_bytes = 64 * 1024;  // Granted everywhere.
  const auto socket = *UdpSocket::Bind(SocketAddress::Loopback(0), options);
  EXPECT_EQ(socket.receive_buffer_bytes(), 64U * 1024);
  EXPECT_EQ(socket.send_buffer_bytes(), 64U * 1024);
}

TEST(SocketAddress, IsReadAndWrittenAsPeopleWriteIt) {
  EXPECT_EQ(SocketAddress::Resolve("127.0.0.1:4433")->ToString(), "127.0.0.1:4433");
  EXPECT_EQ(SocketAddress::Resolve("[::1]:4433")->ToString(), "[::1]:4433");
  EXPECT_EQ(SocketAddress::Resolve("localhost:4433")->ToString(), "127.0.0.1:4433");
  EXPECT_EQ(SocketAddress::HostOf("[::1]:4433"), "::1");
  EXPECT_EQ(SocketAddress::HostOf("localhost:1"), "localhost");
  EXPECT_EQ(*SocketAddress::ResolveAll("localhost:4433"),
            std::vector<SocketAddress>{SocketAddress::Loopback(4433)});
  EXPECT_FALSE(SocketAddress::Resolve("127.0.0.1").ok());
  EXPECT_FALSE(SocketAddress::Resolve(":4433").ok());
  EXPECT_FALSE(SocketAddress::Resolve("127.0.0.1:port").ok());
}

// The system takes 70000 for 4464.
TEST(SocketAddress, RefusesPortsThatThereAreNot) {
  EXPECT_EQ(SocketAddress::Resolve("127.0.0.1:65535")->port(), 65535);
  for (const std::string port :
       {"65536", "70000", "4294967296", "99999999999999999999", "-1", "+1", " 1", "1 "}) {
    const auto address = SocketAddress::Resolve("127.0.0.1:" + port);
    ASSERT_FALSE(address.ok()) << port;
    EXPECT_EQ(address.error().code(), ErrorCode::kInvalid);
    EXPECT_NE(address.error().message().find("from 0 to 65535"), std::string::npos)
        << address.error().message();
  }
}

TEST(SocketAddress, KnowsLoopback) {
  EXPECT_TRUE(SocketAddress::Resolve("127.5.0.1:1")->is_loopback());
  EXPECT_TRUE(SocketAddress::Resolve("[::1]:1")->is_loopback());
  EXPECT_TRUE(SocketAddress::Resolve("[::ffff:127.0.0.1]:1")->is_loopback());
  EXPECT_FALSE(SocketAddress::Resolve("192.0.2.1:1")->is_loopback());
  EXPECT_FALSE(SocketAddress::Resolve("[2001:db8::1]:1")->is_loopback());
}

}  // namespace
}  // namespace kvcast
