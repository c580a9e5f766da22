#include "kvcast/kv/prefix_chain.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "kvcast/base/random.h"

namespace kvcast {
namespace {

const Digest kModel = Sha256::Of("a model");

BlockNamer Namer(std::string_view salt = {}) {
  return *BlockNamer::Of(NamingKey::Public(), kModel, salt);
}

PrefixChain ChainOf(const std::vector<Token>& tokens,
                    const std::vector<ForeignInput>& inputs = {}) {
  BlockNamer namer = Namer();
  return *PrefixChain::Of(namer, tokens, 4, inputs);
}

std::vector<Token> Prompt(size_t count) {
  std::vector<Token> tokens(count);
  std::iota(tokens.begin(), tokens.end(), 100);
  return tokens;
}

TEST(PrefixChain, NamesWholeBlocksOnly) {
  EXPECT_EQ(ChainOf(Prompt(3)).blocks().size(), 0u);
  EXPECT_EQ(ChainOf(Prompt(4)).blocks().size(), 1u);
  EXPECT_EQ(ChainOf(Prompt(11)).blocks().size(), 2u);
  EXPECT_EQ(ChainOf(Prompt(3)).last(), ChainOf(Prompt(3)).root());
}

TEST(PrefixChain, SharesTheBlocksBeforeTheFirstDifference) {
  const std::vector<Token> first = Prompt(20);
  for (size_t changed = 0; changed < first.size(); ++changed) {
    std::vector<Token> second = first;
    ++second[changed];
    EXPECT_EQ(ChainOf(first).SharedBlocks(ChainOf(second)), changed / 4);
  }
  EXPECT_EQ(ChainOf(first).SharedBlocks(ChainOf(Prompt(9))), 2u);
}

// The same block after another beginning has other KV, so it must have another name.
TEST(PrefixChain, NamesPrefixesAndNotBlocks) {
  std::vector<Token> second = Prompt(12);
  second[0] = 7;
  EXPECT_NE(ChainOf(Prompt(12)).blocks()[2], ChainOf(second).blocks()[2]);
}

TEST(PrefixChain, KeepsTenantsModelsAndSaltsApart) {
  const std::vector<Token> tokens = Prompt(4);
  std::set<BlockHash> names;
  const std::vector<std::byte> secret(32, std::byte{9});
  for (const NamingKey& key : {NamingKey::Public(), *NamingKey::Of(secret)}) {
    for (const Digest& model : {kModel, Sha256::Of("another model")}) {
      for (const char* salt : {"", "x", "y"}) {
        BlockNamer namer = *BlockNamer::Of(key, model, salt);
        names.insert(PrefixChain::Of(namer, tokens, 4)->last());
      }
    }
  }
  EXPECT_EQ(names.size(), 12u);
}

// Placeholder tokens of two images are equal; the prompts are not.
TEST(PrefixChain, TellsPromptsWithDifferentImagesApart) {
  const std::vector<Token> tokens = Prompt(16);
  const ForeignInput cat{5, Sha256::Of("cat")};
  const ForeignInput dog{5, Sha256::Of("dog")};
  const ForeignInput later{6, Sha256::Of("cat")};
  EXPECT_EQ(ChainOf(tokens, {cat}).SharedBlocks(ChainOf(tokens, {cat})), 4u);
  EXPECT_EQ(ChainOf(tokens, {cat}).SharedBlocks(ChainOf(tokens, {dog})), 1u);
  EXPECT_EQ(ChainOf(tokens, {cat}).SharedBlocks(ChainOf(tokens, {later})), 1u);
  EXPECT_EQ(ChainOf(tokens, {cat}).SharedBlocks(ChainOf(tokens)), 1u);
}

TEST(PrefixChain, RefusesInputsThatCannotBe) {
  BlockNamer namer = Namer();
  const std::vector<Token> tokens = Prompt(8);
  const ForeignInput outside[] = {{8, Sha256::Of("x")}};
  EXPECT_FALSE(PrefixChain::Of(namer, tokens, 4, outside).ok());
  const ForeignInput twice[] = {{1, Sha256::Of("x")}, {1, Sha256::Of("y")}};
  EXPECT_FALSE(PrefixChain::Of(namer, tokens, 4, twice).ok());
}

TEST(PrefixChain, OverEngineHashesIsApartFromOneOverTokens) {
  BlockNamer namer = Namer();
  const std::vector<Token> tokens = {1, 2, 3, 4};
  const std::string_view same_bytes[] = {AsText(std::as_bytes(std::span(tokens)))};
  EXPECT_NE(PrefixChain::Of(namer, tokens, 4)->last(),
            PrefixChain::OfEngineHashes(namer, same_bytes)->last());
}

// Growing a prompt during prefill names the same blocks as naming it at once.
TEST(BlockNamer, NamesBlockByBlockWhatTheChainNamesAtOnce) {
  BlockNamer namer = Namer("salt");
  const std::vector<Token> tokens = Prompt(40);
  const PrefixChain chain = *PrefixChain::Of(namer, tokens, 4);
  BlockHash before = namer.root();
  for (size_t block = 0; block < 10; ++block) {
    before = namer.OfTokens(before, block + 1, std::span(tokens).subspan(block * 4, 4));
    EXPECT_EQ(before, chain.blocks()[block]);
  }
}

TEST(Tenant, HasANameOfFewCharacters) {
  EXPECT_TRUE(Tenant::Of("team-7").ok());
  for (const char* name : {"", "Team", "a/b", "a b", "a.b"}) {
    EXPECT_FALSE(Tenant::Of(name).ok()) << name;
  }
  EXPECT_FALSE(Tenant::Of(std::string(65, 'a')).ok());
  EXPECT_FALSE(NamingKey::Of(std::vector<std::byte>(31)).ok());
}

}  // namespace
}  // namespace kvcast
