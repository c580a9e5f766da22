// Sessions over QUIC itself: every request there is, asked by either end.
#include <deque>
#include <optional>
#include <string>
#include <variant>

#include "kvcast/io/quic_pair_test.h"
#include "kvcast/moqt/session.h"

namespace kvcast {
namespace {

using moqt::Role;

TrackNamespace Space(const std::string& last) { return *TrackNamespace::Of({"wire", last}); }
TrackName Track(const std::string& name) { return *TrackName::Of(Space("tracks"), name); }

Object MakeObject(Location location, size_t bytes) {
  Object object;
  object.location = location;
  object.payload = RandomBytes(bytes);
  object.priority = moqt::kDefaultPriority;
  object.properties = PropertiesBuilder().Number(0x3802, 7).Build();
  return object;
}

// One end: a session, and what it has told.
struct End {
  moqt::Session* session = nullptr;
  QuicConnection* connection = nullptr;
  std::deque<moqt::Event> events;
};

class QuicSessionTest : public QuicPairTest, public testing::WithParamInterface<Role> {
 protected:
  void SetUp() override {
    QuicPairTest::SetUp();
    server_ =
        *QuicServer::Listen(*loop_, listen_, ServersOwn(), {}, [this](QuicConnection& connection) {
          return Begin(server_end_, Role::kServer, connection);
        });
    const ClientCredentials credentials =
        *ClientCredentials::Make(PinnedCertificate{ServersOwn().fingerprint()});
    client_ = *QuicClient::Connect(*loop_, {server_->local(), "localhost"}, credentials, {},
                                   [this](QuicConnection& connection) {
                                     return Begin(client_end_, Role::kClient, connection);
                                   });
    for (End* end : {&client_end_, &server_end_}) {
      (void)Next<moqt::SetupDone>(*end);
    }
  }
  static std::unique_ptr<moqt::TransportUser> Begin(End& end, Role role,
                                                    QuicConnection& connection) {
    moqt::Setup setup;
    if (role == Role::kClient) {
      setup.path = "/";
      setup.authority = "localhost";
    }
    auto session = std::make_unique<moqt::Session>(role, setup, moqt::Limits(), Now());
    end.session = session.get();
    end.connection = &connection;
    return session;
  }

  // Who asks, and who answers.
  End& asker() { return GetParam() == Role::kClient ? client_end_ : server_end_; }
  End& other() { return GetParam() == Role::kClient ? server_end_ : client_end_; }
  moqt::Session& asks() { return *asker().session; }
  moqt::Session& answers() { return *other().session; }

  void Turn() {
    for (End* end : {&client_end_, &server_end_}) {
      if (end->session != nullptr) {
        end->connection->Poke();
        while (std::optional<moqt::Event> event = end->session->NextEvent()) {
          end->events.push_back(*std::move(event));
        }
      }
    }
  }
  // The next event of a kind; others before it, which no test here looks at, are dropped.
  template <typename T>
  T Next(End& end) {
    std::optional<T> found;
    const bool came = Until([&] {
      Turn();
      while (!found && !end.events.empty()) {
        if (T* const event = std::get_if<T>(&end.events.front())) {
          found = std::move(*event);
        }
        end.events.pop_front();
      }
      return found.has_value();
    });
    EXPECT_TRUE(came);
    return found.value();
  }
  // The next thing to take that is of a kind.
  template <typename T>
  T Take(End& end, moqt::RequestId request) {
    std::optional<T> found;
    EXPECT_TRUE(Until([&] {
      Turn();
      while (const std::optional<moqt::Received> item = end.session->Take(request)) {
        if (const T* const wanted = std::get_if<T>(&*item)) {
          found = *wanted;
          return true;
        }
      }
      return false;
    }));
    return found.value();
  }
  // A group of one object, and the track's end, from one end to the other.
  void SendAndTake(End& from, moqt::RequestId sent, End& to, moqt::RequestId received) {
    const Object object = MakeObject({0, 0}, 200'000);
    moqt::SubgroupHeader header;
    header.properties = true;
    const moqt::StreamId stream = *from.session->OpenSubgroup(sent, header);
    ASSERT_TRUE(from.session->SendObject(sent, stream, object).ok());
    ASSERT_TRUE(from.session->EndSubgroup(sent, stream).ok());
    ASSERT_TRUE(from.session->EndTrack(sent, moqt::DoneCode::kTrackEnded, "all").ok());
    const Object got = Take<moqt::ReceivedObject>(to, received).object;
    EXPECT_TRUE(got.payload == object.payload);
    EXPECT_EQ(got.properties, object.properties);
    const moqt::TrackEnd end = Take<moqt::TrackEnd>(to, received);
    EXPECT_TRUE(end.complete);
    EXPECT_EQ(end.done.code, moqt::DoneCode::kTrackEnded);
    EXPECT_EQ(end.done.streams, 1u);
    EXPECT_EQ(end.done.reason, "all");
  }

  End client_end_;
  End server_end_;
};

TEST_P(QuicSessionTest, PublishAndItsEnd) {
  const moqt::RequestId sent = *asks().Publish(Track("t"), {}, {});
  const auto came = Next<moqt::PublishReceived>(other());
  EXPECT_EQ(came.track, Track("t"));
  ASSERT_TRUE(answers().AcceptPublish(came.request, {}).ok());
  EXPECT_EQ(Next<moqt::RequestAccepted>(asker()).request, sent);
  SendAndTake(asker(), sent, other(), came.request);
}

TEST_P(QuicSessionTest, SubscribeAndWhatChangesIt) {
  const moqt::RequestId asked = *asks().Subscribe(Track("t"), {});
  const auto came = Next<moqt::SubscribeReceived>(other());
  moqt::Parameters answer;
  answer.largest_object = Location{3, 4};
  ASSERT_TRUE(answers().AcceptSubscribe(came.request, answer, {}).ok());
  EXPECT_EQ(Next<moqt::RequestAccepted>(asker()).parameters.largest_object, (Location{3, 4}));
  moqt::Parameters change;
  change.subscriber_priority = 9;
  const moqt::RequestId update = *asks().Update(asked, change);
  EXPECT_EQ(Next<moqt::UpdateReceived>(other()).parameters.subscriber_priority, 9);
  ASSERT_TRUE(answers().AcceptUpdate(came.request, {}).ok());
  EXPECT_EQ(Next<moqt::UpdateAccepted>(asker()).update, update);
  SendAndTake(other(), came.request, asker(), asked);
}

TEST_P(QuicSessionTest, FetchByItselfAndJoining) {
  const auto serve = [this](moqt::RequestId asked) {
    const auto came = Next<moqt::FetchReceived>(other());
    moqt::FetchOk answer;
    answer.last = came.range.last;
    ASSERT_TRUE(answers().AcceptFetch(came.request, answer).ok());
    const Object object = MakeObject(came.range.first, 100'000);
    ASSERT_TRUE(answers().SendFetched(came.request, object).ok());
    ASSERT_TRUE(answers().EndFetch(came.request).ok());
    EXPECT_EQ(Next<moqt::FetchAccepted>(asker()).request, asked);
    EXPECT_TRUE(Take<moqt::ReceivedObject>(asker(), asked).object.payload == object.payload);
    EXPECT_TRUE(Take<moqt::FetchEnd>(asker(), asked).complete);
  };
  serve(*asks().Fetch(Track("t"), {{1, 0}, {2, 5}}, {}));
  const moqt::RequestId subscribed = *asks().Subscribe(Track("t"), {});
  const auto came = Next<moqt::SubscribeReceived>(other());
  moqt::Parameters answer;
  answer.largest_object = Location{3, 4};
  ASSERT_TRUE(answers().AcceptSubscribe(came.request, answer, {}).ok());
  (void)Next<moqt::RequestAccepted>(asker());
  serve(*asks().FetchJoining(subscribed, moqt::Fetch::Type::kRelativeJoining, 1, {}));
  serve(*asks().FetchJoining(subscribed, moqt::Fetch::Type::kAbsoluteJoining, 0, {}));
}

TEST_P(QuicSessionTest, TrackStatus) {
  (void)asks().AskTrackStatus(Track("t"), {}).value();
  const auto came = Next<moqt::TrackStatusReceived>(other());
  moqt::Parameters answer;
  answer.largest_object = Location{1, 2};
  ASSERT_TRUE(answers().AnswerTrackStatus(came.request, answer, {}).ok());
  EXPECT_EQ(Next<moqt::RequestAccepted>(asker()).parameters.largest_object, (Location{1, 2}));
}

TEST_P(QuicSessionTest, NamespacesAreAnnouncedAndHeardOf) {
  const moqt::RequestId announced = *asks().PublishNamespace(Space("mine"), {});
  const auto came = Next<moqt::PublishNamespaceReceived>(other());
  EXPECT_EQ(came.space, Space("mine"));
  ASSERT_TRUE(answers().AcceptPublishNamespace(came.request, {}).ok());
  EXPECT_EQ(Next<moqt::RequestAccepted>(asker()).request, announced);
  asks().Cancel(announced, moqt::ResetCode::kCancelled);
  EXPECT_EQ(Next<moqt::RequestCancelled>(other()).request, came.request);

  (void)asks().SubscribeNamespace(Space("yours"), {}).value();
  const auto wanted = Next<moqt::SubscribeNamespaceReceived>(other());
  ASSERT_TRUE(answers().AcceptSubscribeNamespace(wanted.request, {}).ok());
  const TrackNamespace below = *Space("yours").Join(*TrackNamespace::Of({"one"}));
  ASSERT_TRUE(answers().AnnounceNamespace(wanted.request, below).ok());
  EXPECT_EQ(Next<moqt::NamespaceReceived>(asker()).space, below);
  ASSERT_TRUE(answers().WithdrawNamespace(wanted.request, below).ok());
  EXPECT_EQ(Next<moqt::NamespaceWithdrawn>(asker()).space, below);
}

TEST_P(QuicSessionTest, TracksBelowAPrefixArePublishedOrSaidToBeBlocked) {
  (void)asks().SubscribeTracks(Space("tracks"), {}).value();
  const auto wanted = Next<moqt::SubscribeTracksReceived>(other());
  ASSERT_TRUE(answers().AcceptSubscribeTracks(wanted.request, {}).ok());
  ASSERT_TRUE(answers().SendPublishBlocked(wanted.request, Track("blocked")).ok());
  EXPECT_EQ(Next<moqt::PublishBlockedReceived>(asker()).track, Track("blocked"));
  (void)answers().Publish(Track("t"), {}, {}).value();
  EXPECT_EQ(Next<moqt::PublishReceived>(asker()).track, Track("t"));
}

// A client cannot send a server elsewhere, only to another track.
TEST_P(QuicSessionTest, ARefusalMayNameAnotherPlace) {
  const moqt::RequestId asked = *asks().Subscribe(Track("t"), {});
  const auto came = Next<moqt::SubscribeReceived>(other());
  moqt::RequestError error;
  error.code = moqt::RequestCode::kRedirect;
  error.redirect.emplace();
  error.redirect->uri = GetParam() == Role::kClient ? "moqt://elsewhere.example/" : "";
  error.redirect->track = Track("elsewhere");
  ASSERT_TRUE(answers().RefuseRequest(came.request, error).ok());
  const auto refused = Next<moqt::RequestRefused>(asker());
  EXPECT_EQ(refused.request, asked);
  EXPECT_EQ(refused.error.redirect->uri, error.redirect->uri);
  EXPECT_EQ(refused.error.redirect->track, Track("elsewhere"));
}

TEST_P(QuicSessionTest, ObjectsComeAloneToo) {
  const moqt::RequestId sent = *asks().Publish(Track("t"), {}, {});
  const auto came = Next<moqt::PublishReceived>(other());
  ASSERT_TRUE(answers().AcceptPublish(came.request, {}).ok());
  Object object = MakeObject({5, 6}, 500);
  object.forwarding = Forwarding::kDatagram;
  ASSERT_TRUE(asks().SendDatagramObject(sent, object, true).ok());
  const auto got = Take<moqt::ReceivedObject>(other(), came.request);
  EXPECT_EQ(got.stream, moqt::ReceivedObject::kNoStream);
  EXPECT_EQ(got.object.location, object.location);
  EXPECT_TRUE(got.object.payload == object.payload);
}

TEST_P(QuicSessionTest, WhoIsAboutToLeaveSaysSo) {
  const std::string uri = GetParam() == Role::kServer ? "moqt://elsewhere.example/" : "";
  ASSERT_TRUE(asks().SendGoAway(uri, 60'000).ok());
  EXPECT_EQ(Next<moqt::GoAwayReceived>(other()).message.uri, uri);
  asks().Close(moqt::SessionCode::kNoError, "");
  EXPECT_EQ(Next<moqt::SessionClosed>(other()).code,
            static_cast<uint64_t>(moqt::SessionCode::kNoError));
}

INSTANTIATE_TEST_SUITE_P(AskedBy, QuicSessionTest, testing::Values(Role::kClient, Role::kServer),
                         [](const auto& each) {
                           return each.param == Role::kClient ? "TheClient" : "TheServer";
                         });

}  // namespace
}  // namespace kvcast
