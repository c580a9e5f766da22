#include "kvcast/io/udp_probe.h"

#include <gtest/gtest.h>

#include "kvcast/io/system_release.h"
#include "kvcast/io/udp_socket.h"

namespace kvcast {
namespace {

// What is granted depends on the machine; that something is does not.
TEST(UdpProbe, TriesRealSockets) {
  const auto facts = ProbeUdp();
  ASSERT_TRUE(facts.ok()) << facts.error().ToString();
  EXPECT_GT(facts->receive_buffer_bytes, 0u);
  EXPECT_GT(facts->send_buffer_bytes, 0u);
  EXPECT_LE(facts->receive_buffer_bytes, facts->buffer_bytes_wanted);
  // What a socket of a node is given, and not what another would be.
  EXPECT_EQ(facts->receive_buffer_bytes,
            UdpSocket::Bind(SocketAddress::Loopback(0))->receive_buffer_bytes());
  EXPECT_TRUE(facts->segments || !facts->coalesces);
}

// Linux has both since 5.0, so that a probe that does not see them is wrong.
TEST(UdpProbe, SeesOffloads) {
  if (SystemRelease() < "Linux 5") {
    GTEST_SKIP() << SystemRelease() << " may not have them.";
  }
  const auto facts = ProbeUdp();
  ASSERT_TRUE(facts.ok());
  EXPECT_TRUE(facts->segments);
  EXPECT_TRUE(facts->coalesces);
}

}  // namespace
}  // namespace kvcast
