// Caches of the C interface that share a connection, at a node on loopback.
#include "kvcast/engine/connection_pool.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "kvcast/engine/prompt_engine_test.h"
#include "kvcast/engine/scripted_server_test.h"

namespace kvcast {
namespace {

class SharedConnection : public testing::Test {
 protected:
  std::unique_ptr<PromptEngine> Open(const std::function<void(kvcast_node&)>& change = {}) {
    kvcast_node node{};
    node.address = address_.c_str();
    if (change) {
      change(node);
    }
    auto engine = std::make_unique<PromptEngine>(node);
    EXPECT_EQ(engine->code(), KVCAST_OK) << kvcast_message();
    return engine;
  }
  static bool HasNews(PromptEngine& engine, uint64_t wanted) {
    uint64_t tag = 0;
    return kvcast_cache_news(engine.cache(), &tag) == KVCAST_OK && tag == wanted;
  }

  std::atomic<size_t> sessions_ = 0;
  ScriptedServer server_{{}, [this](ScriptedNode&) { ++sessions_; }};
  const std::string address_ = server_.flag();
};

TEST_F(SharedConnection, IsThatOfAllCachesThatAreOpenedAlike) {
  const auto first = Open();
  const auto second = Open();
  EXPECT_EQ(sessions_, 1u);
  EXPECT_EQ(ConnectionPool::OfProcess().size(), 1u);
  EXPECT_EQ(first->Publish(), kWholeTokens);
  EXPECT_EQ(second->Load(), kWholeTokens);
  EXPECT_TRUE(second->Came(0, kWholeTokens));
  EXPECT_TRUE(first->Untouched(0, kTokens));
}

TEST_F(SharedConnection, EndsWithTheLastWhoHasIt) {
  auto first = Open();
  const auto second = Open();
  ASSERT_EQ(first->Publish(), kWholeTokens);
  first.reset();
  EXPECT_EQ(second->Load(), kWholeTokens);
  EXPECT_EQ(sessions_, 1u);
}

TEST_F(SharedConnection, IsNotThatOfOthers) {
  const std::string key(32, 'k');
  const auto engine = Open();
  const auto own = Open([](kvcast_node& node) { node.own_connection = 1; });
  EXPECT_EQ(sessions_, 2u);
  const auto token = Open([](kvcast_node& node) { node.token = "a token"; });
  EXPECT_EQ(sessions_, 3u);
  const auto tenant = Open([&](kvcast_node& node) {
    node.tenant = "another";
    node.naming_key = key.data();
  });
  EXPECT_EQ(sessions_, 4u);
  const auto room = Open([](kvcast_node& node) { node.prefetch_bytes_max = 1; });
  EXPECT_EQ(sessions_, 5u);
}

// Each has a descriptor of its own, whoever uses the same tags.
TEST_F(SharedConnection, TellsEachOfItsOwnCallsAlone) {
  const auto first = Open();
  const auto second = Open();
  ASSERT_NE(kvcast_cache_fd(first->cache()), kvcast_cache_fd(second->cache()));
  ASSERT_EQ(first->Publish(), kWholeTokens);
  second->terms.tag = 5;
  kvcast_loading* const loading = second->BeginLoad();
  pollfd waits{kvcast_cache_fd(second->cache()), POLLIN, 0};
  ASSERT_EQ(::poll(&waits, 1, 60'000), 1);
  pollfd others{kvcast_cache_fd(first->cache()), POLLIN, 0};
  EXPECT_EQ(::poll(&others, 1, 0), 0);
  EXPECT_FALSE(HasNews(*first, 5));
  EXPECT_TRUE(HasNews(*second, 5));
  kvcast_report report{};
  report.struct_size = sizeof(report);
  EXPECT_EQ(kvcast_loading_wait(loading, -1, &report, nullptr, 0, nullptr), KVCAST_OK);
  EXPECT_EQ(report.tokens, kWholeTokens);
}

TEST_F(SharedConnection, IsNotGivenToAnybodyWhileItIsLost) {
  const auto engine = Open();
  server_.Leave();
  while (kvcast_cache_connected(engine->cache()) == 1) {
    std::this_thread::yield();
  }
  kvcast_node node{};
  node.address = address_.c_str();
  node.patience_ms = 200;
  const PromptEngine nobody(node);
  EXPECT_EQ(nobody.code(), KVCAST_MACHINE);
}

}  // namespace
}  // namespace kvcast
