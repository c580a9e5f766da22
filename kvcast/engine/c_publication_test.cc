// How publications of the C interface end, at a node on loopback.
#include <gtest/gtest.h>

#include <thread>

#include "kvcast/codec/band_samples_test.h"
#include "kvcast/engine/prompt_engine_test.h"
#include "kvcast/engine/scripted_server_test.h"
#include "kvcast/kvcast.h"

namespace kvcast {
namespace {

constexpr int64_t kSoonUs = 20'000'000;  // Only so as not to hang.

kvcast_publication* BeginAll(PromptEngine& engine) {
  kvcast_publication* const publication = engine.BeginPublish();
  EXPECT_EQ(kvcast_publication_ready(publication, kWholeTokens), KVCAST_OK);
  EXPECT_EQ(kvcast_publication_close(publication), KVCAST_OK);
  return publication;
}

kvcast_report EndOf(kvcast_publication* publication) {
  kvcast_report report{};
  report.struct_size = sizeof(report);
  EXPECT_EQ(kvcast_publication_wait(publication, kSoonUs, &report), KVCAST_OK);
  return report;
}

TEST(CPublication, SaysHowDurableItHasBecome) {
  ScriptedServer server;
  PromptEngine engine(server.flag());
  ASSERT_NE(engine.cache(), nullptr) << kvcast_message();
  engine.terms.durability = KVCAST_ON_DISK;
  kvcast_publication* const publication = BeginAll(engine);
  for (bool told = false; !told;) {
    server.WithNode([&](ScriptedNode& node) {
      if (node.has_ack_follower() && !node.tracks().empty() &&
          node.tracks().begin()->second.size() == 6) {
        const std::string name(node.tracks().begin()->first.name());
        node.Acknowledge({{Durability::kBucket, name, 0, 3}, {Durability::kDisk, name, 4, 5}});
        told = true;
      }
    });
    std::this_thread::yield();
  }
  const kvcast_report report = EndOf(publication);
  EXPECT_EQ(report.status, 0) << report.reason;
  EXPECT_EQ(report.tokens, kWholeTokens);
  EXPECT_EQ(report.durability, int32_t{KVCAST_ON_DISK});  // All of it.
}

TEST(CPublication, ThatIsNotDurableSaysSo) {
  NodeScript script;
  script.refuse_acks = true;
  ScriptedServer server(script);
  PromptEngine engine(server.flag());
  ASSERT_NE(engine.cache(), nullptr) << kvcast_message();
  engine.terms.durability = KVCAST_ON_DISK;
  const kvcast_report report = engine.Do(kvcast_cache_publish);
  EXPECT_EQ(report.status, KVCAST_ITEM_NOT_DURABLE) << report.reason;
  EXPECT_EQ(report.tokens, 0u);
  EXPECT_EQ(report.durability, int32_t{KVCAST_IN_MEMORY});
  EXPECT_STREQ(kvcast_item_text(report.status), "not durable");
  EXPECT_EQ(EndOf(BeginAll(engine)).status, KVCAST_ITEM_NOT_DURABLE);
}

// An engine that was built before there was more to tell.
TEST(CPublication, TellsAnEarlierCallerWhatItKnowsOf) {
  ScriptedServer server;
  PromptEngine engine(server.flag());
  ASSERT_NE(engine.cache(), nullptr) << kvcast_message();
  const kvcast_prompt prompt = engine.Prompt(PromptEngine::Pages::kPut);
  kvcast_report report{};
  report.struct_size = offsetof(kvcast_report, durability);
  report.durability = 77;
  EXPECT_EQ(kvcast_cache_publish(engine.cache(), &prompt, &engine.terms, &report), KVCAST_OK);
  EXPECT_EQ(report.tokens, kWholeTokens);
  EXPECT_EQ(report.durability, 77);
}

// Of an exact rung and a small one: what is left is of no use without the first.
TEST(CPublication, EndsWithTheFirstRungThatFails) {
  NodeScript script;
  script.refuse_publish = true;
  script.publishes_answered = 1;
  ScriptedServer server(script);
  const Calibration calibration =
      BandCalibration({{2, 8, 8}, {2, 8, 8}}, HalfType::kBf16, BandForm::kLayer, Rope{});
  PromptEngine engine(server.flag(), calibration.file());
  ASSERT_NE(engine.cache(), nullptr) << kvcast_message();
  kvcast_publication* const publication = BeginAll(engine);
  EXPECT_EQ(EndOf(publication).status, KVCAST_ITEM_REFUSED);
}

}  // namespace
}  // namespace kvcast
