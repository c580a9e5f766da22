// Whom a relay asks for what others want, and what those hear who wait.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "kvcast/relay/relay_world_test.h"

namespace kvcast::relay {
namespace {

using moqt::DoneCode;
using moqt::RequestCode;

TrackNamespace UpstreamSpace(std::initializer_list<std::string_view> fields) {
  return *TrackNamespace::Of(fields);
}
TrackName LiveUpstream(std::string_view name) {
  return *TrackName::Of(UpstreamSpace({"live", "a"}), name);
}

Properties DynamicGroups() { return PropertiesBuilder().Number(0x30, 1).Build(); }

// Two who told of namespaces, one within the other's, and one who wants a track.
struct Asked {
  Asked() {
    (void)*one->PublishNamespace(UpstreamSpace({"live"}), {});
    (void)*two->PublishNamespace(UpstreamSpace({"live", "a"}), {});
    world.Run();
    subscribed = *subscriber->Subscribe(LiveUpstream("t"), {});
    world.Run();
  }
  // The request by which a publisher was asked.
  static RequestId AskedOf(Client& client) { return client.One<moqt::SubscribeReceived>().request; }
  void Accept(Client& client, RequestId request, const Properties& properties = {}) {
    ASSERT_TRUE(client->AcceptSubscribe(request, {}, properties).ok());
    world.Run();
  }
  void RefuseBy(Client& client, RequestId request, RequestCode code) {
    ASSERT_TRUE(client->RefuseRequest(request, {code, {}, "", {}}).ok());
    world.Run();
  }

  RelayWorld world;
  Client& one = world.Join();
  Client& two = world.Join();
  Client& subscriber = world.Join();
  RequestId subscribed = 0;
};

TEST(RelayUpstream, AsksEveryoneWhoMayHaveATrack) {
  Asked w;
  const RequestId at_one = Asked::AskedOf(w.one);
  const RequestId at_two = Asked::AskedOf(w.two);
  w.Accept(w.one, at_one);
  EXPECT_EQ(w.subscriber.Take<moqt::RequestAccepted>().size(), 1u);
  w.Accept(w.two, at_two);
  // What both send comes once.
  w.one.SendGroup(at_one, LiveUpstream("t"), 0, 3);
  w.world.Run();
  w.two.SendGroup(at_two, LiveUpstream("t"), 0, 3);
  w.two.SendGroup(at_two, LiveUpstream("t"), 1, 2);
  w.world.Run();
  Brought brought;
  brought.TakeFrom(w.subscriber.session(), w.subscribed);
  EXPECT_EQ(brought.objects.size(), 5u);
  w.subscriber->Cancel(w.subscribed, moqt::ResetCode::kCancelled);
  w.world.Run();
  EXPECT_EQ(w.one.One<moqt::RequestCancelled>().request, at_one);
  EXPECT_EQ(w.two.One<moqt::RequestCancelled>().request, at_two);
}

TEST(RelayUpstream, RefusesWhenEveryoneHas) {
  Asked w;
  w.RefuseBy(w.one, Asked::AskedOf(w.one), RequestCode::kDoesNotExist);
  EXPECT_TRUE(w.subscriber.Take<moqt::RequestRefused>().empty());
  w.RefuseBy(w.two, Asked::AskedOf(w.two), RequestCode::kDoesNotExist);
  EXPECT_EQ(w.subscriber.One<moqt::RequestRefused>().error.code, RequestCode::kDoesNotExist);
}

// That a track does not exist, only those can say who were asked, one after the other.
TEST(RelayUpstream, AsksAnnouncersForWhatIsFetched) {
  Asked w;
  ASSERT_TRUE(w.subscriber->Fetch(LiveUpstream("x"), LocationRange::Groups(0, 1), {}).ok());
  ASSERT_TRUE(w.subscriber->AskTrackStatus(LiveUpstream("x"), {}).ok());
  w.world.Run();
  w.RefuseBy(w.two, w.two.One<moqt::FetchReceived>().request, RequestCode::kDoesNotExist);
  w.RefuseBy(w.one, w.one.One<moqt::FetchReceived>().request, RequestCode::kDoesNotExist);
  EXPECT_EQ(w.subscriber.One<moqt::RequestRefused>().error.code, RequestCode::kDoesNotExist);
  w.RefuseBy(w.two, w.two.One<moqt::TrackStatusReceived>().request, RequestCode::kDoesNotExist);
  const RequestId asked = w.one.One<moqt::TrackStatusReceived>().request;
  moqt::Parameters parameters;
  parameters.largest_object = Location{7, 3};
  ASSERT_TRUE(w.one->AnswerTrackStatus(asked, parameters, {}).ok());
  w.world.Run();
  EXPECT_EQ(w.subscriber.One<moqt::RequestAccepted>().parameters.largest_object, (Location{7, 3}));
  const TrackName nowhere = *TrackName::Of(UpstreamSpace({"dead"}), "x");
  ASSERT_TRUE(w.subscriber->Fetch(nowhere, LocationRange::Groups(0, 1), {}).ok());
  w.world.Run();
  EXPECT_EQ(w.subscriber.One<moqt::RequestRefused>().error.code, RequestCode::kDoesNotExist);
}

TEST(RelayUpstream, SaysWhyATrackWithAnUnknownExtensionIsRefused) {
  Asked w;
  w.RefuseBy(w.two, Asked::AskedOf(w.two), RequestCode::kDoesNotExist);
  w.Accept(w.one, Asked::AskedOf(w.one), PropertiesBuilder().Number(0x4000, 1).Build());
  EXPECT_EQ(w.subscriber.One<moqt::RequestRefused>().error.code,
            RequestCode::kUnsupportedExtension);
}

// A peer that says what it likes: our own sessions update no request before it is answered.
class Blunt {
 public:
  explicit Blunt(RelayWorld& world)
      : world_(&world),
        session_(moqt::Role::kServer, {}, {}, Instant()),
        peer_(world.relay().Join(session_)) {}
  ~Blunt() { world_->relay().Leave(peer_); }
  Blunt(const Blunt&) = delete;
  Blunt& operator=(const Blunt&) = delete;

  void Say(moqt::StreamId stream, const moqt::Message& message) {
    const std::string bytes = moqt::DefaultCodec().Encode(message)->ToString();
    session_.OnStreamData(stream, AsBytes(bytes), false);
    world_->relay().OnInput(peer_, world_->now());
  }
  // The groups of the streams that it was sent.
  std::vector<uint64_t> Groups() {
    std::vector<uint64_t> groups;
    std::set<moqt::StreamId> begun;
    while (const auto action = session_.NextAction()) {
      const auto* sent = std::get_if<moqt::SendBytes>(&*action);
      if (sent == nullptr || !moqt::IsUni(sent->stream) || !begun.insert(sent->stream).second) {
        continue;
      }
      const auto opening = moqt::DefaultCodec().DecodeOpening(sent->bytes.ToString());
      if (opening.ok() && *opening) {
        if (const auto* header = std::get_if<moqt::SubgroupHeader>(&**opening)) {
          groups.push_back(header->group);
        }
      }
    }
    return groups;
  }

 private:
  RelayWorld* world_;
  moqt::Session session_;
  PeerId peer_;
};

TEST(RelayUpstream, AnswersByTheFilterThatWasWantedLast) {
  Asked w;
  w.RefuseBy(w.two, Asked::AskedOf(w.two), RequestCode::kDoesNotExist);
  Blunt blunt(w.world);
  moqt::Setup setup;
  setup.path = "/";
  setup.authority = "node.example";
  blunt.Say(2, setup);
  blunt.Say(0, moqt::Subscribe{0, LiveUpstream("t"), {}});
  moqt::RequestUpdate update;
  update.request_id = 2;
  update.parameters.filter =
      moqt::SubscriptionFilter{moqt::SubscriptionFilter::Type::kAbsoluteRange, {5, 0}, 5};
  blunt.Say(0, update);
  const RequestId at_one = Asked::AskedOf(w.one);
  w.Accept(w.one, at_one);
  for (uint64_t group = 0; group < 8; ++group) {
    w.one.SendGroup(at_one, LiveUpstream("t"), group, 1);
    w.world.Run();
  }
  EXPECT_EQ(blunt.Groups(), std::vector<uint64_t>{5});
}

TEST(RelayUpstream, WaitsOnlySoLongForAnAnswer) {
  Asked w;
  ASSERT_TRUE(w.world.relay().deadline().has_value());
  w.world.Wait(*w.world.relay().deadline() - w.world.now());
  w.world.Run();
  const moqt::RequestError heard = w.subscriber.One<moqt::RequestRefused>().error;
  EXPECT_EQ(heard.code, RequestCode::kTimeout);
  EXPECT_TRUE(heard.retry_after_ms.has_value());
  EXPECT_EQ(w.one.Take<moqt::RequestCancelled>().size(), 1u);
  EXPECT_FALSE(w.world.relay().deadline().has_value());
}

// Whoever tells of every namespace there is, and then says nothing, keeps nobody from a track.
TEST(RelayUpstream, AsksNobodyForATrackThatIsHereWhole) {
  RelayWorld world;
  Client& publisher = world.Join();
  Client& silent = world.Join();
  Client& subscriber = world.Join();
  publisher.PublishAll(LiveUpstream("t"), 2, 3);
  (void)*silent->PublishNamespace({}, {});
  world.Run();
  (void)*subscriber->Subscribe(LiveUpstream("t"), {});
  world.Run();
  EXPECT_EQ(subscriber.Take<moqt::RequestAccepted>().size(), 1u);
  EXPECT_EQ(subscriber.One<moqt::PublishDoneReceived>().done.code, DoneCode::kTrackEnded);
  EXPECT_TRUE(silent.Take<moqt::SubscribeReceived>().empty());
}

TEST(RelayUpstream, AsksNoLongerForWhatNobodyWaitsFor) {
  Asked w;
  const RequestId at_one = Asked::AskedOf(w.one);
  w.subscriber->Cancel(w.subscribed, moqt::ResetCode::kCancelled);
  w.world.Run();
  EXPECT_EQ(w.one.One<moqt::RequestCancelled>().request, at_one);
  EXPECT_FALSE(w.world.relay().deadline().has_value());
  // The same again, and this time it is answered.
  w.subscribed = *w.subscriber->Subscribe(LiveUpstream("t"), {});
  w.world.Run();
  EXPECT_EQ(w.two.Take<moqt::SubscribeReceived>().size(), 2u);
  w.Accept(w.one, Asked::AskedOf(w.one));
  EXPECT_EQ(w.subscriber.One<moqt::RequestAccepted>().request, w.subscribed);
}

TEST(RelayUpstream, AnswersFromAPublicationThatComesWhileItAsks) {
  Asked w;
  Client& other = w.world.Join();
  const RequestId published = *other->Publish(LiveUpstream("t"), {}, {});
  w.world.Run();
  EXPECT_EQ(w.subscriber.One<moqt::RequestAccepted>().request, w.subscribed);
  other.SendGroup(published, LiveUpstream("t"), 0, 2);
  w.world.Run();
  Brought brought;
  brought.TakeFrom(w.subscriber.session(), w.subscribed);
  EXPECT_EQ(brought.objects.size(), 2u);
}

TEST(RelayUpstream, FollowersHearThatTheLastPublisherHasLeft) {
  Asked w;
  w.Accept(w.one, Asked::AskedOf(w.one));
  w.Accept(w.two, Asked::AskedOf(w.two));
  w.world.Leave(w.one);
  w.world.Run();
  EXPECT_TRUE(w.subscriber.Take<moqt::PublishDoneReceived>().empty());
  w.world.Leave(w.two);
  w.world.Run();
  EXPECT_EQ(w.subscriber.One<moqt::PublishDoneReceived>().done.code, DoneCode::kInternalError);
}

// One has left, another was asked and has not answered: who follows the track waits for that.
TEST(RelayUpstream, FollowersWaitForWhoWasAskedToo) {
  for (const bool accepts : {false, true}) {
    Asked w;
    w.Accept(w.one, Asked::AskedOf(w.one));
    w.world.Leave(w.one);
    w.world.Run();
    EXPECT_TRUE(w.subscriber.Take<moqt::PublishDoneReceived>().empty());
    const RequestId at_two = Asked::AskedOf(w.two);
    if (accepts) {
      w.Accept(w.two, at_two);
      w.two.SendGroup(at_two, LiveUpstream("t"), 0, 3);
      w.world.Run();
      Brought brought;
      brought.TakeFrom(w.subscriber.session(), w.subscribed);
      EXPECT_EQ(brought.objects.size(), 3u);
    } else {
      w.RefuseBy(w.two, at_two, RequestCode::kDoesNotExist);
    }
    EXPECT_EQ(w.subscriber.Take<moqt::PublishDoneReceived>().size(), accepts ? 0u : 1u);
  }
}

TEST(RelayUpstream, AsksWhoTellsOfANamespaceLaterForWhatIsFollowed) {
  Asked w;
  const RequestId at_one = Asked::AskedOf(w.one);
  w.Accept(w.one, at_one);
  Client& late = w.world.Join();
  (void)*late->PublishNamespace(UpstreamSpace({"live"}), {});
  (void)*late->PublishNamespace(UpstreamSpace({"elsewhere"}), {});
  w.world.Run();
  const auto asked = late.One<moqt::SubscribeReceived>();
  EXPECT_EQ(asked.track, LiveUpstream("t"));
  w.Accept(late, asked.request);
  w.RefuseBy(w.two, Asked::AskedOf(w.two), RequestCode::kDoesNotExist);
  w.world.Leave(w.one);
  late.SendGroup(asked.request, LiveUpstream("t"), 0, 3);
  w.world.Run();
  Brought brought;
  brought.TakeFrom(w.subscriber.session(), w.subscribed);
  EXPECT_EQ(brought.objects.size(), 3u);
  EXPECT_FALSE(brought.track_end.has_value());
}

// One of the tracks is just being published by whoever tells of the namespace; the others are asked
// for all the same.
TEST(RelayUpstream, AsksForEveryTrackThatIsFollowed) {
  RelayWorld world;
  Client& first = world.Join();
  Client& late = world.Join();
  Client& subscriber = world.Join();
  for (const char* name : {"t", "u", "v"}) {
    (void)*first->Publish(LiveUpstream(name), {}, {});
    world.Run();
    (void)*subscriber->Subscribe(LiveUpstream(name), {});
    world.Run();
  }
  (void)*late->PublishNamespace(UpstreamSpace({"live"}), {});
  (void)*late->Publish(LiveUpstream("t"), {}, {});
  while (late.connection().Step()) {
  }
  world.relay().OnInput(late.peer(), world.now());
  world.Run();
  std::set<TrackName> asked;
  for (const auto& event : late.Take<moqt::SubscribeReceived>()) {
    asked.insert(event.track);
  }
  EXPECT_EQ(asked, (std::set<TrackName>{LiveUpstream("u"), LiveUpstream("v")}));
}

// It published by itself, so that nobody needed to be asked; now somebody does.
TEST(RelayUpstream, AsksOthersWhenAPublisherLeaves) {
  RelayWorld world;
  Client& publisher = world.Join();
  Client& other = world.Join();
  Client& subscriber = world.Join();
  (void)*publisher->Publish(LiveUpstream("t"), {}, {});
  (void)*other->PublishNamespace(UpstreamSpace({"live"}), {});
  world.Run();
  const RequestId subscribed = *subscriber->Subscribe(LiveUpstream("t"), {});
  world.Run();
  EXPECT_TRUE(other.Take<moqt::SubscribeReceived>().empty());
  world.Leave(publisher);
  world.Run();
  const auto asked = other.One<moqt::SubscribeReceived>();
  ASSERT_TRUE(other->AcceptSubscribe(asked.request, {}, {}).ok());
  other.SendGroup(asked.request, LiveUpstream("t"), 0, 3);
  world.Run();
  Brought brought;
  brought.TakeFrom(subscriber.session(), subscribed);
  EXPECT_EQ(brought.objects.size(), 3u);
  EXPECT_TRUE(subscriber.Take<moqt::PublishDoneReceived>().empty());
}

// Anyone may announce, ask, answer, publish, give up or leave, in any order and at any time.
class Bustle {
 public:
  explicit Bustle(uint64_t seed) : random_(seed) {
    for (int i = 0; i < 4; ++i) {
      members_.push_back({&world_.Join(), {}, {}});
    }
  }

  void Act() {
    Member& member = members_[random_.Below(members_.size())];
    Client& client = *member.client;
    for (const auto& asked : client.Take<moqt::SubscribeReceived>()) {
      member.asked.push_back(asked.request);
    }
    const TrackName track = LiveUpstream(random_.Below(2) == 0 ? "t" : "u");
    switch (random_.Below(9)) {
      case 0:
        Note(member, client->PublishNamespace(track.space().First(random_.Below(3)), {}));
        break;
      case 1:
      case 2: {
        moqt::Parameters parameters;
        if (random_.Below(2) == 0) {
          parameters.rendezvous_timeout_ms = random_.Below(3000);
        }
        Note(member, client->Subscribe(track, parameters));
        break;
      }
      case 3:
        Note(member, client->Publish(track, {}, {}));
        break;
      case 4:
        if (!member.ours.empty()) {
          client->Cancel(member.ours[random_.Below(member.ours.size())],
                         moqt::ResetCode::kCancelled);
        }
        break;
      case 5:
      case 6:
        Answer(member);
        break;
      case 7:
        world_.Wait(std::chrono::seconds(random_.Below(4)));
        break;
      default:
        if (random_.Below(5) == 0) {
          world_.Leave(client);
          member = {&world_.Join(), {}, {}};
        }
    }
    for (uint64_t steps = random_.Below(30); steps > 0 && world_.Step(); --steps) {
    }
  }

  void LeaveAll() {
    for (const Member& member : members_) {
      world_.Leave(*member.client);
    }
    world_.Run();
  }
  RelayWorld& world() { return world_; }

 private:
  struct Member {
    Client* client;
    std::vector<RequestId> ours;
    std::vector<RequestId> asked;  // Of it.
  };

  static void Note(Member& member, const Result<RequestId>& request) {
    if (request.ok()) {
      member.ours.push_back(*request);
    }
  }
  void Answer(Member& member) {
    if (member.asked.empty()) {
      return;
    }
    Client& client = *member.client;
    const RequestId request = member.asked[random_.Below(member.asked.size())];
    switch (random_.Below(4)) {
      case 0:
        (void)client->RefuseRequest(request, {RequestCode::kDoesNotExist, {}, "", {}}).ok();
        break;
      case 1:
        (void)client->EndTrack(request, DoneCode::kGoingAway, "").ok();
        break;
      default:
        (void)client->AcceptSubscribe(request, {}, {}).ok();
    }
  }

  RelayWorld world_;
  Random random_;
  std::vector<Member> members_;
};

// Nothing is left of it in the end: nobody is waited for, and no track is kept.
TEST(RelayUpstream, ForgetsEverythingInTheEndWhateverHappened) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Bustle bustle(seed);
    const size_t before = bustle.world().relay().stored_bytes();
    for (int i = 0; i < 80; ++i) {
      bustle.Act();
    }
    bustle.LeaveAll();
    EXPECT_FALSE(bustle.world().relay().deadline().has_value()) << "seed " << seed;
    EXPECT_EQ(bustle.world().relay().stored_bytes(), before) << "seed " << seed;
  }
}

// A track whose groups begin on demand, and one who follows it.
struct Dynamic {
  Dynamic() {
    published = *publisher->Publish(LiveUpstream("t"), {}, DynamicGroups());
    publisher.SendGroup(published, LiveUpstream("t"), 4, 1);
    world.Run();
    subscribed = *subscriber->Subscribe(LiveUpstream("t"), {});
    world.Run();
  }
  // What the publisher is asked for when a subscriber asks for this.
  std::vector<uint64_t> Ask(uint64_t group) {
    moqt::Parameters parameters;
    parameters.new_group_request = group;
    EXPECT_TRUE(subscriber->Update(subscribed, parameters).ok());
    world.Run();
    EXPECT_EQ(subscriber.Take<moqt::UpdateAccepted>().size(), 1u);
    std::vector<uint64_t> asked;
    for (const auto& update : publisher.Take<moqt::UpdateReceived>()) {
      asked.push_back(update.parameters.new_group_request.value());
      EXPECT_TRUE(publisher->AcceptUpdate(update.request, {}).ok());
    }
    world.Run();
    return asked;
  }
  using Groups = std::vector<uint64_t>;

  RelayWorld world;
  Client& publisher = world.Join();
  Client& subscriber = world.Join();
  RequestId published = 0;
  RequestId subscribed = 0;
};

TEST(RelayNewGroups, ArePassedOnUnlessOneIsOutstanding) {
  Dynamic w;
  EXPECT_EQ(w.Ask(0), Dynamic::Groups{0});
  EXPECT_EQ(w.Ask(0), Dynamic::Groups{});
  EXPECT_EQ(w.Ask(5), Dynamic::Groups{5});
  EXPECT_EQ(w.Ask(0), Dynamic::Groups{});
  w.publisher.SendGroup(w.published, LiveUpstream("t"), 5, 1);
  w.world.Run();
  EXPECT_EQ(w.Ask(0), Dynamic::Groups{0});
}

TEST(RelayNewGroups, AreNotPassedOnIfThereIsOne) {
  Dynamic w;
  EXPECT_EQ(w.Ask(4), Dynamic::Groups{});
  EXPECT_EQ(w.Ask(5), Dynamic::Groups{5});
}

TEST(RelayNewGroups, ThatALaterSubscriberWantsArePassedOn) {
  Dynamic w;
  Client& late = w.world.Join();
  moqt::Parameters parameters;
  parameters.new_group_request = 0;
  (void)*late->Subscribe(LiveUpstream("t"), parameters);
  w.world.Run();
  EXPECT_EQ(w.publisher.One<moqt::UpdateReceived>().parameters.new_group_request, 0u);
}

// The SUBSCRIBE has it, and is not followed by an update that says it again.
TEST(RelayNewGroups, AreAskedForWithTheTrack) {
  RelayWorld world;
  Client& publisher = world.Join();
  Client& subscriber = world.Join();
  (void)*publisher->PublishNamespace(UpstreamSpace({"live"}), {});
  world.Run();
  moqt::Parameters parameters;
  parameters.new_group_request = 3;
  (void)*subscriber->Subscribe(LiveUpstream("t"), parameters);
  world.Run();
  const auto asked = publisher.One<moqt::SubscribeReceived>();
  EXPECT_EQ(asked.parameters.new_group_request, 3u);
  ASSERT_TRUE(publisher->AcceptSubscribe(asked.request, {}, DynamicGroups()).ok());
  world.Run();
  EXPECT_EQ(subscriber.Take<moqt::RequestAccepted>().size(), 1u);
  EXPECT_TRUE(publisher.Take<moqt::UpdateReceived>().empty());
}

}  // namespace
}  // namespace kvcast::relay
