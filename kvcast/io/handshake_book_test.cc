#include "kvcast/io/handshake_book.h"

#include <gtest/gtest.h>

namespace kvcast {
namespace {

SocketAddress At(const char* address) { return *SocketAddress::Resolve(address); }

TEST(HandshakeBook, NamesTheOldestOfTheNetworkThatHasMost) {
  HandshakeBook<int> book;
  book.Begin(1, At("192.0.2.1:1"));
  book.Begin(2, At("198.51.100.7:1"));
  book.Begin(3, At("198.51.100.8:2"));
  EXPECT_EQ(book.OldestOfMost(), 2);
  book.End(2);
  book.End(2);
  book.Begin(4, At("192.0.2.1:2"));
  EXPECT_EQ(book.size(), 3U);
  EXPECT_EQ(book.OldestOfMost(), 1);
}

TEST(HandshakeBook, CountsANeighbourhoodOfIpv6AsOneNetwork) {
  HandshakeBook<int> book;
  book.Begin(1, At("[2001:db8:0:100::1]:1"));
  book.Begin(2, At("[2001:db8:0:200::1]:1"));
  book.Begin(3, At("[2001:db8:0:2ff::9]:1"));
  EXPECT_EQ(book.OldestOfMost(), 2);
}

TEST(HandshakeBook, TakesAnIpv4AddressThatIsWrittenAsIpv6ForWhatItIs) {
  HandshakeBook<int> book;
  book.Begin(1, At("[::ffff:192.0.2.1]:1"));
  book.Begin(2, At("[::ffff:198.51.100.7]:1"));
  book.Begin(3, At("198.51.100.8:1"));
  EXPECT_EQ(book.OldestOfMost(), 2);
}

}  // namespace
}  // namespace kvcast
