// A session whose draft puts every request on one stream: what it says on it, and what it makes of
// what a peer says. That the state machines are the same is for the tests of every shape to show.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "kvcast/moqt/draft_wire_test.h"
#include "kvcast/moqt/one_stream_codec_test.h"
#include "kvcast/moqt/session.h"
#include "kvcast/moqt/session_pair.h"

namespace kvcast::moqt {
namespace {

using draft::Framed;
using draft::Num;
using one_stream::kControlStream;

const std::string kGranted = Framed(one_stream::kMaxRequestId, Num(8));
const std::string kEmptySetup = Framed(one_stream::kSetup, "");
const std::string kNoParameters = Num(0);

TrackName SharedTrack() { return *TrackName::Of(*TrackNamespace::Of({"kv"}), "t"); }

std::string SubscribeTo(RequestId id, std::string_view name) {
  return Framed(one_stream::kSubscribe,
                Num(id) + draft::Space({"kv"}) + draft::Sized(name) + kNoParameters);
}

// A session, and a peer made of bytes.
class SharedStream {
 public:
  explicit SharedStream(Role role) : session_(role, SetupOf(role), {}, Instant(), codec_) {}

  Session& session() { return session_; }
  // After both SETUPs, and what each grants the other.
  SharedStream& Begin() {
    Say(kEmptySetup + kGranted);
    (void)Heard();
    return *this;
  }
  void Say(const std::string& bytes, StreamId stream = kControlStream) {
    session_.OnStreamData(stream, AsBytes(bytes), false);
  }
  // What the session said since on a stream.
  std::string Heard(StreamId stream = kControlStream) {
    std::string bytes;
    while (const std::optional<TransportAction> action = session_.NextAction()) {
      if (const auto* open = std::get_if<OpenStream>(&*action)) {
        opened_.push_back(open->stream);
      } else if (const auto* send = std::get_if<SendBytes>(&*action);
                 send != nullptr && send->stream == stream) {
        bytes += send->bytes.ToString();
      }
    }
    return bytes;
  }
  const std::vector<StreamId>& opened() const { return opened_; }
  template <typename T>
  std::vector<T> Told() {
    std::vector<T> found;
    while (std::optional<Event> event = session_.NextEvent()) {
      if (T* one = std::get_if<T>(&*event)) {
        found.push_back(std::move(*one));
      }
    }
    return found;
  }
  std::optional<SessionCode> ClosedWith() {
    const auto closed = Told<SessionClosed>();
    return closed.empty() ? std::nullopt : std::optional(static_cast<SessionCode>(closed[0].code));
  }

 private:
  static Setup SetupOf(Role role) {
    return role == Role::kClient ? SessionPair::ClientSetup() : Setup();
  }

  OneStreamCodec codec_;
  Session session_;
  std::vector<StreamId> opened_;
};

TEST(OneStream, BeginsOnceTheClientHasOpenedIt) {
  SharedStream client(Role::kClient);
  const std::string said = client.Heard();
  EXPECT_EQ(client.opened(), std::vector<StreamId>{kControlStream});
  EXPECT_EQ(said.substr(said.size() - kGranted.size()), kGranted);

  SharedStream server(Role::kServer);
  EXPECT_EQ(server.Heard(), "");  // There is no stream yet.
  server.Say(said.substr(0, 1));
  EXPECT_NE(server.Heard(), "");
  EXPECT_TRUE(server.opened().empty());
  server.Say(said.substr(1));
  EXPECT_EQ(server.Told<SetupDone>().size(), 1u);
}

TEST(OneStream, NamesRequestsByTheirIdsAndEndsThemByMessages) {
  SharedStream peer(Role::kClient);
  Session& session = peer.Begin().session();
  const RequestId first = *session.Subscribe(SharedTrack(), {});
  const RequestId second = *session.Fetch(SharedTrack(), LocationRange::Groups(0, 1), {});
  const RequestId third = *session.PublishNamespace(*TrackNamespace::Of({"n"}), {});
  EXPECT_EQ(peer.Heard().substr(0, SubscribeTo(first, "t").size()), SubscribeTo(first, "t"));
  peer.Say(Framed(one_stream::kRequestOk, Num(third) + kNoParameters));
  peer.Say(Framed(one_stream::kSubscribeOk, Num(first) + Num(7) + kNoParameters));
  const auto accepted = peer.Told<RequestAccepted>();
  ASSERT_EQ(accepted.size(), 2u);
  EXPECT_EQ(accepted[0].request, third);
  EXPECT_EQ(accepted[1].request, first);
  session.Cancel(first, ResetCode::kCancelled);
  session.Cancel(second, ResetCode::kCancelled);
  session.Cancel(third, ResetCode::kCancelled);
  EXPECT_EQ(peer.Heard(), Framed(one_stream::kUnsubscribe, Num(first)) +
                              Framed(one_stream::kFetchCancel, Num(second)) +
                              Framed(one_stream::kPublishNamespaceDone, Num(third)));
  EXPECT_EQ(peer.opened(), std::vector<StreamId>{kControlStream});
  // The two ends may cross.
  peer.Say(Framed(one_stream::kPublishDone, Num(first) + Num(2) + Num(0) + Num(0)));
  EXPECT_FALSE(session.closed());
}

TEST(OneStream, AnswersWhatThePeerAsksOnce) {
  SharedStream peer(Role::kServer);
  Session& session = peer.Begin().session();
  peer.Say(SubscribeTo(0, "a") + SubscribeTo(2, "b") + SubscribeTo(4, "c"));
  EXPECT_EQ(peer.Told<SubscribeReceived>().size(), 3u);
  EXPECT_EQ(peer.Heard(), Framed(one_stream::kMaxRequestId, Num(16)));  // It has used most.
  ASSERT_TRUE(session.AcceptSubscribe(2, {}, {}).ok());
  EXPECT_EQ(peer.Heard(), Framed(one_stream::kSubscribeOk, Num(2) + Num(0) + kNoParameters));
  const std::string refused = Num(0) + Num(0) + Num(0);
  session.Cancel(0, ResetCode::kCancelled);  // Not answered before.
  EXPECT_EQ(peer.Heard(), Framed(one_stream::kRequestError, Num(0) + refused));
  peer.Say(Framed(one_stream::kUnsubscribe, Num(4)));
  EXPECT_EQ(peer.Told<RequestCancelled>().size(), 1u);
  EXPECT_EQ(peer.Heard(), Framed(one_stream::kRequestError, Num(4) + refused));
  ASSERT_TRUE(session.EndTrack(2, DoneCode::kTrackEnded, "").ok());
  EXPECT_EQ(peer.Heard(), Framed(one_stream::kPublishDone, Num(2) + Num(2) + Num(0) + Num(0)));
  // An update that crosses the end of its request is answered, and nobody hears of it.
  peer.Say(Framed(one_stream::kRequestUpdate, Num(6) + Num(2) + kNoParameters));
  EXPECT_EQ(peer.Heard(), Framed(one_stream::kRequestError, Num(6) + refused));
  EXPECT_TRUE(peer.Told<UpdateReceived>().empty());
}

TEST(OneStream, WaitsForIdsThatThePeerGrants) {
  SharedStream peer(Role::kClient);
  Session& session = peer.session();
  peer.Say(kEmptySetup + Framed(one_stream::kMaxRequestId, Num(3)));
  (void)peer.Heard();
  const auto ask = [&](std::string_view name) {
    return *session.Subscribe(*TrackName::Of(*TrackNamespace::Of({"kv"}), name), {});
  };
  ASSERT_EQ(ask("a"), 0u);
  ASSERT_EQ(ask("b"), 2u);
  ASSERT_EQ(ask("c"), 4u);
  session.Cancel(4, ResetCode::kCancelled);
  EXPECT_EQ(peer.Heard(), SubscribeTo(0, "a") + SubscribeTo(2, "b") +
                              Framed(one_stream::kRequestsBlocked, Num(3)));
  ASSERT_EQ(ask("d"), 6u);
  EXPECT_EQ(peer.Heard(), "");
  peer.Say(Framed(one_stream::kMaxRequestId, Num(5)));
  EXPECT_EQ(peer.Heard(), SubscribeTo(4, "c") + Framed(one_stream::kUnsubscribe, Num(4)));
  peer.Say(Framed(one_stream::kMaxRequestId, Num(7)));
  EXPECT_EQ(peer.Heard(), SubscribeTo(6, "d"));
  peer.Say(Framed(one_stream::kMaxRequestId, Num(7)));
  EXPECT_EQ(peer.ClosedWith(), SessionCode::kProtocolViolation);
}

// On a stream of its own answers come in order; here they name what they answer.
TEST(OneStream, PutsAnswersToUpdatesInOrder) {
  SharedStream peer(Role::kClient);
  Session& session = peer.Begin().session();
  const RequestId request = *session.Subscribe(SharedTrack(), {});
  peer.Say(Framed(one_stream::kSubscribeOk, Num(request) + Num(7) + kNoParameters));
  Parameters wanted;
  wanted.subscriber_priority = 1;
  const RequestId first = *session.Update(request, wanted);
  const RequestId second = *session.Update(request, wanted);
  (void)peer.Heard();
  peer.Say(Framed(one_stream::kRequestOk, Num(second) + kNoParameters));
  EXPECT_TRUE(peer.Told<UpdateAccepted>().empty());
  peer.Say(Framed(one_stream::kRequestOk, Num(first) + kNoParameters));
  const auto accepted = peer.Told<UpdateAccepted>();
  ASSERT_EQ(accepted.size(), 2u);
  EXPECT_EQ(accepted[0].update, first);
  EXPECT_EQ(accepted[1].update, second);
}

TEST(OneStream, GivesPrefixesAStreamOfTheirOwn) {
  SharedStream peer(Role::kServer);
  Session& session = peer.Begin().session();
  const RequestId request = *session.SubscribeNamespace(*TrackNamespace::Of({"n"}), {});
  EXPECT_EQ(peer.Heard(1), Framed(one_stream::kSubscribeNamespace,
                                  Num(request) + draft::Space({"n"}) + kNoParameters));
  EXPECT_EQ(peer.opened(), std::vector<StreamId>{1});
  peer.Say(Framed(one_stream::kRequestOk, Num(request) + kNoParameters), 1);
  peer.Say(Framed(one_stream::kNamespace, draft::Space({"m"})), 1);
  EXPECT_EQ(peer.Told<NamespaceReceived>().size(), 1u);
}

TEST(OneStream, ClosesTheSessionOfWhoBreaksItsRules) {
  const struct {
    const char* what;
    StreamId stream;
    std::string said;
    SessionCode code;
  } cases[] = {
      {"an id beyond what was granted", 0, SubscribeTo(8, "a"), one_stream::kTooManyRequests},
      {"an id of ours", 0, SubscribeTo(1, "a"), SessionCode::kInvalidRequestId},
      {"an id twice", 0, SubscribeTo(0, "a") + SubscribeTo(0, "b"), SessionCode::kInvalidRequestId},
      {"an answer to nothing", 0, Framed(one_stream::kRequestOk, Num(1) + kNoParameters),
       SessionCode::kProtocolViolation},
      {"an update of nothing", 0,
       Framed(one_stream::kRequestUpdate, Num(0) + Num(6) + kNoParameters),
       SessionCode::kProtocolViolation},
      {"the end of nothing", 0, Framed(one_stream::kUnsubscribe, Num(2)),
       SessionCode::kProtocolViolation},
      {"an end that is for others", 0,
       SubscribeTo(0, "a") + Framed(one_stream::kFetchCancel, Num(0)),
       SessionCode::kProtocolViolation},
      {"SETUP twice", 0, kEmptySetup, SessionCode::kProtocolViolation},
      {"a request on a stream of its own", 4, SubscribeTo(0, "a"), SessionCode::kProtocolViolation},
      {"a control stream that goes one way", 2, kEmptySetup, SessionCode::kProtocolViolation},
  };
  for (const auto& [what, stream, said, code] : cases) {
    SharedStream peer(Role::kServer);
    peer.Begin().Say(said, stream);
    EXPECT_EQ(peer.ClosedWith(), code) << what;
  }
  SharedStream early(Role::kServer);
  early.Say(SubscribeTo(0, "a"));
  EXPECT_EQ(early.ClosedWith(), SessionCode::kProtocolViolation);
}

TEST(OneStream, NeverEnds) {
  for (int way = 0; way < 3; ++way) {
    SharedStream peer(Role::kClient);
    Session& session = peer.Begin().session();
    if (way == 0) {
      session.OnStreamData(kControlStream, {}, true);
    } else if (way == 1) {
      session.OnStreamReset(kControlStream, 0);
    } else {
      session.OnStopSending(kControlStream, 0);
    }
    EXPECT_EQ(peer.ClosedWith(), SessionCode::kProtocolViolation) << way;
  }
}

}  // namespace
}  // namespace kvcast::moqt
