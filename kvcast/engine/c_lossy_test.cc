// Values that came at a rung that changes them, through the C interface: they are never published
// as more than they are.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kvcast/engine/prompt_engine_test.h"
#include "kvcast/engine/scripted_server_test.h"
#include "kvcast/kvcast.h"

namespace kvcast {
namespace {

// A node that has a prompt as one engine has published it, and another engine that loads it.
class CLossy : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(engine_.cache(), nullptr) << kvcast_message(); }

  // By the first engine: the prompt's first so many tokens.
  void Published(const char* rung, size_t tokens = kTokens) {
    PromptEngine first(server_.flag());
    ASSERT_NE(first.cache(), nullptr) << kvcast_message();
    kvcast_prompt prompt = first.Prompt(PromptEngine::Pages::kPut);
    prompt.token_count = tokens;
    kvcast_report report = Empty();
    first.terms.rung = rung;
    ASSERT_EQ(kvcast_cache_publish(first.cache(), &prompt, &first.terms, &report), KVCAST_OK);
    ASSERT_EQ(report.status, 0) << report.reason;
  }
  // By the engine that loads: what it comes to with the lesser rung as good enough.
  uint64_t Loaded(const char* rung) {
    engine_.terms.rung = rung;
    return engine_.Load();
  }
  kvcast_report PublishedAt(const char* rung, uint64_t exact_tokens = 0) {
    engine_.terms.rung = rung;
    engine_.terms.exact_tokens = exact_tokens;
    return engine_.Do(kvcast_cache_publish);
  }
  // What a third engine finds that takes the very values only.
  uint64_t ExactTokens() {
    PromptEngine third(server_.flag());
    return third.Find();
  }
  static kvcast_report Empty() {
    kvcast_report report{};
    report.struct_size = sizeof(report);
    return report;
  }

  ScriptedServer server_;
  PromptEngine engine_{server_.flag()};
};

TEST_F(CLossy, IsNotPublishedAtTruerRungs) {
  Published("Int8");
  ASSERT_EQ(Loaded("Int8"), kWholeTokens);
  for (const char* const rung : {"BF16-lossless", "BF16", static_cast<const char*>(nullptr)}) {
    const kvcast_report report = PublishedAt(rung);
    EXPECT_EQ(report.blocks, 0u);
    EXPECT_EQ(report.bytes, 0u);
    EXPECT_EQ(report.status, KVCAST_ITEM_LOSSY);
    EXPECT_NE(std::string(report.reason).find("Block 0 was loaded as Int8"), std::string::npos)
        << report.reason;
  }
  EXPECT_EQ(ExactTokens(), 0u);
  EXPECT_STREQ(kvcast_item_text(KVCAST_ITEM_LOSSY), "lossy");
}

TEST_F(CLossy, IsPublishedAtRungsThatAreNoTruer) {
  Published("Int8");
  ASSERT_EQ(Loaded("Int8"), kWholeTokens);
  const kvcast_report same = PublishedAt("Int8");
  EXPECT_EQ(same.tokens, kWholeTokens) << same.reason;
  EXPECT_EQ(same.held, 6u);
  const kvcast_report less = PublishedAt("Int4");
  EXPECT_EQ(less.tokens, kWholeTokens) << less.reason;
  EXPECT_EQ(less.status, 0);
}

// What is computed on top of values that are not exact is no more exact than those.
TEST_F(CLossy, KeepsBackWhatIsComputedOnIt) {
  Published("BF16", /*tokens=*/8);
  Published("Int8", /*tokens=*/16);
  ASSERT_EQ(Loaded(nullptr), 8u);  // Two blocks exactly,
  engine_.terms.skip_tokens = 8;
  ASSERT_EQ(Loaded("Int8"), 16u);  // and two as Int8.
  const kvcast_report exact = PublishedAt("BF16-lossless");
  EXPECT_EQ(exact.tokens, 8u);
  EXPECT_EQ(exact.status, KVCAST_ITEM_LOSSY);
  EXPECT_NE(std::string(exact.reason).find("Block 2 "), std::string::npos) << exact.reason;
  EXPECT_EQ(ExactTokens(), 8u);
  const kvcast_report lossy = PublishedAt("Int8");
  EXPECT_EQ(lossy.tokens, kWholeTokens);  // With two blocks that this engine computed.
  EXPECT_EQ(lossy.status, 0) << lossy.reason;
  EXPECT_EQ(ExactTokens(), 8u);
}

TEST_F(CLossy, IsPublishedWhereTheEngineSaysThatItHasComputedItAgain) {
  Published("Int8");
  ASSERT_EQ(Loaded("Int8"), kWholeTokens);
  const kvcast_report first = PublishedAt("BF16", /*exact_tokens=*/11);  // Two blocks and more.
  EXPECT_EQ(first.tokens, 8u);
  EXPECT_EQ(first.status, KVCAST_ITEM_LOSSY);
  const kvcast_report all = PublishedAt("BF16", /*exact_tokens=*/UINT64_MAX);
  EXPECT_EQ(all.tokens, kWholeTokens) << all.reason;
  EXPECT_EQ(all.status, 0);
  EXPECT_EQ(ExactTokens(), kWholeTokens);
}

// An engine that takes less where it must, and gets all of it, has nothing to hide.
TEST_F(CLossy, IsNothingThatCameExactly) {
  Published("BF16-lossless");
  ASSERT_EQ(Loaded("Int4"), kWholeTokens);
  const kvcast_report report = PublishedAt("BF16");
  EXPECT_EQ(report.tokens, kWholeTokens) << report.reason;
  EXPECT_EQ(report.status, 0);
}

TEST_F(CLossy, IsNothingOfAnotherPrompt) {
  Published("Int8");
  ASSERT_EQ(Loaded("Int8"), kWholeTokens);
  kvcast_prompt other = engine_.Prompt(PromptEngine::Pages::kPut);
  other.salt = "other";
  other.salt_bytes = 5;
  kvcast_report report = Empty();
  engine_.terms.rung = "BF16";
  ASSERT_EQ(kvcast_cache_publish(engine_.cache(), &other, &engine_.terms, &report), KVCAST_OK);
  EXPECT_EQ(report.tokens, kWholeTokens) << report.reason;
}

// It may have come between the beginning of a publication and the moment when a block is ready.
TEST_F(CLossy, IsKeptBackWhereItIsCalledReady) {
  Published("Int8", /*tokens=*/12);
  engine_.terms.rung = "BF16";
  kvcast_publication* const publication = engine_.BeginPublish();
  ASSERT_EQ(Loaded("Int8"), 12u);
  ASSERT_EQ(kvcast_publication_ready(publication, kTokens), KVCAST_OK);
  kvcast_report report = Empty();
  ASSERT_EQ(kvcast_publication_finish(publication, -1, &report), KVCAST_OK);
  EXPECT_EQ(report.blocks, 0u);
  EXPECT_EQ(report.status, KVCAST_ITEM_LOSSY) << report.reason;
  EXPECT_EQ(ExactTokens(), 0u);
}

TEST_F(CLossy, IsRememberedOfALoadThatNobodyWaitsFor) {
  Published("Int8");
  engine_.terms.rung = "Int8";
  kvcast_loading* const loading = engine_.BeginLoad();
  // It may have come already, and may be used.
  EXPECT_EQ(PublishedAt("BF16").status, KVCAST_ITEM_LOSSY);
  kvcast_report report = Empty();
  ASSERT_EQ(kvcast_loading_wait(loading, -1, &report, nullptr, 0, nullptr), KVCAST_OK);
  ASSERT_EQ(report.tokens, kWholeTokens);
  EXPECT_EQ(PublishedAt("BF16").status, KVCAST_ITEM_LOSSY);
}

TEST_F(CLossy, IsRememberedOfALoadThatIsGivenUp) {
  Published("Int8");
  engine_.terms.rung = "Int8";
  kvcast_loading* const loading = engine_.BeginLoad();
  while (kvcast_loading_tokens(loading) < kWholeTokens) {
  }
  kvcast_loading_abandon(loading);
  EXPECT_EQ(PublishedAt("BF16").blocks, 0u);
}

// An engine may load what is public, or another tenant's, and publish it as its own.
TEST_F(CLossy, IsNotPublishedFromTheSamePagesByAnyOtherCache) {
  Published("Int8");
  ASSERT_EQ(Loaded("Int8"), kWholeTokens);
  const ToyModel toy;
  const std::string folder = toy.folder();
  kvcast_model model{};
  model.struct_size = sizeof(model);
  model.folder = folder.c_str();
  model.block_tokens = kBlockTokens;
  const std::string address = server_.flag();
  const std::string key(32, 'k');
  kvcast_node node{};
  node.struct_size = sizeof(node);
  node.address = address.c_str();
  for (const char* const tenant : {"acme", static_cast<const char*>(nullptr)}) {
    node.tenant = tenant;
    node.naming_key = tenant == nullptr ? nullptr : key.data();
    const kvcast_pages pages = engine_.pages();
    kvcast_cache* cache = nullptr;
    ASSERT_EQ(kvcast_cache_open(&node, &model, &pages, &cache), KVCAST_OK) << kvcast_message();
    const kvcast_prompt prompt = engine_.Prompt();
    kvcast_report report = Empty();
    engine_.terms.rung = "BF16";
    EXPECT_EQ(kvcast_cache_publish(cache, &prompt, &engine_.terms, &report), KVCAST_OK);
    EXPECT_EQ(report.blocks, 0u);
    EXPECT_EQ(report.status, KVCAST_ITEM_LOSSY) << report.reason;
    kvcast_cache_close(cache);
  }
}

// A file outlives who remembers it, and so says it itself.
TEST_F(CLossy, IsSaidByAFileOfIt) {
  const ToyModel toy;
  const std::string folder = toy.folder();
  kvcast_model model{};
  model.struct_size = sizeof(model);
  model.folder = folder.c_str();
  model.block_tokens = kBlockTokens;
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  const std::string path = (scratch.path() / "prompt.safetensors").string();
  const kvcast_pages pages = engine_.pages();
  const kvcast_prompt prompt = engine_.Prompt();
  ASSERT_EQ(kvcast_file_save(path.c_str(), &model, &pages, &prompt), KVCAST_OK) << kvcast_message();
  EXPECT_EQ(ReadFile(path, 1 << 20)->find("kvcast.rung"), std::string::npos);
  uint64_t tokens = 0;
  EXPECT_EQ(kvcast_file_restore(path.c_str(), &model, &pages, &prompt, &tokens), KVCAST_OK);
  EXPECT_EQ(tokens, kTokens);

  Published("Int8", /*tokens=*/8);
  ASSERT_EQ(Loaded("Int8"), 8u);
  ASSERT_EQ(kvcast_file_save(path.c_str(), &model, &pages, &prompt), KVCAST_OK) << kvcast_message();
  EXPECT_NE(ReadFile(path, 1 << 20)->find("\"kvcast.rung\":\"Int8\""), std::string::npos);
  EXPECT_EQ(kvcast_file_restore(path.c_str(), &model, &pages, &prompt, &tokens), KVCAST_MISMATCH);
  EXPECT_EQ(tokens, 0u);
}

// What a load might have brought and has not is the engine's own.
TEST_F(CLossy, IsNotWhatDidNotCome) {
  Published("Int8", /*tokens=*/8);
  engine_.terms.rung = "Int8";
  engine_.terms.room_tokens = 1;  // Less than a block.
  kvcast_loading* const loading = engine_.BeginLoad();
  kvcast_loading_abandon(loading);
  const kvcast_report report = PublishedAt("BF16");
  EXPECT_EQ(report.tokens, kWholeTokens) << report.reason;
}

}  // namespace
}  // namespace kvcast
