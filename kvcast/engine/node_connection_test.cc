#include "kvcast/engine/node_connection.h"

#include <gtest/gtest.h>

#include <stop_token>
#include <thread>

#include "kvcast/engine/scripted_server_test.h"

namespace kvcast {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr size_t kBlocks = 40;
constexpr Duration kNodePatience = seconds(60);  // Only so as not to hang.

class NodeConnections : public testing::Test {
 protected:
  std::unique_ptr<NodeConnection> Open(const ScriptedServer& server) {
    Result<std::unique_ptr<NodeConnection>> node =
        NodeConnection::Open(server.address(), TestKind(), kNodePatience);
    EXPECT_TRUE(node.ok()) << node.error().ToString();
    return *std::move(node);
  }
  PublishReport Publish(NodeConnection& node) {
    return *node.Publish(blocks_, source_.Pages(), {.deadline = Now() + kNodePatience});
  }

  const std::vector<BlockHash> blocks_ = TestBlocks(kBlocks);
  const EngineMemory source_{kBlocks, 1};
  EngineMemory target_{kBlocks, 2};
};

TEST_F(NodeConnections, CarryACacheThroughANode) {
  ScriptedServer server;
  const std::unique_ptr<NodeConnection> node = Open(server);
  EXPECT_TRUE(node->Find(blocks_).empty());
  size_t told = 0;
  const PublishReport published =
      *node->Publish(blocks_, source_.Pages(), {.on_progress = [&](const PublishReport& report) {
                       EXPECT_GE(report.sent, told);
                       told = report.sent;
                     }});
  EXPECT_FALSE(published.fault.has_value()) << published.reason;
  EXPECT_EQ(published.listed, kBlocks);
  const CacheMatch match = node->Find(blocks_);
  ASSERT_EQ(match.block_count(), kBlocks);
  size_t loaded = 0;
  const LoadReport report =
      *node->Load(match, blocks_, target_.Pages(),
                  {.deadline = Now() + kNodePatience, .on_progress = [&](size_t blocks) {
                     EXPECT_GE(blocks, loaded);
                     loaded = blocks;
                   }});
  EXPECT_TRUE(report.complete()) << report.reason;
  for (size_t block = 0; block < kBlocks; ++block) {
    ASSERT_EQ(target_.Block(block), source_.Block(block));
  }
}

// One of several ranks has drawn it, and all publish their slices under it.
TEST_F(NodeConnections, PublishUnderAGenerationThatIsGiven) {
  ScriptedServer server;
  const std::unique_ptr<NodeConnection> node = Open(server);
  const Generation generation = NodeConnection::DrawGeneration();
  EXPECT_NE(generation, NodeConnection::DrawGeneration());
  const PublishReport published =
      *node->Publish(blocks_, source_.Pages(), {.generation = generation});
  EXPECT_FALSE(published.fault.has_value()) << published.reason;
  server.WithNode([&](ScriptedNode& scripted) {
    ASSERT_EQ(scripted.tracks().size(), 1u);
    EXPECT_EQ(scripted.tracks().begin()->first,
              TestKind().TrackOf(blocks_.back(), generation).Name());
  });
  EXPECT_EQ(node->Find(blocks_, 0, {}, generation).block_count(), kBlocks);
  EXPECT_TRUE(node->Find(blocks_, 0, {}, NodeConnection::DrawGeneration()).empty());
}

// Which draft it is to be is known only when the node has answered.
TEST_F(NodeConnections, WorkWhereSeveralDraftsAreOffered) {
  ScriptedServer server;
  NodeAddress address = server.address();
  address.quic.alpns.push_back("moqt-99");
  const auto node = NodeConnection::Open(address, TestKind(), kNodePatience);
  ASSERT_TRUE(node.ok()) << node.error().ToString();
  EXPECT_FALSE(Publish(**node).fault.has_value());
}

TEST_F(NodeConnections, ServeManyThreadsAtOnce) {
  ScriptedServer server;
  const std::unique_ptr<NodeConnection> node = Open(server);
  ASSERT_FALSE(Publish(*node).fault.has_value());
  std::vector<std::thread> engines(4);
  for (std::thread& engine : engines) {
    engine = std::thread([&] {
      for (int round = 0; round < 5; ++round) {
        const EngineMemory target(kBlocks, 3);
        const LoadReport report = *node->Load(node->Find(blocks_), blocks_, target.Pages(),
                                              {.deadline = Now() + kNodePatience});
        EXPECT_TRUE(report.complete()) << report.reason;
        EXPECT_EQ(target.Block(kBlocks - 1), source_.Block(kBlocks - 1));
      }
    });
  }
  for (std::thread& engine : engines) {
    engine.join();
  }
}

// Codec work is done on other threads, and whoever has called frees the memory. (Sanitizers see it
// if they do not keep to that.)
TEST_F(NodeConnections, TouchNoMemoryOfACallThatHasReturned) {
  ScriptedServer server;
  const std::unique_ptr<NodeConnection> node = Open(server);
  ASSERT_FALSE(Publish(*node).fault.has_value());
  std::vector<std::thread> engines(4);
  for (size_t engine = 0; engine < engines.size(); ++engine) {
    engines[engine] = std::thread([&, engine] {
      Random random(engine);
      for (size_t round = 0; round < 60; ++round) {
        const auto memory = std::make_unique<EngineMemory>(kBlocks, /*seed=*/3);
        const Duration time = std::chrono::microseconds(random.Below(4000));
        std::stop_source stop;
        std::thread stops([&] {
          std::this_thread::sleep_for(time);
          stop.request_stop();
        });
        if (round % 3 == 0) {
          (void)*node->Publish(TestBlocks(kBlocks, 100 * engine + round), memory->Pages(),
                               {.deadline = Now() + kNodePatience, .stop = stop.get_token()});
        } else {
          const Instant deadline = Now() + (round % 3 == 1 ? time : kNodePatience);
          const LoadReport report = *node->Load(node->Find(blocks_), blocks_, memory->Pages(),
                                                {.deadline = deadline, .stop = stop.get_token()});
          for (size_t block = 0; block < report.loaded(); ++block) {
            EXPECT_EQ(memory->Block(block), source_.Block(block)) << block;
          }
        }
        stops.join();
      }
    });
  }
  for (std::thread& engine : engines) {
    engine.join();
  }
}

TEST_F(NodeConnections, TurnEveryCallIntoACleanFailureWhenLost) {
  ScriptedServer server;
  const std::unique_ptr<NodeConnection> node = Open(server);
  ASSERT_FALSE(Publish(*node).fault.has_value());
  server.WithNode([](ScriptedNode& scripted) {
    scripted.script.silent_on_fetch = true;
    scripted.script.silent_on_publish = true;
  });
  const std::vector<BlockHash> others = TestBlocks(kBlocks, 5);
  std::optional<LoadReport> loaded;
  std::optional<PublishReport> published;
  std::thread loader([&] {
    loaded = *node->Load(node->Find(blocks_), blocks_, target_.Pages(),
                         {.deadline = Now() + minutes(10)});
  });
  std::thread publisher([&] {
    published = *node->Publish(others, source_.Pages(), {.deadline = Now() + seconds(3)});
  });
  // Both are under way when the node knows of them.
  bool asked = false;
  while (!asked) {
    server.WithNode([&](ScriptedNode& scripted) {
      asked = !scripted.fetches().empty() && scripted.publishes() == 2;
    });
  }
  server.Leave();
  loader.join();
  publisher.join();
  EXPECT_EQ(loaded->outcomes[0], BlockOutcome::kNodeLost);
  EXPECT_EQ(published->fault, PublishFault::kPatienceOver);  // It has waited for the node.
  ASSERT_TRUE(node->lost().has_value());
  // And whatever comes later fails at once.
  EXPECT_TRUE(node->Find(blocks_).empty());
  EXPECT_EQ(node->Publish(others, source_.Pages(), {})->fault, PublishFault::kNodeLost);
}

// Calls that come meanwhile wait for nothing.
TEST_F(NodeConnections, FindTheirWayBackToANodeThatWasLost) {
  ScriptedServer server;
  const std::unique_ptr<NodeConnection> node = Open(server);
  ASSERT_FALSE(Publish(*node).fault.has_value());
  const CacheMatch match = node->Find(blocks_);
  ASSERT_EQ(match.block_count(), kBlocks);
  server.Leave();
  while (!node->lost()) {
    std::this_thread::yield();
  }
  EXPECT_TRUE(node->Find(blocks_).empty());
  const LoadReport none = *node->Load(match, blocks_, target_.Pages(), {});
  ASSERT_EQ(none.outcomes.size(), kBlocks);
  EXPECT_EQ(none.outcomes[0], BlockOutcome::kNodeLost);
  const LoadReport followed = *node->Load({}, blocks_, target_.Pages(),
                                          {.follow = FollowTerms{.begin_within = minutes(1)}});
  ASSERT_EQ(followed.outcomes.size(), kBlocks);
  EXPECT_EQ(followed.outcomes[0], BlockOutcome::kNodeLost);
  const std::unique_ptr<LivePublication> live = *node->BeginPublish(blocks_, source_.Pages(), {});
  live->Ready(kBlocks);
  EXPECT_EQ(live->Finish().fault, PublishFault::kNodeLost);
  server.Return();
  PublishReport published;
  do {
    published = Publish(*node);
  } while (published.fault == PublishFault::kNodeLost);
  EXPECT_FALSE(published.fault.has_value()) << published.reason;
  EXPECT_EQ(published.sent, kBlocks);  // The node that came back knew nothing of them.
  EXPECT_FALSE(node->lost().has_value());
  const LoadReport report = *node->Load(node->Find(blocks_), blocks_, target_.Pages(),
                                        {.deadline = Now() + kNodePatience});
  EXPECT_TRUE(report.complete()) << report.reason;
  EXPECT_EQ(target_.Block(kBlocks - 1), source_.Block(kBlocks - 1));
}

TEST_F(NodeConnections, GoOnWithTheNextNodeWhenOneIsLost) {
  ScriptedServer first;
  ScriptedServer second;
  const auto node =
      NodeConnection::Open({first.address(), second.address()}, TestKind(), kNodePatience);
  ASSERT_TRUE(node.ok()) << node.error().ToString();
  ASSERT_FALSE(Publish(**node).fault.has_value());
  for (ScriptedServer* const lost : {&first, &second}) {
    lost->Leave();
    while ((*node)->Find(blocks_).block_count() == kBlocks) {
      std::this_thread::yield();
    }
    if (lost == &second) {
      first.Return();
    }
    PublishReport published;
    do {
      published = Publish(**node);
    } while (published.fault == PublishFault::kNodeLost);
    EXPECT_FALSE(published.fault.has_value()) << published.reason;
    EXPECT_EQ(published.sent, kBlocks);
  }
}

TEST_F(NodeConnections, AreMadeToTheNextNodeWhereTheFirstIsNotThere) {
  const ScriptedServer first;
  const ScriptedServer second;
  NodeAddress nobody = first.address();
  nobody.trust = PinnedCertificate{Sha256::Of("another certificate")};
  const NodeAddress unknown{"no-such-host.invalid:4433", SystemTrust{}};
  const auto node =
      NodeConnection::Open({unknown, nobody, second.address()}, TestKind(), kNodePatience);
  ASSERT_TRUE(node.ok()) << node.error().ToString();
  EXPECT_FALSE(Publish(**node).fault.has_value());
}

// One engine computes and publishes, another follows; neither knows when the other is where.
TEST_F(NodeConnections, CarryACacheWhileItIsComputed) {
  ScriptedServer server;
  const std::unique_ptr<NodeConnection> node = Open(server);
  Result<std::unique_ptr<LivePublication>> live = node->BeginPublish(blocks_, source_.Pages(), {});
  ASSERT_TRUE(live.ok());
  std::thread engine([&] {
    for (size_t block = 1; block <= kBlocks; ++block) {
      (*live)->Ready(block);
      std::this_thread::yield();
    }
  });
  const LoadReport report = *node->Load(
      node->Find(blocks_), blocks_, target_.Pages(),
      {.deadline = Now() + kNodePatience,
       .follow = FollowTerms{.begin_within = kNodePatience, .next_within = kNodePatience}});
  engine.join();
  EXPECT_TRUE(report.complete()) << report.reason;
  for (size_t block = 0; block < kBlocks; ++block) {
    ASSERT_EQ(target_.Block(block), source_.Block(block));
  }
  const PublishReport published = (*live)->Finish(Now() + kNodePatience);
  EXPECT_FALSE(published.fault.has_value()) << published.reason;
  EXPECT_EQ(published.listed, kBlocks);
  EXPECT_EQ((*live)->Finish(), published);
}

TEST_F(NodeConnections, LeaveAPublicationThatIsNotFinished) {
  ScriptedServer server;
  const std::unique_ptr<NodeConnection> node = Open(server);
  {
    const auto none = *node->BeginPublish(blocks_, source_.Pages(), {});
    const auto some = *node->BeginPublish(blocks_, source_.Pages(), {});
    some->Ready(3);
  }
  const auto rest = *node->BeginPublish(blocks_, source_.Pages(), {});
  rest->Ready(5);
  const PublishReport published = rest->Finish(Now() + kNodePatience);
  EXPECT_FALSE(published.fault.has_value()) << published.reason;
  EXPECT_EQ(published.blocks, 5u);
  EXPECT_EQ(node->Find(blocks_).block_count(), 5u);
}

TEST_F(NodeConnections, StopALoadWhenAsked) {
  ScriptedServer server;
  const std::unique_ptr<NodeConnection> node = Open(server);
  ASSERT_FALSE(Publish(*node).fault.has_value());
  server.WithNode([](ScriptedNode& scripted) { scripted.script.silent_on_fetch = true; });
  std::stop_source stop;
  std::optional<LoadReport> report;
  std::thread loader([&] {
    report = *node->Load(node->Find(blocks_), blocks_, target_.Pages(), {.stop = stop.get_token()});
  });
  bool asked = false;
  while (!asked) {
    server.WithNode([&](ScriptedNode& scripted) { asked = !scripted.fetches().empty(); });
  }
  stop.request_stop();
  loader.join();
  EXPECT_EQ(report->outcomes[0], BlockOutcome::kCancelled);
}

TEST_F(NodeConnections, KeepToTheDeadline) {
  ScriptedServer server;
  const std::unique_ptr<NodeConnection> node = Open(server);
  ASSERT_FALSE(Publish(*node).fault.has_value());
  server.WithNode([](ScriptedNode& scripted) {
    scripted.script.silent_on_fetch = true;
    scripted.script.silent_on_publish = true;
  });
  const LoadReport loaded = *node->Load(node->Find(blocks_), blocks_, target_.Pages(),
                                        {.deadline = Now() + milliseconds(50)});
  EXPECT_EQ(loaded.outcomes[0], BlockOutcome::kTooLate);
  const PublishReport published = *node->Publish(TestBlocks(kBlocks, 5), source_.Pages(),
                                                 {.deadline = Now() + milliseconds(50)});
  EXPECT_EQ(published.fault, PublishFault::kPatienceOver);
}

TEST_F(NodeConnections, SayWhatIsWrongWithPages) {
  ScriptedServer server;
  const std::unique_ptr<NodeConnection> node = Open(server);
  EXPECT_EQ(node->Publish(TestBlocks(2), source_.Pages(), {}).error().code(), ErrorCode::kInvalid);
}

TEST_F(NodeConnections, AreNotMadeToAnotherThanTheRightNode) {
  const ScriptedServer server;
  NodeAddress address = server.address();
  address.trust = PinnedCertificate{Sha256::Of("another certificate")};
  const auto node = NodeConnection::Open(address, TestKind(), kNodePatience);
  ASSERT_FALSE(node.ok());
  EXPECT_NE(node.error().ToString().find(address.host_and_port), std::string::npos);
  EXPECT_NE(node.error().ToString().find("certificate"), std::string::npos)
      << node.error().ToString();
}

// Both fingerprints are needed whole by whoever has to find out which one is wrong.
TEST_F(NodeConnections, SayWholeWhichCertificateIsWanted) {
  const ScriptedServer server;
  NodeAddress address = server.address();
  const Digest shown = std::get<PinnedCertificate>(address.trust).fingerprint;
  const Digest wanted = Sha256::Of("another certificate");
  address.trust = PinnedCertificate{wanted};
  const std::string said =
      NodeConnection::Open(address, TestKind(), kNodePatience).error().ToString();
  EXPECT_NE(said.find(shown.ToHex()), std::string::npos) << said;
  EXPECT_NE(said.find(wanted.ToHex()), std::string::npos) << said;
  EXPECT_EQ(said.find("..."), std::string::npos) << said;
}

TEST_F(NodeConnections, SayHowANodeThatNobodySignedForIsTrusted) {
  const ScriptedServer server;
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  ASSERT_TRUE(ServerCredentials::Development(scratch.path()).ok());
  NodeAddress address = server.address();
  address.trust = TrustedAuthorities{scratch / ServerCredentials::kDevelopmentCertificate};
  const std::string said =
      NodeConnection::Open(address, TestKind(), kNodePatience).error().ToString();
  EXPECT_NE(said.find("not trusted"), std::string::npos) << said;
  EXPECT_NE(said.find("#FINGERPRINT"), std::string::npos) << said;
  EXPECT_NE(said.find("'kvcast serve' prints it"), std::string::npos) << said;
  EXPECT_EQ(said.find("..."), std::string::npos) << said;
}

TEST_F(NodeConnections, AreNotMadeToNobody) {
  const NodeAddress nobody{"127.0.0.1:9", InsecureLoopbackOnly{}};
  const auto node = NodeConnection::Open(nobody, TestKind(), milliseconds(100));
  ASSERT_FALSE(node.ok());
  EXPECT_FALSE(NodeConnection::Open({"no-port", SystemTrust{}}, TestKind(), seconds(1)).ok());
}

TEST(NodeAddress, HasAPortThatThereIs) {
  EXPECT_TRUE(NodeAddress::Parse("a:65535").ok());
  for (const std::string bad : {"a:0", "a:65536", "a:70000"}) {
    const auto address = NodeAddress::Parse(bad);
    ASSERT_FALSE(address.ok()) << bad;
    EXPECT_NE(address.error().message().find("from 1 to 65535"), std::string::npos)
        << address.error().message();
  }
}

TEST(NodeAddress, IsAPlaceAndAReasonToTrustIt) {
  const std::string digits(64, 'a');
  const NodeAddress pinned = *NodeAddress::Parse("node7.example:4433#" + digits);
  EXPECT_EQ(pinned.host_and_port, "node7.example:4433");
  EXPECT_EQ(std::get<PinnedCertificate>(pinned.trust).fingerprint.ToHex(), digits);
  EXPECT_TRUE(std::holds_alternative<SystemTrust>(NodeAddress::Parse("[::1]:4433")->trust));
  EXPECT_EQ(std::get<TrustedAuthorities>(NodeAddress::Parse("a:1", "ca.pem")->trust).file,
            "ca.pem");
  EXPECT_FALSE(NodeAddress::Parse("a:1#" + digits, "ca.pem").ok());
  for (const std::string bad : {"", "a", "a:", ":1", "a:b", "a:123456", "a:1#", "a:1#abc"}) {
    EXPECT_EQ(NodeAddress::Parse(bad).error().code(), ErrorCode::kInvalid) << bad;
  }
}

}  // namespace
}  // namespace kvcast
