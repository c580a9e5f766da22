// The C interface of the cache, at a node on loopback.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <thread>
#include <vector>

#include "kvcast/engine/prompt_engine_test.h"
#include "kvcast/engine/scripted_server_test.h"
#include "kvcast/kvcast.h"

namespace kvcast {
namespace {

TEST(CCache, CarriesAPromptFromPagesToPages) {
  ScriptedServer server;
  PromptEngine engine(server.flag());
  ASSERT_NE(engine.cache(), nullptr) << kvcast_message();
  EXPECT_EQ(kvcast_cache_block_tokens(engine.cache()), kBlockTokens);
  EXPECT_EQ(engine.Publish(), kWholeTokens);
  const kvcast_report found = engine.Do(kvcast_cache_find);
  EXPECT_EQ(found.tokens, kWholeTokens);
  EXPECT_EQ(found.status, 0);
  EXPECT_TRUE(engine.Untouched(0, kWholeTokens));
  EXPECT_EQ(engine.Load(), kWholeTokens);
  EXPECT_TRUE(engine.Came(0, kWholeTokens));
}

// Equal tokens, and a model that sees something else: what was computed for one image must never be
// loaded for another.
TEST(CCache, TellsPromptsApartByTheirImages) {
  ScriptedServer server;
  PromptEngine engine(server.flag());
  ASSERT_NE(engine.cache(), nullptr) << kvcast_message();
  engine.inputs = {InputAt(13, "a second"), InputAt(5, "a cat")};  // In any order.
  ASSERT_EQ(engine.Publish(), kWholeTokens);
  engine.inputs = {InputAt(5, "a dog"), InputAt(13, "a second")};
  EXPECT_EQ(engine.Find(), 4u);  // What stands before the first image.
  EXPECT_EQ(engine.Load(), 4u);
  EXPECT_TRUE(engine.Came(0, 4));
  EXPECT_TRUE(engine.Untouched(4, kWholeTokens));
  engine.inputs = {};
  EXPECT_EQ(engine.Find(), 4u);
  engine.inputs = {InputAt(6, "a cat"), InputAt(13, "a second")};
  EXPECT_EQ(engine.Find(), 4u);
  engine.inputs = {InputAt(5, "a cat"), InputAt(13, "a third")};
  EXPECT_EQ(engine.Find(), 12u);
  engine.inputs = {InputAt(5, "a cat"), InputAt(13, "a second"), InputAt(25, "in no block")};
  EXPECT_EQ(engine.Load(), kWholeTokens);
  EXPECT_TRUE(engine.Came(0, kWholeTokens));
}

TEST(CCache, RefusesInputsThatMakeNoSense) {
  ScriptedServer server;
  PromptEngine engine(server.flag());
  ASSERT_NE(engine.cache(), nullptr) << kvcast_message();
  const auto find = [&](const kvcast_prompt& prompt) {
    kvcast_report report{};
    report.struct_size = sizeof(report);
    return kvcast_cache_find(engine.cache(), &prompt, nullptr, &report);
  };
  engine.inputs = {InputAt(kTokens, "behind the last token")};
  EXPECT_EQ(find(engine.Prompt()), KVCAST_INVALID);
  engine.inputs = {InputAt(3, "one"), InputAt(3, "and another")};
  EXPECT_EQ(find(engine.Prompt()), KVCAST_INVALID);
  engine.inputs = {InputAt(3, "one")};
  kvcast_prompt prompt = engine.Prompt();
  EXPECT_EQ(find(prompt), KVCAST_OK);
  prompt.inputs = nullptr;
  EXPECT_EQ(find(prompt), KVCAST_INVALID);
  prompt = engine.Prompt();
  prompt.input_size = sizeof(kvcast_input) - 1;
  EXPECT_EQ(find(prompt), KVCAST_INVALID);
  prompt = engine.Prompt();
  prompt.input_count = SIZE_MAX;
  EXPECT_EQ(find(prompt), KVCAST_INVALID);
}

// Who was built before there were inputs says nothing of them, whatever lies behind its struct.
TEST(CCache, NamesPromptsOfEarlierCallersAsBefore) {
  ScriptedServer server;
  PromptEngine engine(server.flag());
  ASSERT_NE(engine.cache(), nullptr) << kvcast_message();
  ASSERT_EQ(engine.Publish(), kWholeTokens);
  engine.inputs = {InputAt(0, "not read")};
  kvcast_prompt prompt = engine.Prompt();
  prompt.struct_size = offsetof(kvcast_prompt, inputs);
  kvcast_report report{};
  report.struct_size = sizeof(report);
  ASSERT_EQ(kvcast_cache_find(engine.cache(), &prompt, nullptr, &report), KVCAST_OK);
  EXPECT_EQ(report.tokens, kWholeTokens);
}

// Its own prefix cache has what stands first: nobody is asked for that, and nothing writes to it.
TEST(CCache, LeavesAloneWhatTheEngineHas) {
  ScriptedServer server;
  PromptEngine engine(server.flag());
  ASSERT_NE(engine.cache(), nullptr) << kvcast_message();
  engine.terms.rung = "BF16";  // All blocks of one size.
  ASSERT_EQ(engine.Publish(), kWholeTokens);
  const uint64_t all_bytes = engine.Do(kvcast_cache_find).bytes;
  engine.terms.skip_tokens = 17;  // Four blocks, and one token of the fifth.
  const kvcast_report found = engine.Do(kvcast_cache_find);
  EXPECT_EQ(found.blocks, 6u);
  EXPECT_EQ(found.tokens, kWholeTokens);
  EXPECT_EQ(found.bytes, all_bytes / 3);
  EXPECT_EQ(found.status, 0);
  const kvcast_report loaded = engine.Do(kvcast_cache_load);
  EXPECT_EQ(loaded.blocks, 6u);
  EXPECT_EQ(loaded.tokens, kWholeTokens);
  EXPECT_EQ(loaded.bytes, all_bytes / 3);
  EXPECT_EQ(loaded.status, 0);
  EXPECT_TRUE(engine.Untouched(0, 16));
  EXPECT_TRUE(engine.Came(16, kWholeTokens));
}

TEST(CCache, CountsWhatTheEngineHasWhereNothingElseIs) {
  ScriptedServer server;
  PromptEngine engine(server.flag());
  ASSERT_NE(engine.cache(), nullptr) << kvcast_message();
  for (const auto& [skipped, blocks] :
       {std::pair<uint64_t, uint64_t>{0, 0}, {17, 4}, {kTokens, 6}, {UINT64_MAX, 6}}) {
    engine.terms.skip_tokens = skipped;
    for (PromptEngine::Call* const call : {kvcast_cache_find, kvcast_cache_load}) {
      const kvcast_report report = engine.Do(call);
      EXPECT_EQ(report.blocks, blocks);
      EXPECT_EQ(report.tokens, std::min<uint64_t>(skipped, kTokens));
      EXPECT_EQ(report.status, blocks == 6 ? 0 : KVCAST_ITEM_ABSENT);
    }
  }
  server.Leave();
  while (kvcast_cache_connected(engine.cache()) == 1) {
    std::this_thread::yield();
  }
  engine.terms.skip_tokens = 17;
  EXPECT_EQ(engine.Do(kvcast_cache_load).tokens, 17u);
}

// Nodes that know nothing of each other: what is published is at the one that is there.
TEST(CCache, GoesOnWithAnotherNode) {
  ScriptedServer first;
  ScriptedServer second;
  const std::string address = first.flag();
  const std::string other = second.flag();
  const std::string nobody = "127.0.0.1:1#" + std::string(64, '0');
  const std::array<const char*, 2> others = {nobody.c_str(), other.c_str()};
  kvcast_node where{};
  where.address = address.c_str();
  where.others = others.data();
  where.other_count = others.size();
  PromptEngine engine(where);
  ASSERT_NE(engine.cache(), nullptr) << kvcast_message();
  ASSERT_EQ(engine.Publish(), kWholeTokens);
  first.Leave();
  while (engine.Find() > 0) {
    std::this_thread::yield();
  }
  while (engine.Publish() == 0) {
    std::this_thread::yield();
  }
  EXPECT_EQ(engine.Load(), kWholeTokens);
  EXPECT_TRUE(engine.Came(0, kWholeTokens));
}

TEST(CCache, RefusesOtherNodesThatHaveNoAddress) {
  const auto code = [](const kvcast_node& where) { return PromptEngine(where).code(); };
  kvcast_node where{};
  where.address = "127.0.0.1:1";
  where.other_count = 1;
  EXPECT_EQ(code(where), KVCAST_INVALID);
  const char* const nowhere = "no port";
  where.others = &nowhere;
  EXPECT_EQ(code(where), KVCAST_INVALID);
  const std::vector<const char*> many(65, "127.0.0.1:1");
  where.others = many.data();
  where.other_count = many.size();
  EXPECT_EQ(code(where), KVCAST_INVALID);
}

TEST(CCache, SaysWhereEachBlockIs) {
  ScriptedServer server;
  PromptEngine engine(server.flag());
  ASSERT_NE(engine.cache(), nullptr) << kvcast_message();
  for (const char* const rung : {"BF16", "Int8"}) {
    engine.terms.rung = rung;
    ASSERT_EQ(engine.Publish(), kWholeTokens);
  }
  engine.terms.skip_tokens = 2 * kBlockTokens;
  const kvcast_prompt prompt = engine.Prompt();
  std::array<kvcast_offer, 10> offers{};
  size_t count = 5;
  const auto ask = [&](size_t size) {
    return kvcast_cache_offers(engine.cache(), &prompt, &engine.terms, offers.data(), size, &count);
  };
  ASSERT_EQ(ask(sizeof(kvcast_offer)), KVCAST_OK) << kvcast_message();
  EXPECT_EQ(count, 8u);  // Four blocks, at two rungs each; told of five offers.
  EXPECT_NE(offers[4].rung, nullptr);
  EXPECT_EQ(offers[5].rung, nullptr);
  ASSERT_EQ(ask(sizeof(kvcast_offer)), KVCAST_OK) << kvcast_message();
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(offers[i].block, 2 + i / 2);
    EXPECT_STREQ(offers[i].rung, i % 2 == 0 ? "BF16" : "Int8");
    EXPECT_GT(offers[i].bytes, 0u);
    EXPECT_EQ(offers[i].load_us, -1);  // Nothing was loaded yet.
    EXPECT_EQ(std::memcmp(offers[i].node, offers[0].node, 16), 0);
    EXPECT_EQ(std::memcmp(offers[i].generation, offers[i % 2].generation, 16), 0);
  }
  EXPECT_NE(std::memcmp(offers[0].generation, offers[1].generation, 16), 0);
  EXPECT_EQ(engine.Load(), kWholeTokens);
  ASSERT_EQ(ask(sizeof(kvcast_offer)), KVCAST_OK) << kvcast_message();
  EXPECT_GE(offers[0].load_us, 0);
  EXPECT_EQ(ask(sizeof(kvcast_offer) - 1), KVCAST_INVALID);
  EXPECT_EQ(kvcast_cache_offers(engine.cache(), &prompt, nullptr, nullptr, 0, nullptr),
            KVCAST_INVALID);
}

TEST(CCache, SaysWhatBecameOfEachBlock) {
  ScriptedServer server;
  PromptEngine engine(server.flag());
  ASSERT_NE(engine.cache(), nullptr) << kvcast_message();
  ASSERT_EQ(engine.Publish(), kWholeTokens);
  engine.inputs = {InputAt(17, "an image")};  // From the fifth block on it is another prompt.
  engine.terms.skip_tokens = kBlockTokens;
  const kvcast_prompt prompt = engine.Prompt();
  kvcast_report report{};
  report.struct_size = sizeof(report);
  std::array<kvcast_block, 7> blocks{};
  size_t count = blocks.size();
  const auto load = [&](size_t size) {
    return kvcast_cache_load_blocks(engine.cache(), &prompt, &engine.terms, &report, blocks.data(),
                                    size, &count);
  };
  ASSERT_EQ(load(sizeof(kvcast_block)), KVCAST_OK) << kvcast_message();
  EXPECT_EQ(report.blocks, 4u);
  ASSERT_EQ(count, 6u);
  EXPECT_EQ(blocks[0].status, KVCAST_ITEM_HELD);
  EXPECT_EQ(blocks[0].rung, nullptr);
  EXPECT_STREQ(blocks[0].why, "The engine has it.");
  for (size_t block = 1; block < 4; ++block) {
    EXPECT_EQ(blocks[block].status, KVCAST_ITEM_LOADED);
    EXPECT_STREQ(blocks[block].rung, "BF16-lossless");
    EXPECT_NE(std::string(blocks[block].why).find(" as BF16-lossless: "), std::string::npos);
  }
  for (size_t block = 4; block < 6; ++block) {
    EXPECT_EQ(blocks[block].status, KVCAST_ITEM_ABSENT);
    EXPECT_EQ(blocks[block].rung, nullptr);
    EXPECT_STREQ(blocks[block].why, "No more blocks are known of.");
  }
  EXPECT_EQ(blocks[6].status, KVCAST_ITEM_PENDING);  // There is no such block.
  EXPECT_EQ(load(0), KVCAST_INVALID);
  server.WithNode([](ScriptedNode& node) { node.script.refuse_fetch = true; });
  count = 6;
  ASSERT_EQ(load(sizeof(kvcast_block)), KVCAST_OK) << kvcast_message();
  EXPECT_EQ(report.blocks, 1u);
  EXPECT_EQ(blocks[1].status, KVCAST_ITEM_REFUSED);
  EXPECT_STREQ(blocks[1].why, report.reason);
  EXPECT_EQ(blocks[2].status, KVCAST_ITEM_ABSENT);
}

// What there is no room to remember is not found.
TEST(CCache, RemembersNoMoreOfNodesThanItMay) {
  ScriptedServer server;
  const std::string address = server.flag();
  kvcast_node where{};
  where.address = address.c_str();
  where.index_bytes_max = 1;
  PromptEngine engine(where);
  ASSERT_NE(engine.cache(), nullptr) << kvcast_message();
  engine.terms.timeout_us = 300'000;  // The node lists it, and nobody hears of it.
  EXPECT_EQ(engine.Publish(), 0u);
  EXPECT_EQ(engine.Find(), 0u);
}

}  // namespace
}  // namespace kvcast
