// What a peer does wrong, byte by byte, and what it is told.
#include <gtest/gtest.h>

#include "kvcast/base/hex.h"
#include "kvcast/moqt/session.h"

namespace kvcast::moqt {
namespace {

constexpr const char* kSetupHex = "af000000";
// What a client's streams are numbered.
constexpr StreamId kControl = 2;
StreamId Bidi(uint64_t n) { return 4 * n; }
StreamId Uni(uint64_t n) { return 4 * n + 6; }

// A server, and a client made of bytes.
class Peer {
 public:
  explicit Peer(const Limits& limits = {}) : session_(Role::kServer, {}, limits, Instant()) {}

  Peer& SetUp() { return Send(kControl, kSetupHex); }
  Peer& Send(StreamId stream, std::string_view hex, bool fin = false) {
    const std::vector<std::byte> bytes = *FromHex(hex);
    session_.OnStreamData(stream, bytes, fin);
    return *this;
  }
  Session& session() { return session_; }

  template <typename T>
  std::vector<T> Events() {
    while (std::optional<Event> event = session_.NextEvent()) {
      events_.push_back(*std::move(event));
    }
    std::vector<T> found;
    for (const Event& event : events_) {
      if (const T* match = std::get_if<T>(&event)) {
        found.push_back(*match);
      }
    }
    return found;
  }
  template <typename T>
  std::vector<T> Actions() {
    while (std::optional<TransportAction> action = session_.NextAction()) {
      actions_.push_back(*std::move(action));
    }
    std::vector<T> found;
    for (const TransportAction& action : actions_) {
      if (const T* match = std::get_if<T>(&action)) {
        found.push_back(*match);
      }
    }
    return found;
  }
  // The code that the session was closed with, if it was.
  std::optional<uint64_t> closed() {
    const std::vector<CloseConnection> closes = Actions<CloseConnection>();
    return closes.empty() ? std::nullopt : std::optional(closes[0].code);
  }
  // What was sent on a stream.
  std::string Sent(StreamId stream) {
    std::string hex;
    for (const SendBytes& send : Actions<SendBytes>()) {
      if (send.stream == stream) {
        hex += ToHex(AsBytes(send.bytes.ToString()));
      }
    }
    return hex;
  }
  uint64_t CreditOf(StreamId stream) {
    uint64_t bytes = 0;
    for (const StreamCredit& credit : Actions<StreamCredit>()) {
      bytes += credit.stream == stream ? credit.bytes : 0;
    }
    return bytes;
  }

 private:
  Session session_;
  std::vector<Event> events_;
  std::vector<TransportAction> actions_;
};

// PUBLISH of request `id`, track ("a", "b" + n), alias n.
std::string PublishHex(int id, int alias) {
  const std::byte bytes[] = {std::byte(0x1d),  std::byte(0), std::byte(8),
                             std::byte(id),    std::byte(1), std::byte(1),
                             std::byte('a'),   std::byte(1), std::byte('a' + alias),
                             std::byte(alias), std::byte(0)};
  return ToHex(bytes);
}

struct Sent {
  StreamId stream;
  std::string hex;
  bool fin = false;
};
struct Case {
  const char* why;
  std::vector<Sent> sent;
  SessionCode code;
};
using Code = SessionCode;

void ExpectCloses(const std::vector<Case>& cases) {
  for (const auto& [why, sent, code] : cases) {
    Peer peer;
    peer.SetUp();
    for (const Sent& piece : sent) {
      EXPECT_FALSE(peer.closed().has_value()) << why;
      peer.Send(piece.stream, piece.hex, piece.fin);
    }
    EXPECT_EQ(peer.closed(), static_cast<uint64_t>(code)) << why;
    EXPECT_EQ(peer.Events<SessionClosed>().size(), 1u) << why;
  }
}

TEST(SessionFaults, OfOneWayStreamsCloseTheSession) {
  ExpectCloses({
      {"a second control stream", {{Uni(0), kSetupHex}}, Code::kProtocolViolation},
      {"a second SETUP", {{kControl, kSetupHex}}, Code::kProtocolViolation},
      {"a request on the control stream", {{kControl, PublishHex(0, 1)}}, Code::kProtocolViolation},
      {"an unknown message", {{kControl, "3f0000"}}, Code::kProtocolViolation},
      {"the end of the control stream", {{kControl, "", true}}, Code::kProtocolViolation},
      {"two GOAWAYs", {{kControl, "100003000001100003000001"}}, Code::kProtocolViolation},
      {"a GOAWAY with a place to go", {{kControl, "10000401610001"}}, Code::kProtocolViolation},
      {"a GOAWAY for no request of ours", {{kControl, "100003000000"}}, Code::kInvalidRequestId},
      {"an unknown kind of stream", {{Uni(0), "04"}}, Code::kProtocolViolation},
      {"a reserved kind of subgroup", {{Uni(0), "16"}}, Code::kProtocolViolation},
      {"an empty stream", {{Uni(0), "", true}}, Code::kProtocolViolation},
      {"a header cut short", {{Uni(0), "1001", true}}, Code::kProtocolViolation},
      {"a fetch not asked for", {{Uni(0), "0501"}}, Code::kProtocolViolation},
      {"a fetch of the peer's own", {{Uni(0), "0500"}}, Code::kProtocolViolation},
  });
}

TEST(SessionFaults, OfFirstMessagesCloseTheSession) {
  ExpectCloses({
      {"an answer first on a stream", {{Bidi(0), "07000100"}}, Code::kProtocolViolation},
      {"an unknown message first", {{Bidi(0), "3f0000"}}, Code::kProtocolViolation},
      {"GOAWAY first on a stream", {{Bidi(0), "1000020000"}}, Code::kProtocolViolation},
      {"PUBLISH_OK's old number", {{Bidi(0), "1e000100"}}, Code::kProtocolViolation},
      {"a request cut short", {{Bidi(0), "1d0008", true}}, Code::kProtocolViolation},
      {"a request stream with nothing", {{Bidi(0), "", true}}, Code::kProtocolViolation},
      {"a server's request id", {{Bidi(0), PublishHex(1, 1)}}, Code::kInvalidRequestId},
      {"a request id used twice",
       {{Bidi(0), PublishHex(0, 1)}, {Bidi(1), PublishHex(0, 2)}},
       Code::kInvalidRequestId},
      {"an alias used twice",
       {{Bidi(0), PublishHex(0, 1)}, {Bidi(1), "1d000802010161017a0100"}},
       Code::kDuplicateTrackAlias},
  });
}

TEST(SessionFaults, OfRequestsCloseTheSession) {
  ExpectCloses({
      {"a token to keep",
       {{Bidi(0), "1d000e0001016101620101030401000061"}},
       Code::kAuthTokenCacheOverflow},
      {"a token never kept",
       {{Bidi(0), "1d000c000101610162010103020200"}},
       Code::kUnknownAuthTokenAlias},
      {"two PUBLISH_DONEs",
       {{Bidi(0), PublishHex(0, 1) + "0b0003020200" + "0b0003020200"}},
       Code::kProtocolViolation},
      {"SUBSCRIBE_OK to a PUBLISH of the peer's",
       {{Bidi(0), PublishHex(0, 1) + "0400020000"}},
       Code::kProtocolViolation},
      {"an update with a used id",
       {{Bidi(0), PublishHex(0, 1) + "0200020000"}},
       Code::kInvalidRequestId},
      {"an update of a track's status",
       {{Bidi(0), "0d0007000101610162000200020200"}},
       Code::kProtocolViolation},
      {"an unknown parameter in an update",
       {{Bidi(0), PublishHex(0, 1) + "02000402010800"}},
       Code::kProtocolViolation},
      {"an object cut short",
       {{Bidi(0), PublishHex(0, 1)}, {Uni(0), "10010000000561", true}},
       Code::kProtocolViolation},
      {"a bad status in an object",
       {{Bidi(0), PublishHex(0, 1)}, {Uni(0), "10010000000009"}},
       Code::kProtocolViolation},
      {"two GOAWAYs on one request",
       {{Bidi(0), PublishHex(0, 1) + "1000020000" + "1000020000"}},
       Code::kProtocolViolation},
  });
}

TEST(SessionFaults, RefuseTheRequestWhereTheDraftSaysSo) {
  const struct {
    const char* why;
    std::string hex;
    RequestCode code;
  } cases[] = {
      {"a namespace of the protocol's own", "0300070001012e016200", RequestCode::kDoesNotExist},
      {"a session's own track", "03000d0001082e73657373696f6e0000", RequestCode::kDoesNotExist},
      {"a fetch of nothing", "16000b000101016101620203020300", RequestCode::kInvalidRange},
      {"a fetch that joins nothing", "1600050002000000", RequestCode::kInvalidJoiningRequestId},
      {"a namespace of the protocol's own",
       "06000500"
       "01012e00",
       RequestCode::kDoesNotExist},
      {"a session's namespaces",
       "50000500"
       "01082e73657373696f6e00",
       RequestCode::kDoesNotExist},
      {"a track that demands more than we know", "1d000c0001016101620100c0400001",
       RequestCode::kUnsupportedExtension},
  };
  for (const auto& [why, hex, code] : cases) {
    Peer peer;
    peer.SetUp();
    std::string whole = hex;  // With the length that it should have.
    const size_t length = (hex.size() - 6) / 2;
    const std::byte size[] = {std::byte(length >> 8), std::byte(length)};
    whole.replace(2, 4, ToHex(size));
    peer.Send(Bidi(0), whole);
    EXPECT_FALSE(peer.closed().has_value()) << why;
    const std::string answer = peer.Sent(Bidi(0));
    ASSERT_GE(answer.size(), 8u) << why;
    EXPECT_EQ(answer.substr(0, 2), "05") << why;
    const std::byte number[] = {std::byte(code)};
    EXPECT_EQ(answer.substr(6, 2), ToHex(number)) << why;
    EXPECT_TRUE(peer.Actions<SendBytes>().back().fin) << why;
  }
}

TEST(SessionFaults, RefuseASecondPublicationOfATrack) {
  Peer peer;
  peer.SetUp().Send(Bidi(0), PublishHex(0, 1)).Send(Bidi(1), PublishHex(2, 1));
  EXPECT_FALSE(peer.closed().has_value());
  EXPECT_EQ(peer.Events<PublishReceived>().size(), 1u);
  EXPECT_EQ(peer.Sent(Bidi(1)).substr(6, 2), "19");
}

TEST(SessionFaults, EndOnlyTheRequestWhereATrackIsMalformed) {
  Peer peer;
  peer.SetUp().Send(Bidi(0), PublishHex(0, 1)).Send(Bidi(1), PublishHex(2, 2));
  peer.Send(Uni(0), "1101000000040b020b000161");
  EXPECT_FALSE(peer.closed().has_value());
  const auto cancelled = peer.Events<RequestCancelled>();
  ASSERT_EQ(cancelled.size(), 1u);
  EXPECT_EQ(cancelled[0].request, 0u);
  EXPECT_EQ(cancelled[0].code, static_cast<uint64_t>(ResetCode::kMalformedTrack));
  // Both its streams are given up; the other track goes on.
  EXPECT_EQ(peer.Actions<StopSending>().size(), 2u);
  peer.Send(Uni(1), "10020000000161");
  EXPECT_TRUE(peer.session().Take(2).has_value());
}

TEST(SessionFaults, CostTheStreamWhereOurLimitsArePassed) {
  Limits limits;
  limits.object_bytes_max = 1000;
  Peer peer(limits);
  peer.SetUp().Send(Bidi(0), PublishHex(0, 1)).Send(Uni(0), "100100000084006161");
  EXPECT_FALSE(peer.closed().has_value());
  ASSERT_EQ(peer.Actions<StopSending>().size(), 1u);
  EXPECT_EQ(peer.Actions<StopSending>()[0].code, static_cast<uint64_t>(ResetCode::kExcessiveLoad));
  const auto ended = std::get<SubgroupEnd>(*peer.session().Take(0));
  EXPECT_FALSE(ended.complete);
  peer.Send(Uni(0), "616161", true);
  peer.Send(Uni(1), "10010100000161", true);
  EXPECT_TRUE(std::holds_alternative<ReceivedObject>(*peer.session().Take(0)));
}

TEST(SessionFaults, RefuseRequestsBeyondTheLimit) {
  Limits limits;
  limits.requests_max = 2;
  Peer peer(limits);
  peer.SetUp();
  for (int i = 0; i < 3; ++i) {
    peer.Send(Bidi(static_cast<uint64_t>(i)), PublishHex(2 * i, i));
  }
  EXPECT_EQ(peer.Events<PublishReceived>().size(), 2u);
  EXPECT_EQ(peer.Sent(Bidi(2)).substr(6, 6), "0983e9");  // It may be tried again in a second.
}

TEST(BeforeSetup, EverythingWaitsWithoutCredit) {
  Peer peer;
  peer.Send(Uni(0), "10010000000161", true);
  peer.Send(Bidi(0), PublishHex(0, 1));
  EXPECT_TRUE(peer.Events<PublishReceived>().empty());
  EXPECT_EQ(peer.CreditOf(Bidi(0)), 0u);
  peer.SetUp();
  ASSERT_EQ(peer.Events<PublishReceived>().size(), 1u);
  EXPECT_EQ(peer.CreditOf(Bidi(0)), 11u);
  EXPECT_TRUE(std::holds_alternative<ReceivedObject>(*peer.session().Take(0)));
  EXPECT_TRUE(std::get<SubgroupEnd>(*peer.session().Take(0)).complete);
}

TEST(BeforeSetup, WhatIsTooMuchIsRefused) {
  Limits limits;
  limits.early_bytes = 20;
  Peer peer(limits);
  peer.Send(Bidi(0), PublishHex(0, 1)).Send(Bidi(1), PublishHex(2, 2));
  EXPECT_EQ(peer.Actions<ResetStream>().size(), 1u);
  EXPECT_EQ(peer.Actions<StopSending>().size(), 1u);
  peer.SetUp();
  EXPECT_EQ(peer.Events<PublishReceived>().size(), 1u);
  EXPECT_FALSE(peer.closed().has_value());
}

// A request of ours that was cancelled has reset its stream; what still comes resets it no more.
TEST(BeforeSetup, WhatIsTooMuchForACancelledRequestChangesNothing) {
  Limits limits;
  limits.early_bytes = 4;
  Peer peer(limits);
  const RequestId asked =
      *peer.session().Fetch(*TrackName::Of({}, "t"), LocationRange::Groups(0, 1), {});
  peer.session().Cancel(asked, ResetCode::kCancelled);
  const StreamId ours = 1;
  peer.Send(ours, "1800040001050000");
  EXPECT_EQ(peer.Actions<ResetStream>().size(), 1u);
  EXPECT_EQ(peer.Actions<StopSending>().size(), 1u);
}

// A reset may overtake the request that it cancels. A stream with one half open counts for ever.
TEST(Requests, CancelledBeforeTheyCameAreAnsweredByAReset) {
  Peer peer;
  peer.SetUp();
  peer.session().OnStreamReset(Bidi(0), static_cast<uint64_t>(ResetCode::kCancelled));
  ASSERT_EQ(peer.Actions<ResetStream>().size(), 1u);
  EXPECT_EQ(peer.Actions<ResetStream>()[0].stream, Bidi(0));
  peer.session().OnStopSending(Bidi(0), static_cast<uint64_t>(ResetCode::kCancelled));
  EXPECT_EQ(peer.Actions<ResetStream>().size(), 1u);
  EXPECT_FALSE(peer.closed().has_value());
}

TEST(UnknownAlias, WaitsForItsTrackWithoutCredit) {
  Peer peer;
  peer.SetUp().Send(Uni(0), "10010000").Send(Uni(0), "000161");
  EXPECT_EQ(peer.CreditOf(Uni(0)), 0u);
  peer.Send(Bidi(0), PublishHex(0, 1));
  EXPECT_EQ(peer.CreditOf(Uni(0)), 7u);
  EXPECT_TRUE(std::holds_alternative<ReceivedObject>(*peer.session().Take(0)));
}

TEST(UnknownAlias, IsRefusedWhenTooMuchWaits) {
  Limits limits;
  limits.early_bytes = 4;
  Peer peer(limits);
  peer.SetUp().Send(Uni(0), "1001000000026161").Send(Uni(1), "10020000000161");
  ASSERT_EQ(peer.Actions<StopSending>().size(), 1u);
  EXPECT_EQ(peer.Actions<StopSending>()[0].stream, Uni(1));
}

TEST(UnknownAlias, IsDroppedIfItsTrackIsOver) {
  Peer peer;
  peer.SetUp().Send(Bidi(0), PublishHex(0, 1));
  ASSERT_TRUE(peer.session().RefuseRequest(0, {RequestCode::kUninterested, {}, "", {}}).ok());
  peer.Send(Uni(0), "10010000000161");
  ASSERT_EQ(peer.Actions<StopSending>().size(), 1u);
  EXPECT_EQ(peer.Actions<StopSending>()[0].stream, Uni(0));
}

TEST(Padding, IsThrownAwayAndCredited) {
  Peer peer;
  peer.SetUp().Send(Uni(0), "f0132b3e28000000000000");
  EXPECT_FALSE(peer.closed().has_value());
  EXPECT_EQ(peer.CreditOf(Uni(0)), 11u);
}

TEST(Update, ChangesWhatThePublisherSends) {
  Peer peer;
  // SUBSCRIBE of request 0, then an update to FORWARD=0.
  peer.SetUp().Send(Bidi(0), "03000700010161016200");
  ASSERT_TRUE(peer.session().AcceptSubscribe(0, {}, {}).ok());
  EXPECT_TRUE(peer.session().OpenSubgroup(0, {}).ok());
  peer.Send(Bidi(0), "02000402011000");
  EXPECT_FALSE(peer.closed().has_value());
  ASSERT_EQ(peer.Events<UpdateReceived>().size(), 1u);
  ASSERT_TRUE(peer.session().AcceptUpdate(0, {}).ok());
  EXPECT_EQ(peer.Sent(Bidi(0)), "040002000007000100");
  EXPECT_FALSE(peer.session().OpenSubgroup(0, {}).ok());
}

}  // namespace
}  // namespace kvcast::moqt
