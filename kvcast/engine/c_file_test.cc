// A cache as a file, through the C interface.
#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "kvcast/base/digest.h"
#include "kvcast/base/random.h"
#include "kvcast/engine/prompt_engine_test.h"
#include "kvcast/io/file.h"
#include "kvcast/io/scratch_directory.h"
#include "kvcast/kvcast.h"

namespace kvcast {
namespace {

// An engine's pages, in an order that is not that of the prompt.
class Pages {
 public:
  explicit Pages(uint64_t seed) {
    Random(seed).Fill(memory_);
    for (size_t layer = 0; layer < layers_.size(); ++layer) {
      layers_[layer] = {memory_.data() + 2 * layer * kHalfBytes, kHalfBytes,
                        memory_.data() + (2 * layer + 1) * kHalfBytes, kHalfBytes};
    }
    pages_.struct_size = sizeof(pages_);
    pages_.layers = layers_.data();
    pages_.layer_size = sizeof(kvcast_layer);
    pages_.layer_count = layers_.size();
    pages_.page_tokens = kBlockTokens;
    pages_.page_count = kPromptPages;
  }
  kvcast_pages* get() { return &pages_; }
  // Of one token, all layers, in the page where the table says it is.
  std::string Token(const std::vector<uint32_t>& table, uint32_t token) const {
    std::string values;
    for (const kvcast_layer& layer : layers_) {
      for (const void* const plane : {layer.key, layer.value}) {
        const size_t place =
            size_t{table[token / kBlockTokens]} * kBlockTokens + token % kBlockTokens;
        values.append(static_cast<const char*>(plane) + place * kTokenBytes, kTokenBytes);
      }
    }
    return values;
  }

 private:
  std::array<std::byte, 4 * kHalfBytes> memory_{};
  std::array<kvcast_layer, 2> layers_{};
  kvcast_pages pages_{};
};

class CFile : public testing::Test {
 protected:
  CFile() : tokens_(kTokens), put_{7, 2, 5, 0, 1, 6, 3}, got_{0, 1, 2, 3, 4, 5, 6} {
    std::iota(tokens_.begin(), tokens_.end(), 1000);
    path_ = (scratch_.path() / "prompt.safetensors").string();
  }

  kvcast_model Model(const std::string& folder) const {
    kvcast_model model{};
    model.struct_size = sizeof(model);
    model.folder = folder.c_str();
    model.block_tokens = kBlockTokens;
    return model;
  }
  kvcast_prompt Prompt(const std::vector<uint32_t>& tokens,
                       const std::vector<uint32_t>& pages) const {
    kvcast_prompt prompt{};
    prompt.struct_size = sizeof(prompt);
    prompt.tokens = tokens.data();
    prompt.token_count = tokens.size();
    prompt.pages = pages.data();
    prompt.page_count = pages.size();
    prompt.salt = salt_.data();
    prompt.salt_bytes = salt_.size();
    prompt.inputs = inputs_.data();
    prompt.input_size = sizeof(kvcast_input);
    prompt.input_count = inputs_.size();
    return prompt;
  }
  kvcast_code Save(const std::string& folder) {
    const kvcast_model model = Model(folder);
    const kvcast_prompt prompt = Prompt(tokens_, put_);
    return kvcast_file_save(path_.c_str(), &model, from_.get(), &prompt);
  }
  kvcast_code Restore(const std::string& folder, const std::vector<uint32_t>& tokens) {
    const kvcast_model model = Model(folder);
    const kvcast_prompt prompt = Prompt(tokens, got_);
    restored_ = 99;
    return kvcast_file_restore(path_.c_str(), &model, to_.get(), &prompt, &restored_);
  }
  // How many of the first tokens are what was saved.
  uint32_t Same() const {
    uint32_t same = 0;
    while (same < kTokens && from_.Token(put_, same) == to_.Token(got_, same)) {
      ++same;
    }
    return same;
  }

  ToyModel model_;
  ScratchDirectory scratch_ = *ScratchDirectory::Make();
  std::string path_;
  std::vector<uint32_t> tokens_;
  std::vector<uint32_t> put_;
  std::vector<uint32_t> got_;
  Pages from_{1};
  Pages to_{2};
  std::string salt_;
  std::vector<kvcast_input> inputs_;
  uint64_t restored_ = 0;
};

TEST_F(CFile, CarriesAPromptFromPagesToPages) {
  ASSERT_EQ(Save(model_.folder()), KVCAST_OK) << kvcast_message();
  ASSERT_EQ(Restore(model_.folder(), tokens_), KVCAST_OK) << kvcast_message();
  EXPECT_EQ(restored_, kTokens);  // Of a block that is not whole, too.
  EXPECT_EQ(Same(), kTokens);
}

TEST_F(CFile, GivesWhatAnotherPromptShares) {
  ASSERT_EQ(Save(model_.folder()), KVCAST_OK) << kvcast_message();
  std::vector<uint32_t> other = tokens_;
  other[9] = 1;
  ASSERT_EQ(Restore(model_.folder(), other), KVCAST_OK) << kvcast_message();
  EXPECT_EQ(restored_, 9u);
  EXPECT_EQ(Same(), 9u);
  other[0] = 1;
  ASSERT_EQ(Restore(model_.folder(), other), KVCAST_OK) << kvcast_message();
  EXPECT_EQ(restored_, 0u);
}

TEST_F(CFile, IsRefusedByAnotherModel) {
  ASSERT_EQ(Save(model_.folder()), KVCAST_OK) << kvcast_message();
  const ToyModel other;
  ASSERT_TRUE(WriteFileAtomically(other.folder() + "/tokenizer.json", AsBytes("{ }")).ok());
  EXPECT_EQ(Restore(other.folder(), tokens_), KVCAST_MISMATCH);
  EXPECT_EQ(restored_, 0u);
  EXPECT_EQ(Same(), 0u);
}

TEST_F(CFile, IsRefusedWithoutItsPrompt) {
  ASSERT_EQ(Save(model_.folder()), KVCAST_OK) << kvcast_message();
  std::string file = *ReadFile(path_, 1 << 20);
  file.replace(file.find("kvcast.prompt"), 13, "kvcast.prompz");
  ASSERT_TRUE(WriteFileAtomically(path_, AsBytes(file)).ok());
  EXPECT_EQ(Restore(model_.folder(), tokens_), KVCAST_MISMATCH);
  EXPECT_EQ(Same(), 0u);
}

// Another prompt's KV would be a wrong answer that nobody notices.
TEST_F(CFile, IsRefusedWithOtherIdsThanItsDigest) {
  ASSERT_EQ(Save(model_.folder()), KVCAST_OK) << kvcast_message();
  std::string file = *ReadFile(path_, 1 << 20);
  file.replace(file.find("1003"), 4, "2003");
  ASSERT_TRUE(WriteFileAtomically(path_, AsBytes(file)).ok());
  tokens_[3] = 2003;
  EXPECT_EQ(Restore(model_.folder(), tokens_), KVCAST_MISMATCH);
  EXPECT_EQ(restored_, 0u);
}

// Placeholder tokens are the same for every image, and the KV from there on is not.
TEST_F(CFile, GivesNothingFromAnotherImageOn) {
  inputs_ = {InputAt(21, "a dog"), InputAt(9, "a cat")};  // In any order.
  ASSERT_EQ(Save(model_.folder()), KVCAST_OK) << kvcast_message();
  inputs_ = {InputAt(9, "a lion"), InputAt(21, "a dog")};
  ASSERT_EQ(Restore(model_.folder(), tokens_), KVCAST_OK) << kvcast_message();
  EXPECT_EQ(restored_, 9u);
  EXPECT_EQ(Same(), 9u);
  inputs_ = {InputAt(9, "a cat")};
  ASSERT_EQ(Restore(model_.folder(), tokens_), KVCAST_OK) << kvcast_message();
  EXPECT_EQ(restored_, 21u);
  inputs_ = {InputAt(9, "a cat"), InputAt(21, "a dog"), InputAt(25, "a bird")};
  ASSERT_EQ(Restore(model_.folder(), tokens_), KVCAST_OK) << kvcast_message();
  EXPECT_EQ(restored_, 25u);
  inputs_.pop_back();
  ASSERT_EQ(Restore(model_.folder(), tokens_), KVCAST_OK) << kvcast_message();
  EXPECT_EQ(restored_, kTokens);
}

TEST_F(CFile, IsRefusedUnderAnotherSalt) {
  salt_ = "weights=fp8";
  ASSERT_EQ(Save(model_.folder()), KVCAST_OK) << kvcast_message();
  for (const char* const other : {"weights=bf16", ""}) {
    salt_ = other;
    EXPECT_EQ(Restore(model_.folder(), tokens_), KVCAST_MISMATCH) << other;
    EXPECT_EQ(Same(), 0u);
  }
  salt_ = "weights=fp8";
  ASSERT_EQ(Restore(model_.folder(), tokens_), KVCAST_OK) << kvcast_message();
  EXPECT_EQ(restored_, kTokens);
}

// Who wrote it may not have known that there are images, and salts.
TEST_F(CFile, IsRefusedWhereItDoesNotSayOfWhichImagesAndSalt) {
  ASSERT_EQ(Save(model_.folder()), KVCAST_OK) << kvcast_message();
  const std::string file = *ReadFile(path_, 1 << 20);
  for (const std::string key : {"kvcast.inputs", "kvcast.salt_sha256"}) {
    std::string without = file;
    without.replace(without.find(key), 6, "KVCAST");
    ASSERT_TRUE(WriteFileAtomically(path_, AsBytes(without)).ok());
    EXPECT_EQ(Restore(model_.folder(), tokens_), KVCAST_MISMATCH) << key;
    EXPECT_EQ(Same(), 0u);
  }
}

TEST_F(CFile, IsOfNoInputBehindItsTokens) {
  inputs_ = {InputAt(kTokens, "a cat")};
  EXPECT_EQ(Save(model_.folder()), KVCAST_INVALID);
  inputs_ = {InputAt(3, "a cat"), InputAt(3, "a dog")};
  EXPECT_EQ(Save(model_.folder()), KVCAST_INVALID);
}

TEST_F(CFile, IsRefusedWhereItsValuesAreNotExact) {
  ASSERT_EQ(Save(model_.folder()), KVCAST_OK) << kvcast_message();
  const std::string file = *ReadFile(path_, 1 << 20);
  for (const auto& [rung, code] : {std::pair("Int8", KVCAST_MISMATCH), {"FP16", KVCAST_OK}}) {
    std::string other = file;  // As long as what stood there.
    const std::string rope = "\"kvcast.rope\":\"applied\"";
    std::string came = "\"kvcast.rung\":\"" + std::string(rung) + "\"";
    came.resize(rope.size(), ' ');
    other.replace(other.find(rope), rope.size(), came);
    ASSERT_TRUE(WriteFileAtomically(path_, AsBytes(other)).ok());
    EXPECT_EQ(Restore(model_.folder(), tokens_), code) << kvcast_message();
  }
}

TEST_F(CFile, IsRefusedWhereAnyBitOfItsValuesIsAnother) {
  ASSERT_EQ(Save(model_.folder()), KVCAST_OK) << kvcast_message();
  const std::string file = *ReadFile(path_, 1 << 20);
  const size_t values = size_t{2} * 2 * kTokens * kTokenBytes;
  Random random(5);
  for (int round = 0; round < 20; ++round) {
    std::string damaged = file;
    const size_t at = file.size() - 1 - random.Below(values);
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << random.Below(8)));
    ASSERT_TRUE(WriteFileAtomically(path_, AsBytes(damaged)).ok());
    EXPECT_EQ(Restore(model_.folder(), tokens_), KVCAST_MISMATCH);
    EXPECT_EQ(Same(), 0u);
  }
}

TEST_F(CFile, NeedsTokensPagesAndAPlace) {
  const kvcast_model model = Model("/nowhere");
  kvcast_prompt prompt = Prompt({}, put_);
  EXPECT_EQ(kvcast_file_save(path_.c_str(), &model, from_.get(), &prompt), KVCAST_INVALID);
  prompt = Prompt(tokens_, put_);
  EXPECT_EQ(kvcast_file_save(nullptr, &model, from_.get(), &prompt), KVCAST_INVALID);
  EXPECT_EQ(kvcast_file_restore(path_.c_str(), &model, to_.get(), &prompt, nullptr),
            KVCAST_INVALID);
  prompt.page_count = 3;
  const std::string folder = model_.folder();
  const kvcast_model there = Model(folder);
  EXPECT_EQ(kvcast_file_save(path_.c_str(), &there, from_.get(), &prompt), KVCAST_INVALID);
}

}  // namespace
}  // namespace kvcast
