#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "kvcast/base/json.h"
#include "kvcast/base/random.h"
#include "kvcast/engine/scripted_server_test.h"
#include "kvcast/host/command.h"
#include "kvcast/host/command_outcome_test.h"
#include "kvcast/host/local_node_test.h"
#include "kvcast/host/moq_flags.h"
#include "kvcast/host/relay_connection.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/file.h"
#include "kvcast/io/scratch_directory.h"

namespace kvcast {
namespace {

class MoqCommandTest : public testing::Test {
 protected:
  CommandOutcome Moq(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "moq");
    std::vector<const char*> words;
    for (const std::string& argument : arguments) {
      words.push_back(argument.c_str());
    }
    return RunKvcast(words);
  }
  // The lines of --json that have this type.
  static std::vector<Json> Lines(const std::string& out, const std::string& type) {
    std::vector<Json> found;
    std::istringstream lines(out);
    for (std::string line; std::getline(lines, line);) {
      Json json = *ParseJson(line);
      if (json["type"] == type) {
        found.push_back(std::move(json));
      }
    }
    return found;
  }
  std::string File(const std::string& name, size_t bytes) {
    std::string text(bytes, '\0');
    Random(bytes).Fill(std::as_writable_bytes(std::span(text)));
    EXPECT_TRUE(WriteFileAtomically(scratch_ / name, AsBytes(text)).ok());
    return (scratch_ / name).string();
  }
  std::string Text(const std::filesystem::path& path) { return *ReadFile(path, 1 << 25); }

  ScratchDirectory scratch_ = *ScratchDirectory::Make();
};

TEST_F(MoqCommandTest, WhatIsPublishedIsFetchedByteForByte) {
  const LocalNode node;
  const std::string small = File("small", 64 * 1024);
  const std::string large = File("large", 2 * 1024 * 1024);
  const CommandOutcome published = Moq({"pub", node.flag(), "demo-files--all", small, large});
  ASSERT_EQ(published.status, kExitOk) << published.err;
  EXPECT_NE(published.out.find("demo-files--all: 2 objects"), std::string::npos) << published.out;

  const std::string folder = (scratch_ / "out").string();
  const CommandOutcome fetched =
      Moq({"fetch", node.flag(), "demo-files--all", "--output", folder, "--json"});
  ASSERT_EQ(fetched.status, kExitOk) << fetched.err;
  EXPECT_EQ(Text(scratch_ / "out/0-0"), Text(small));
  EXPECT_EQ(Text(scratch_ / "out/0-1"), Text(large));
  const std::vector<Json> objects = Lines(fetched.out, "object");
  ASSERT_EQ(objects.size(), 2U);
  EXPECT_EQ(objects[1]["sha256"], Sha256::Of(Text(large)).ToHex());
  EXPECT_EQ(Lines(fetched.out, "end")[0]["complete"], true);

  const CommandOutcome raw = Moq({"fetch", node.flag(), "demo-files--all", "0/0", "--output", "-"});
  EXPECT_EQ(raw.out, Text(small));
}

// FETCH_OK "can come at any time relative to object delivery": here, when all of it has left, which
// is more than a stream may bring before something of it is taken.
TEST_F(MoqCommandTest, AFetchIsTakenBeforeItIsAnswered) {
  NodeScript script;
  script.accept_fetch_last = true;
  script.alter = [](std::vector<moqt::FetchItem>& items) {
    items.clear();
    for (uint64_t i = 0; i < 12; ++i) {
      Object object;
      object.location = {0, i};
      object.payload = Bytes::Of(std::string(1024 * 1024, 'x'));
      items.emplace_back(object);
    }
  };
  const ScriptedServer server(script);
  const CommandOutcome fetched =
      Moq({"fetch", server.flag(), "demo--t", "0", "--json", "--timeout", "5"});
  EXPECT_EQ(fetched.status, kExitOk) << fetched.err;
  EXPECT_EQ(Lines(fetched.out, "object").size(), 12U);
}

TEST_F(MoqCommandTest, GroupsAndSubgroupsAreLaidOutAsAsked) {
  const LocalNode node;
  const CommandOutcome published =
      Moq({"pub", node.flag(), "demo--laid", "--count", "7", "--size", "100", "--group-objects",
           "3", "--first-group", "5", "--subgroups", "2", "--json"});
  ASSERT_EQ(published.status, kExitOk) << published.err;
  EXPECT_EQ((*ParseJson(published.out))["objects"], 7);
  const CommandOutcome fetched = Moq({"fetch", node.flag(), "demo--laid", "--json"});
  ASSERT_EQ(fetched.status, kExitOk) << fetched.err;
  std::vector<std::vector<uint64_t>> places;
  for (const Json& object : Lines(fetched.out, "object")) {
    places.push_back({object["group"], object["object"], object["subgroup"]});
    EXPECT_EQ(object["bytes"], 100);
  }
  EXPECT_EQ(places,
            (std::vector<std::vector<uint64_t>>{
                {5, 0, 0}, {5, 1, 1}, {5, 2, 0}, {6, 0, 0}, {6, 1, 1}, {6, 2, 0}, {7, 0, 0}}));

  const CommandOutcome newest =
      Moq({"fetch", node.flag(), "demo--laid", "5-6", "--descending", "--json"});
  ASSERT_EQ(Lines(newest.out, "object").size(), 6U) << newest.err;
  EXPECT_EQ(Lines(newest.out, "object")[0]["group"], 6);
  const CommandOutcome part = Moq({"fetch", node.flag(), "demo--laid", "5/2-6/1", "--json"});
  EXPECT_EQ(Lines(part.out, "object").size(), 3U) << part.err;
}

// Somebody who follows a track through a node, for as long as it takes.
class Follower {
 public:
  Follower(const LocalNode& node, const std::string& track)
      : track_(*TrackName::Parse(track)),
        relay_(*RelayConnection::Open(*loop_,
                                      {*RelayUri::Parse("moqt://" + node.address().host_and_port),
                                       node.address().trust, std::nullopt},
                                      Until())) {}

  // Subscribes as soon as the track can be had.
  void Subscribe() {
    do {
      request_ = *relay_->session().Subscribe(track_, {});
    } while (!relay_->Answer(request_, track_.Render(), Until()).ok() && Now() < Until());
  }
  void Leave() { relay_->session().Cancel(request_, moqt::ResetCode::kCancelled); }
  // Where the next so many objects stand; fewer if the track ends before.
  std::vector<Location> Take(size_t count) {
    std::vector<Location> places;
    while (places.size() < count) {
      if (const std::optional<moqt::Received> item = relay_->session().Take(request_)) {
        if (const auto* object = std::get_if<moqt::ReceivedObject>(&*item)) {
          places.push_back(object->object.location);
        } else if (std::holds_alternative<moqt::TrackEnd>(*item)) {
          break;
        }
      } else if (!relay_->Next(Until()).ok()) {
        break;
      }
    }
    return places;
  }

 private:
  static Instant Until() {
    static const Instant until = Now() + std::chrono::seconds(120);  // Only so as not to hang.
    return until;
  }

  TrackName track_;
  std::unique_ptr<EventLoop> loop_ = *EventLoop::Make();
  std::unique_ptr<RelayConnection> relay_;
  moqt::RequestId request_ = 0;
};

TEST_F(MoqCommandTest, ANamespaceIsAnnouncedAndItsTrackServedToWhoAsks) {
  const LocalNode node;
  CommandOutcome published;
  std::thread publisher([&] {
    published = Moq({"pub", node.flag(), "demo--live", "--announce", "namespace", "--count", "7",
                     "--group-objects", "2", "--wait", "100"});
  });
  Follower follower(node, "demo--live");
  follower.Subscribe();
  EXPECT_EQ(follower.Take(100).size(), 7U);
  publisher.join();
  EXPECT_EQ(published.status, kExitOk) << published.err;
}

TEST_F(MoqCommandTest, ARelayIsReachedWhereSeveralDraftsAreOffered) {
  const LocalNode node;
  const auto loop = *EventLoop::Make();
  RelayConnection::Options options{*RelayUri::Parse("moqt://" + node.address().host_and_port),
                                   node.address().trust, std::nullopt};
  options.quic.alpns.push_back("moqt-99");
  const Instant until = Now() + std::chrono::seconds(60);  // Only so as not to hang.
  const auto relay = RelayConnection::Open(*loop, options, until);
  ASSERT_TRUE(relay.ok()) << relay.error().ToString();
  const moqt::RequestId space =
      *(*relay)->session().PublishNamespace(*TrackNamespace::Of({"demo"}), {});
  EXPECT_TRUE((*relay)->Answer(space, "", until).ok());
}

// It is chance whether a relay's refusal of a session comes before its SETUP has been read or
// after.
TEST_F(MoqCommandTest, ASessionThatEndsLaterNamesItsRelayAsOneThatNeverBeganDoes) {
  ScriptedServer server;
  const auto loop = *EventLoop::Make();
  const std::string uri = "moqt://" + server.address().host_and_port;
  const Instant until = Now() + std::chrono::seconds(60);  // Only so as not to hang.
  const auto relay = *RelayConnection::Open(
      *loop, {*RelayUri::Parse(uri), server.address().trust, std::nullopt}, until);
  server.CloseLast();
  const Result<std::optional<moqt::Event>> end = relay->Next(until);
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.error().ToString(), uri + ": The session is over: The node has had enough.");
  EXPECT_EQ(relay->Next(until).error().ToString(), end.error().ToString());
}

// Whoever comes after another has left gets what is still to come.
TEST_F(MoqCommandTest, ANamespaceServesOneSubscriberAfterTheOther) {
  LocalNode node;
  std::thread publisher([&] {
    static_cast<void>(Moq({"pub", node.flag(), "demo--live", "--announce", "namespace", "--count",
                           "1000000", "--rate", "500", "--group-objects", "3", "--wait", "100"}));
  });
  Location last;
  for (int round = 0; round < 3; ++round) {
    Follower follower(node, "demo--live");
    follower.Subscribe();
    const std::vector<Location> places = follower.Take(5);
    EXPECT_EQ(places.size(), 5U) << round;
    if (round > 0 && !places.empty()) {
      EXPECT_GT(places.front(), last);
    }
    last = places.empty() ? last : places.back();
    follower.Leave();
  }
  node.Stop();  // And so the publisher, which has a long way to go.
  publisher.join();
}

TEST_F(MoqCommandTest, ASubscriptionIsEndedWithTheLastGroupThatWasAskedFor) {
  std::vector<moqt::PublishDone> done;
  NodeScript script;
  script.never_list = true;
  script.publish_filter =
      moqt::SubscriptionFilter{moqt::SubscriptionFilter::Type::kAbsoluteRange, {1, 1}, 2};
  script.on_publish_done = [&](const moqt::PublishDone& each) { done.push_back(each); };
  {
    const ScriptedServer server(script);
    const CommandOutcome published = Moq({"pub", server.flag(), "demo--live", "--count", "12",
                                          "--group-objects", "3", "--size", "10", "--json"});
    EXPECT_EQ(published.status, kExitOk) << published.err;
    EXPECT_EQ((*ParseJson(published.out))["unwanted"], 7);
  }
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].code, moqt::DoneCode::kSubscriptionEnded);
  EXPECT_EQ(done[0].streams, 2U);
}

// One wants the first group, and another, who comes when that one is done, the rest.
TEST_F(MoqCommandTest, ANamespaceWaitsForTheNextWhenARangeIsSent) {
  using Filter = moqt::SubscriptionFilter;
  std::vector<moqt::PublishDone> done;
  NodeScript script;
  script.never_list = true;
  script.wanted_name = "live";
  script.wanted_filters = {Filter{Filter::Type::kAbsoluteRange, {0, 0}, 0},
                           Filter{Filter::Type::kAbsoluteRange, {1, 0}, 2}};
  script.on_publish_done = [&](const moqt::PublishDone& each) { done.push_back(each); };
  {
    const ScriptedServer server(script);
    const CommandOutcome published =
        Moq({"pub", server.flag(), "demo--live", "--announce", "namespace", "--count", "9",
             "--group-objects", "3", "--size", "10", "--wait", "100", "--json"});
    EXPECT_EQ(published.status, kExitOk) << published.err;
    EXPECT_EQ((*ParseJson(published.out))["unwanted"], 0);
    EXPECT_EQ((*ParseJson(published.out))["objects"], 9);
  }
  ASSERT_EQ(done.size(), 2U);
  EXPECT_EQ(done[0].code, moqt::DoneCode::kSubscriptionEnded);
  EXPECT_EQ(done[0].streams, 1U);
  EXPECT_EQ(done[1].code, moqt::DoneCode::kSubscriptionEnded);
  EXPECT_EQ(done[1].streams, 2U);
}

// A publisher that breaks a subgroup off, and says that this was the track.
TEST_F(MoqCommandTest, ASubscriptionThatLacksSomethingHasFailed) {
  const LocalNode node;
  const auto loop = *EventLoop::Make();
  const auto publisher =
      *RelayConnection::Open(*loop,
                             {*RelayUri::Parse("moqt://" + node.address().host_and_port),
                              node.address().trust, std::nullopt},
                             Now() + std::chrono::seconds(60));
  const Instant until = Now() + std::chrono::seconds(120);  // Only so as not to hang.
  const TrackName track = *TrackName::Parse("demo--live");
  const moqt::RequestId space = *publisher->session().PublishNamespace(track.space(), {});
  ASSERT_TRUE(publisher->Answer(space, "", until).ok());
  CommandOutcome subscribed;
  std::thread subscriber([&] {
    subscribed = Moq({"sub", node.flag(), "demo--live", "--json", "--timeout", "60"});
  });
  std::optional<moqt::RequestId> asked;
  while (!asked && Now() < until) {
    const auto event = publisher->Next(until);
    if (event.ok() && *event && std::holds_alternative<moqt::SubscribeReceived>(**event)) {
      asked = std::get<moqt::SubscribeReceived>(**event).request;
    }
  }
  EXPECT_TRUE(asked.has_value());
  if (asked) {
    moqt::Session& session = publisher->session();
    EXPECT_TRUE(session.AcceptSubscribe(*asked, {}, {}).ok());
    const moqt::StreamId stream = *session.OpenSubgroup(*asked, {});
    Object object;
    object.payload = Bytes::Of("x");
    EXPECT_TRUE(session.SendObject(*asked, stream, object).ok());
    EXPECT_TRUE(*publisher->AwaitDelivery(until));
    EXPECT_TRUE(
        publisher->session().ResetSubgroup(*asked, stream, moqt::ResetCode::kCancelled).ok());
    EXPECT_TRUE(publisher->session().EndTrack(*asked, moqt::DoneCode::kTrackEnded, "").ok());
    EXPECT_TRUE(*publisher->AwaitDelivery(until));
  }
  subscriber.join();
  EXPECT_EQ(subscribed.status, kExitFailed) << subscribed.out << subscribed.err;
  EXPECT_NE(subscribed.err.find("Not everything came"), std::string::npos) << subscribed.err;
  const std::vector<Json> end = Lines(subscribed.out, "end");
  ASSERT_EQ(end.size(), 1U) << subscribed.out;
  EXPECT_EQ(end[0]["complete"], false);
}

TEST_F(MoqCommandTest, StatusTellsTheLargestObject) {
  const LocalNode node;
  ASSERT_EQ(Moq({"pub", node.flag(), "demo--t", "--count", "4", "--group-objects", "2"}).status,
            kExitOk);
  const CommandOutcome text = Moq({"status", node.flag(), "demo--t"});
  EXPECT_EQ(text.status, kExitOk) << text.err;
  EXPECT_NE(text.out.find("largest     {1, 1}"), std::string::npos) << text.out;
  const Json json = *ParseJson(Moq({"status", node.flag(), "demo--t", "--json"}).out);
  EXPECT_EQ(json["largest"]["group"], 1);
  EXPECT_EQ(json["largest"]["object"], 1);
}

TEST_F(MoqCommandTest, ARefusalIsToldWithTheRelaysCodeAndReason) {
  const LocalNode node;
  for (const char* command : {"sub", "fetch", "status"}) {
    const CommandOutcome outcome = Moq({command, node.flag(), "demo-no--track"});
    EXPECT_EQ(outcome.status, kExitFailed);
    EXPECT_NE(outcome.err.find("DOES_NOT_EXIST (0x10)"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("demo-no--track"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("The track is not here."), std::string::npos) << outcome.err;
  }
}

TEST_F(MoqCommandTest, NobodyThereIsSaidInTime) {
  const CommandOutcome outcome = Moq({"status", "moqt://127.0.0.1:9/x", "demo--t", "--timeout", "1",
                                      "--insecure-skip-verification"});
  EXPECT_EQ(outcome.status, kExitFailed);
  EXPECT_NE(outcome.err.find("moqt://127.0.0.1:9/x: "), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("warning: the server's certificate is not checked"), std::string::npos)
      << outcome.err;
}

// It is we who refuse, and not the relay.
TEST_F(MoqCommandTest, AnotherCertificateThanThePinnedOneIsSaid) {
  const LocalNode node;
  std::string relay = node.flag();
  const size_t first = relay.find('#') + 1;
  relay[first] = relay[first] == '0' ? '1' : '0';
  const CommandOutcome outcome = Moq({"status", relay, "demo--t"});
  EXPECT_EQ(outcome.status, kExitFailed);
  EXPECT_NE(outcome.err.find("The session is over: The server's certificate has the fingerprint " +
                             node.flag().substr(first)),
            std::string::npos)
      << outcome.err;
}

TEST_F(MoqCommandTest, ARelayThatDoesNotAnswerARequestIsSaidInTime) {
  NodeScript script;
  script.silent_on_tracks = script.silent_on_publish = script.silent_on_fetch = true;
  script.silent_on_live = true;
  const ScriptedServer server(script);
  for (const char* command : {"sub", "fetch", "pub", "status", "ls"}) {
    const bool lists = command == std::string("ls");
    const CommandOutcome outcome =
        Moq({command, server.flag(), lists ? "demo" : "demo--t", "--timeout", "1"});
    EXPECT_EQ(outcome.status, kExitFailed) << command;
    EXPECT_NE(outcome.err.find("has not answered"), std::string::npos)
        << command << ": " << outcome.err;
  }
}

// A relay may ask us for anything, and is to be answered.
TEST_F(MoqCommandTest, WhatNoCommandServesIsRefused) {
  NodeScript script;
  script.asks_everything = true;
  std::atomic<int> refused = 0;
  script.on_refused = [&](const moqt::RequestError& error) {
    refused += error.code == moqt::RequestCode::kNotSupported ? 1 : 0;
  };
  const ScriptedServer server(script);
  MoqFlags flags;
  flags.relay = server.flag();
  flags.timeout_s = 60;  // Only so as not to hang.
  const MoqRun run = *flags.Connect();
  const Instant until = Now() + std::chrono::seconds(10);
  while (refused < 7 && Now() < until) {
    const auto event = run.relay->Next(Now() + std::chrono::milliseconds(1));
    ASSERT_TRUE(event.ok()) << event.error().ToString();
    EXPECT_FALSE(event->has_value());
  }
  EXPECT_EQ(refused, 7);
}

TEST_F(MoqCommandTest, SaysHowToWriteWhatWasWrittenWrong) {
  const LocalNode node;
  EXPECT_NE(Moq({"sub", node.flag(), "demo/clock"}).err.find("demo-clock--v.2d1"),
            std::string::npos);
  EXPECT_NE(Moq({"fetch", node.flag(), "demo--t", "5-3"}).err.find("ends before it begins"),
            std::string::npos);
  EXPECT_NE(Moq({"status", "https://a.example/moq", "demo--t"}).err.find("WebTransport"),
            std::string::npos);
  EXPECT_NE(Moq({"status", "a.example", "demo--t"}).err.find("moqt://HOST:PORT/PATH"),
            std::string::npos);
  EXPECT_NE(Moq({"pub", node.flag(), "demo--t", "--size", "1GB"}).err.find("as in"),
            std::string::npos);
  for (const char* rate : {"1e-300", "nan", "0", "-1", "often"}) {
    EXPECT_EQ(Moq({"pub", node.flag(), "demo--t", "--rate", rate}).status, kExitUsage) << rate;
  }
  EXPECT_NE(Moq({"pub", node.flag(), "demo--t", "--first-group", "18446744073709551615",
                 "--group-objects", "1"})
                .err.find("--first-group"),
            std::string::npos);
  EXPECT_EQ(Moq({"sub"}).status, kExitUsage);
  EXPECT_EQ(Moq({"sub", node.flag(), "demo--t", "--timeout", "0"}).status, kExitUsage);
}

}  // namespace
}  // namespace kvcast
