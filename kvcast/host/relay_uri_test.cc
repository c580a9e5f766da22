#include "kvcast/host/relay_uri.h"

#include <gtest/gtest.h>

namespace kvcast {
namespace {

TEST(RelayUri, HostPortAndPath) {
  struct Case {
    const char* text;
    const char* host_and_port;
    const char* authority;
    const char* path;
  };
  for (const Case& c : {
           Case{"moqt://relay.example:4433/moq", "relay.example:4433", "relay.example:4433",
                "/moq"},
           Case{"moqt://relay.example", "relay.example:443", "relay.example", ""},
           Case{"moqt://relay.example/", "relay.example:443", "relay.example", "/"},
           Case{"moqt://relay.example:1?a=b", "relay.example:1", "relay.example:1", "?a=b"},
           Case{"moqt://relay.example:1/p/q?a=b/c", "relay.example:1", "relay.example:1",
                "/p/q?a=b/c"},
           Case{"moqt://[2001:db8::7]:4433/x", "[2001:db8::7]:4433", "[2001:db8::7]:4433", "/x"},
           Case{"moqt://[::1]", "[::1]:443", "[::1]", ""},
           Case{"127.0.0.1:4433", "127.0.0.1:4433", "127.0.0.1:4433", ""},
       }) {
    const auto uri = RelayUri::Parse(c.text);
    ASSERT_TRUE(uri.ok()) << c.text << ": " << uri.error().ToString();
    EXPECT_EQ(uri->host_and_port, c.host_and_port) << c.text;
    EXPECT_EQ(uri->authority, c.authority) << c.text;
    EXPECT_EQ(uri->path, c.path) << c.text;
    EXPECT_FALSE(uri->fingerprint.has_value()) << c.text;
  }
}

TEST(RelayUri, AFingerprintIsPinnedAndNotSent) {
  const Digest digest = Sha256::Of("a certificate");
  for (const std::string& text :
       {"127.0.0.1:4433#" + digest.ToHex(), "moqt://127.0.0.1:4433/a?b#" + digest.ToHex()}) {
    const auto uri = RelayUri::Parse(text);
    ASSERT_TRUE(uri.ok()) << text;
    EXPECT_EQ(uri->fingerprint, digest) << text;
    EXPECT_EQ(uri->ToString().find('#'), std::string::npos) << text;
  }
}

TEST(RelayUri, WhatIsNoneIsInvalid) {
  for (const char* text :
       {"", "relay.example", "moqt://", "moqt://:4433", "moqt:///path", "moqt://a:0",
        "moqt://a:70000", "moqt://a:x", "a:1 b", "moqt://u@a:1", "moqt://a:1#12", ":1"}) {
    const auto uri = RelayUri::Parse(text);
    ASSERT_FALSE(uri.ok()) << text;
    EXPECT_EQ(uri.error().code(), ErrorCode::kInvalid) << text;
  }
  EXPECT_FALSE(RelayUri::Parse("moqt://" + std::string(9000, 'a')).ok());
}

TEST(RelayUri, WebTransportIsNotSupportedAndSaidSo) {
  const auto uri = RelayUri::Parse("https://relay.example:4433/moq");
  ASSERT_FALSE(uri.ok());
  EXPECT_EQ(uri.error().code(), ErrorCode::kUnsupported);
  EXPECT_NE(uri.error().message().find("WebTransport"), std::string::npos);
}

}  // namespace
}  // namespace kvcast
