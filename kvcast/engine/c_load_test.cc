// Loads and publications of the C interface that nobody waits for, at a node on loopback.
#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <thread>

#include "kvcast/engine/prompt_engine_test.h"
#include "kvcast/engine/scripted_server_test.h"
#include "kvcast/kvcast.h"

namespace kvcast {
namespace {

bool IsReadable(PromptEngine& engine, int wait_ms) {
  pollfd waits{kvcast_cache_fd(engine.cache()), POLLIN, 0};
  return ::poll(&waits, 1, wait_ms) == 1;
}

// As an engine's loop does, which has other things to wait for, too.
uint64_t NextNews(PromptEngine& engine) {
  uint64_t tag = 0;
  while (kvcast_cache_news(engine.cache(), &tag) == KVCAST_PENDING) {
    EXPECT_TRUE(IsReadable(engine, /*wait_ms=*/60'000));
  }
  return tag;
}

kvcast_report EndOf(kvcast_loading* loading, int64_t wait_us = -1) {
  kvcast_report report{};
  report.struct_size = sizeof(report);
  EXPECT_EQ(kvcast_loading_wait(loading, wait_us, &report, nullptr, 0, nullptr), KVCAST_OK)
      << kvcast_message();
  return report;
}

TEST(CLoad, CarriesAPromptWhileNobodyWaits) {
  ScriptedServer server;
  PromptEngine engine(server.flag());
  ASSERT_NE(engine.cache(), nullptr) << kvcast_message();
  engine.terms.tag = 3;
  kvcast_publication* const publication = engine.BeginPublish();
  ASSERT_EQ(kvcast_publication_ready(publication, kTokens), KVCAST_OK);
  kvcast_report published{};
  published.struct_size = sizeof(published);
  EXPECT_EQ(kvcast_publication_wait(publication, 0, &published), KVCAST_PENDING);
  ASSERT_EQ(kvcast_publication_close(publication), KVCAST_OK);
  do {
    EXPECT_EQ(NextNews(engine), 3u);
  } while (kvcast_publication_wait(publication, 0, &published) == KVCAST_PENDING);
  EXPECT_EQ(published.tokens, kWholeTokens);
  EXPECT_EQ(published.status, 0) << published.reason;

  engine.terms.tag = 4;
  kvcast_loading* const loading = engine.BeginLoad();
  std::array<kvcast_block, 6> blocks{};
  size_t count = blocks.size();
  kvcast_report loaded{};
  loaded.struct_size = sizeof(loaded);
  uint64_t tokens = 0;
  do {
    EXPECT_EQ(NextNews(engine), 4u);
    EXPECT_GE(kvcast_loading_tokens(loading), tokens);
    tokens = kvcast_loading_tokens(loading);
    EXPECT_TRUE(engine.Came(0, tokens));
  } while (kvcast_loading_wait(loading, 0, &loaded, blocks.data(), sizeof(kvcast_block), &count) ==
           KVCAST_PENDING);
  EXPECT_EQ(loaded.tokens, kWholeTokens);
  EXPECT_TRUE(engine.Came(0, kWholeTokens));
  EXPECT_EQ(count, 6u);
  EXPECT_EQ(blocks[5].status, KVCAST_ITEM_LOADED);
  EXPECT_FALSE(IsReadable(engine, /*wait_ms=*/0));
  uint64_t none = 1;
  EXPECT_EQ(kvcast_cache_news(engine.cache(), &none), KVCAST_PENDING);
  EXPECT_EQ(none, 0u);
}

TEST(CLoad, IsCancelledOrGivenUpAtAnyMoment) {
  ScriptedServer server;
  PromptEngine engine(server.flag());
  ASSERT_NE(engine.cache(), nullptr) << kvcast_message();
  ASSERT_EQ(engine.Publish(), kWholeTokens);
  server.WithNode([](ScriptedNode& node) { node.script.silent_on_fetch = true; });
  kvcast_loading* const cancelled = engine.BeginLoad();
  kvcast_loading* const given_up = engine.BeginLoad();
  kvcast_report report{};
  report.struct_size = sizeof(report);
  EXPECT_EQ(kvcast_loading_wait(cancelled, 1000, &report, nullptr, 0, nullptr), KVCAST_PENDING);
  kvcast_loading_abandon(given_up);
  kvcast_loading_cancel(cancelled);
  EXPECT_EQ(EndOf(cancelled).status, KVCAST_ITEM_CANCELLED);
  EXPECT_TRUE(engine.Untouched(0, kWholeTokens));
}

TEST(CLoad, CountsWhatTheEngineHas) {
  ScriptedServer server;
  PromptEngine engine(server.flag());
  ASSERT_NE(engine.cache(), nullptr) << kvcast_message();
  engine.terms.skip_tokens = 17;  // Four blocks, and one token of the fifth.
  kvcast_loading* loading = engine.BeginLoad();
  EXPECT_EQ(kvcast_loading_tokens(loading), 17u);
  kvcast_report report = EndOf(loading);
  EXPECT_EQ(report.blocks, 4u);
  EXPECT_EQ(report.tokens, 17u);
  EXPECT_EQ(report.status, KVCAST_ITEM_ABSENT);
  ASSERT_EQ(engine.Publish(), kWholeTokens);
  loading = engine.BeginLoad();
  report = EndOf(loading);
  EXPECT_EQ(report.tokens, kWholeTokens);
  EXPECT_TRUE(engine.Untouched(0, 16));
  EXPECT_TRUE(engine.Came(16, kWholeTokens));
}

// An engine whose pages become free one after the other.
TEST(CLoad, WritesOnlyWhereThereIsRoom) {
  ScriptedServer server;
  PromptEngine engine(server.flag());
  ASSERT_NE(engine.cache(), nullptr) << kvcast_message();
  ASSERT_EQ(engine.Publish(), kWholeTokens);
  engine.terms.tag = 5;
  engine.terms.room_tokens = 1;  // Of no block.
  kvcast_loading* const loading = engine.BeginLoad();
  kvcast_report report{};
  report.struct_size = sizeof(report);
  for (uint64_t room = 6; room < kWholeTokens; room += 5) {  // Not always of whole blocks.
    kvcast_loading_room(loading, room);
    kvcast_loading_room(loading, 0);  // It does not become less.
    const uint64_t whole = room - room % kBlockTokens;
    while (kvcast_loading_tokens(loading) < whole) {
      EXPECT_EQ(NextNews(engine), 5u);
    }
    EXPECT_EQ(kvcast_loading_wait(loading, 0, &report, nullptr, 0, nullptr), KVCAST_PENDING);
    EXPECT_TRUE(engine.Came(0, whole));
    EXPECT_TRUE(engine.Untouched(whole, kWholeTokens));
  }
  kvcast_loading_room(loading, UINT64_MAX);
  EXPECT_EQ(EndOf(loading).tokens, kWholeTokens);
  EXPECT_TRUE(engine.Came(0, kWholeTokens));
  // Who waits for a load cannot say that there is more room.
  EXPECT_EQ(engine.Load(), kWholeTokens);
}

TEST(CLoad, EndsAtItsDeadline) {
  ScriptedServer server;
  PromptEngine engine(server.flag());
  ASSERT_NE(engine.cache(), nullptr) << kvcast_message();
  ASSERT_EQ(engine.Publish(), kWholeTokens);
  server.WithNode([](ScriptedNode& node) { node.script.silent_on_fetch = true; });
  engine.terms.timeout_us = 20'000;
  EXPECT_EQ(EndOf(engine.BeginLoad()).status, KVCAST_ITEM_LATE);
}

TEST(CLoad, EndsAtOnceWhereThereIsNoNode) {
  ScriptedServer server;
  PromptEngine engine(server.flag());
  ASSERT_NE(engine.cache(), nullptr) << kvcast_message();
  server.Leave();
  while (kvcast_cache_connected(engine.cache()) == 1) {
    std::this_thread::yield();
  }
  kvcast_loading* const loading = engine.BeginLoad();
  EXPECT_TRUE(IsReadable(engine, /*wait_ms=*/0));
  EXPECT_EQ(EndOf(loading, /*wait_us=*/0).tokens, 0u);
  EXPECT_FALSE(IsReadable(engine, /*wait_ms=*/0));
  kvcast_publication* const publication = engine.BeginPublish();
  kvcast_report report{};
  report.struct_size = sizeof(report);
  EXPECT_EQ(kvcast_publication_wait(publication, 0, &report), KVCAST_OK);
  EXPECT_EQ(report.status, KVCAST_ITEM_LOST);
}

TEST(CLoad, RefusesWhatMakesNoSense) {
  ScriptedServer server;
  PromptEngine engine(server.flag());
  ASSERT_NE(engine.cache(), nullptr) << kvcast_message();
  const kvcast_prompt prompt = engine.Prompt();
  kvcast_loading* loading = nullptr;
  EXPECT_EQ(kvcast_cache_begin_load(nullptr, &prompt, nullptr, &loading), KVCAST_INVALID);
  EXPECT_EQ(kvcast_cache_begin_load(engine.cache(), &prompt, nullptr, nullptr), KVCAST_INVALID);
  EXPECT_EQ(kvcast_cache_begin_load(engine.cache(), nullptr, nullptr, &loading), KVCAST_INVALID);
  EXPECT_EQ(loading, nullptr);
  EXPECT_EQ(kvcast_cache_news(engine.cache(), nullptr), KVCAST_INVALID);
  EXPECT_EQ(kvcast_cache_fd(nullptr), -1);
  EXPECT_EQ(kvcast_loading_tokens(nullptr), 0u);
  kvcast_loading_cancel(nullptr);
  kvcast_loading_room(nullptr, 1);
  kvcast_loading_abandon(nullptr);
  EXPECT_EQ(kvcast_publication_close(nullptr), KVCAST_INVALID);
  kvcast_report report{};
  report.struct_size = sizeof(report);
  EXPECT_EQ(kvcast_publication_wait(nullptr, 0, &report), KVCAST_INVALID);
  EXPECT_EQ(kvcast_loading_wait(nullptr, 0, &report, nullptr, 0, nullptr), KVCAST_INVALID);
  // Nothing is lost by asking wrongly.
  loading = engine.BeginLoad();
  size_t count = 1;
  EXPECT_EQ(kvcast_loading_wait(loading, -1, nullptr, nullptr, 0, nullptr), KVCAST_INVALID);
  EXPECT_EQ(kvcast_loading_wait(loading, -1, &report, nullptr, 0, &count), KVCAST_INVALID);
  EXPECT_EQ(EndOf(loading).tokens, 0u);
}

}  // namespace
}  // namespace kvcast
