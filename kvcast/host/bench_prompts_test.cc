#include "kvcast/host/bench_prompts.h"

#include <gtest/gtest.h>

#include <map>

namespace kvcast {
namespace {

ConversationMix MixOf(size_t requests) {
  ConversationMix mix;
  mix.requests = requests;
  return mix;
}

// As many requests as the trace has; its own figures are 36.6 and 75.8 %.
TEST(BenchPrompts, ShareAsThoseOfTheTraceDo) {
  const SharingFigures sharing = SharingOf(MakeConversations(MixOf(12'031)));
  EXPECT_NEAR(sharing.hit_ratio, 0.366, 0.02);
  EXPECT_NEAR(sharing.never_again_ratio, 0.758, 0.02);
  EXPECT_NEAR(sharing.prompt_blocks, 8, 0.5);
}

TEST(BenchPrompts, AreTheSameForTheSameSeedAlone) {
  ConversationMix mix = MixOf(100);
  const RequestTrace first = MakeConversations(mix);
  EXPECT_EQ(MakeConversations(mix).requests, first.requests);
  mix.seed = 2;
  EXPECT_NE(MakeConversations(mix).requests, first.requests);
}

TEST(BenchPrompts, CountTheirBlocksAndStayWithinTheirLength) {
  ConversationMix mix = MixOf(1000);
  mix.prompt_blocks_max = 5;
  const RequestTrace trace = MakeConversations(mix);
  size_t blocks = 0;
  for (const std::vector<uint64_t>& request : trace.requests) {
    EXPECT_GE(request.size(), 1U);
    EXPECT_LE(request.size(), 5U);
    for (const uint64_t block : request) {
      EXPECT_LT(block, trace.distinct_count);
    }
    blocks += request.size();
  }
  EXPECT_EQ(blocks, trace.block_count);
}

// A block's number stands for all before it: what comes before one is always the same.
TEST(BenchPrompts, NameABlockByEverythingBeforeIt) {
  std::map<uint64_t, uint64_t> before;
  for (const std::vector<uint64_t>& request : MakeConversations(MixOf(2000)).requests) {
    for (size_t i = 1; i < request.size(); ++i) {
      EXPECT_EQ(before.emplace(request[i], request[i - 1]).first->second, request[i - 1]);
    }
  }
}

// A prompt that has yet to be published cannot be found: conversations wait that long.
TEST(BenchPrompts, LetOthersComeBetweenTwoOfAConversation) {
  ConversationMix mix = MixOf(2000);
  mix.system_blocks = 0;
  mix.rest = 7;
  std::map<uint64_t, size_t> last;  // By a conversation's first block.
  const RequestTrace trace = MakeConversations(mix);
  size_t returned = 0;
  for (size_t i = 0; i < trace.requests.size(); ++i) {
    const auto [seen, is_new] = last.emplace(trace.requests[i].front(), i);
    if (!is_new) {
      ++returned;
      EXPECT_GT(i - seen->second, mix.rest);
      seen->second = i;
    }
  }
  EXPECT_GT(returned, 100U);
}

TEST(BenchPrompts, PreferSystemPromptsAsZipfSays) {
  ConversationMix mix = MixOf(8000);
  mix.system_prompts = 2;
  mix.returning = 0;
  std::map<uint64_t, size_t> chosen;
  for (const std::vector<uint64_t>& request : MakeConversations(mix).requests) {
    ++chosen[request.front()];
  }
  ASSERT_EQ(chosen.size(), 2U);
  EXPECT_NEAR(static_cast<double>(chosen[0]), 8000.0 * 2 / 3, 200);
}

TEST(CutFiner, MakesSeveralBlocksOfOneAndCutsWhatIsLong) {
  RequestTrace trace;
  trace.requests = {{0, 1}, {0, 2, 3}};
  trace.distinct_count = 4;
  trace.block_count = 5;
  const RequestTrace finer = CutFiner(trace, 2, 5);
  EXPECT_EQ(finer.requests, (std::vector<std::vector<uint64_t>>{{0, 1, 2, 3}, {0, 1, 4, 5, 6}}));
  EXPECT_EQ(finer.block_count, 9U);
  EXPECT_EQ(finer.distinct_count, 8U);
}

TEST(SharingOf, CountsLeadingBlocksOnly) {
  RequestTrace trace;
  trace.requests = {{0, 1}, {0, 2, 1}, {5}};
  trace.block_count = 6;
  const SharingFigures sharing = SharingOf(trace);
  EXPECT_DOUBLE_EQ(sharing.hit_ratio, 1.0 / 6);
  EXPECT_DOUBLE_EQ(sharing.never_again_ratio, 0.5);
  EXPECT_DOUBLE_EQ(sharing.prompt_blocks, 2);
}

}  // namespace
}  // namespace kvcast
