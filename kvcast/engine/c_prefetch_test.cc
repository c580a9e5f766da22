// Blocks that an engine of the C interface has brought to its host before it loads them.
#include <gtest/gtest.h>
#include <poll.h>

#include <thread>

#include "kvcast/engine/prompt_engine_test.h"
#include "kvcast/engine/scripted_server_test.h"
#include "kvcast/kvcast.h"

namespace kvcast {
namespace {

class CPrefetch : public testing::Test {
 protected:
  kvcast_prefetch* Begin() {
    const kvcast_prompt prompt = engine_.Prompt();
    kvcast_prefetch* prefetch = nullptr;
    EXPECT_EQ(kvcast_cache_begin_prefetch(engine_.cache(), &prompt, &engine_.terms, &prefetch),
              KVCAST_OK)
        << kvcast_message();
    return prefetch;
  }
  static kvcast_code Wait(kvcast_prefetch* prefetch, int64_t wait_us, kvcast_report& report) {
    report = {};
    report.struct_size = sizeof(report);
    return kvcast_prefetch_wait(prefetch, wait_us, &report);
  }
  kvcast_report Fetch() {
    kvcast_report report{};
    EXPECT_EQ(Wait(Begin(), -1, report), KVCAST_OK) << kvcast_message();
    return report;
  }
  size_t Fetches() {
    size_t fetches = 0;
    server_.WithNode([&](ScriptedNode& node) { fetches = node.fetches().size(); });
    return fetches;
  }

  ScriptedServer server_;
  PromptEngine engine_{server_.flag()};
};

TEST_F(CPrefetch, IsWhatALoadTakes) {
  ASSERT_NE(engine_.cache(), nullptr) << kvcast_message();
  ASSERT_EQ(engine_.Publish(), kWholeTokens);
  const kvcast_report fetched = Fetch();
  EXPECT_EQ(fetched.status, 0) << fetched.reason;
  EXPECT_EQ(fetched.tokens, kWholeTokens);
  EXPECT_GT(fetched.bytes, 0u);
  EXPECT_EQ(Fetches(), 1u);
  EXPECT_TRUE(engine_.Untouched(0, kTokens));
  const kvcast_report loaded = engine_.Do(kvcast_cache_load);
  EXPECT_EQ(loaded.tokens, kWholeTokens);
  EXPECT_EQ(loaded.prefetched, loaded.blocks);
  EXPECT_TRUE(engine_.Came(0, kWholeTokens));
  EXPECT_EQ(Fetches(), 1u);
}

TEST_F(CPrefetch, TellsOfItsEndByADescriptor) {
  ASSERT_EQ(engine_.Publish(), kWholeTokens);
  engine_.terms.tag = 9;
  kvcast_prefetch* const prefetch = Begin();
  pollfd waits{kvcast_cache_fd(engine_.cache()), POLLIN, 0};
  ASSERT_EQ(::poll(&waits, 1, 60'000), 1);
  uint64_t tag = 0;
  EXPECT_EQ(kvcast_cache_news(engine_.cache(), &tag), KVCAST_OK);
  EXPECT_EQ(tag, 9u);
  kvcast_report report{};
  EXPECT_EQ(Wait(prefetch, 0, report), KVCAST_OK);
  EXPECT_EQ(report.tokens, kWholeTokens);
  EXPECT_EQ(kvcast_cache_news(engine_.cache(), &tag), KVCAST_PENDING);
}

TEST_F(CPrefetch, SaysHowFarItCame) {
  kvcast_report report = Fetch();
  EXPECT_EQ(report.tokens, 0u);
  EXPECT_EQ(report.status, KVCAST_ITEM_ABSENT);
  EXPECT_STREQ(report.reason, "No more blocks are known of.");
  engine_.terms.skip_tokens = 9;
  EXPECT_EQ(Fetch().tokens, 9u);
  engine_.terms.follow_us = 1;
  engine_.terms.timeout_us = 1000;
  EXPECT_EQ(Fetch().status, KVCAST_ITEM_LATE);
}

TEST_F(CPrefetch, IsGivenUpAtAnyMoment) {
  engine_.terms.follow_us = 1;
  kvcast_prefetch* const prefetch = Begin();
  kvcast_report report{};
  EXPECT_EQ(Wait(prefetch, 0, report), KVCAST_PENDING);
  kvcast_prefetch_abandon(prefetch);
  kvcast_prefetch_abandon(nullptr);
  kvcast_prefetch* const lost = Begin();
  server_.Leave();
  EXPECT_EQ(Wait(lost, -1, report), KVCAST_OK);
  EXPECT_EQ(report.status, KVCAST_ITEM_LOST) << report.reason;
  while (kvcast_cache_connected(engine_.cache()) == 1) {
    std::this_thread::yield();
  }
  EXPECT_EQ(Fetch().status, KVCAST_ITEM_LOST);
  EXPECT_EQ(Wait(nullptr, 0, report), KVCAST_INVALID);
}

TEST(CPrefetchRoom, IsWhatTheNodeIsOpenedWith) {
  ScriptedServer server;
  const std::string address = server.flag();
  kvcast_node node{};
  node.address = address.c_str();
  node.prefetch_bytes_max = 1;
  PromptEngine engine(node);
  ASSERT_EQ(engine.Publish(), kWholeTokens);
  const kvcast_prompt prompt = engine.Prompt();
  kvcast_prefetch* prefetch = nullptr;
  ASSERT_EQ(kvcast_cache_begin_prefetch(engine.cache(), &prompt, nullptr, &prefetch), KVCAST_OK);
  kvcast_report report{};
  report.struct_size = sizeof(report);
  EXPECT_EQ(kvcast_prefetch_wait(prefetch, -1, &report), KVCAST_OK);
  EXPECT_EQ(report.status, KVCAST_ITEM_REFUSED);
  EXPECT_EQ(report.tokens, 0u);
}

}  // namespace
}  // namespace kvcast
