#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "kvcast/base/digest.h"
#include "kvcast/base/random.h"
#include "kvcast/io/file.h"
#include "kvcast/io/scratch_directory.h"
#include "kvcast/kvcast.h"

namespace kvcast {

inline constexpr uint32_t kBlockTokens = 4;
inline constexpr uint32_t kTokens = 26;  // Six blocks, and two tokens more.
inline constexpr uint64_t kWholeTokens = 24;
inline constexpr uint32_t kPromptPages = 8;       // Of four tokens each.
inline constexpr size_t kTokenBytes = 2 * 8 * 2;  // Of K, or of V, in one layer.
inline constexpr size_t kHalfBytes = size_t{kPromptPages} * kBlockTokens * kTokenBytes;
inline constexpr size_t kPlaneBytes = 2 * kHalfBytes;

// A folder with a model of two layers, which all tests name alike.
class ToyModel {
 public:
  ToyModel() {
    Write("config.json",
          R"({"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
              "head_dim": 8, "hidden_size": 32, "torch_dtype": "bfloat16"})");
    Write("model.safetensors", std::string("\2\0\0\0\0\0\0\0{}", 10));
    Write("tokenizer.json", "{}");
  }
  std::string folder() const { return (scratch_.path() / "toy").string(); }

  void Write(const std::string& name, std::string_view content) {
    std::filesystem::create_directories(folder());
    ASSERT_TRUE(WriteFileAtomically(folder() + "/" + name, AsBytes(content)).ok());
  }

 private:
  ScratchDirectory scratch_ = *ScratchDirectory::Make();
};

// An image, or a sound.
inline kvcast_input InputAt(uint64_t position, std::string_view content) {
  kvcast_input input{};
  input.position = position;
  const Digest digest = Sha256::Of(content);
  std::memcpy(input.digest, digest.bytes.data(), sizeof(input.digest));
  return input;
}

// An engine with a prompt of 26 tokens, and two sets of pages for it that are random at first: what
// it publishes, and where it loads.
class PromptEngine {
 public:
  // With a calibration's file, if one is given.
  explicit PromptEngine(kvcast_node where, std::string_view calibration = {}) {
    where.struct_size = sizeof(where);
    if (!calibration.empty()) {
      model_.Write("model.kvcal", calibration);
    }
    const std::string folder = model_.folder();
    kvcast_model model{};
    model.struct_size = sizeof(model);
    model.folder = folder.c_str();
    model.block_tokens = kBlockTokens;
    Random(1).Fill(memory_);
    before_ = memory_;
    for (size_t layer = 0; layer < layers_.size(); ++layer) {
      layers_[layer] = {Plane(2 * layer), kPlaneBytes, Plane(2 * layer + 1), kPlaneBytes};
    }
    const kvcast_pages laid = pages();
    code_ = kvcast_cache_open(&where, &model, &laid, &cache_);
    for (uint32_t token = 0; token < kTokens; ++token) {
      tokens_.push_back(1000 + token);
    }
    for (uint32_t page = 0; page < 2 * kPromptPages; ++page) {
      table_.push_back(page);
    }
    terms.struct_size = sizeof(terms);
    terms.timeout_us = 60'000'000;  // Only so as not to hang.
  }
  explicit PromptEngine(const std::string& address, std::string_view calibration = {})
      : PromptEngine(NodeAt(address), calibration) {}
  ~PromptEngine() { kvcast_cache_close(cache_); }
  PromptEngine(const PromptEngine&) = delete;
  PromptEngine& operator=(const PromptEngine&) = delete;

  kvcast_cache* cache() { return cache_; }
  kvcast_code code() const { return code_; }
  // All of them.
  kvcast_pages pages() const {
    kvcast_pages pages{};
    pages.struct_size = sizeof(pages);
    pages.layers = layers_.data();
    pages.layer_size = sizeof(kvcast_layer);
    pages.layer_count = layers_.size();
    pages.page_tokens = kBlockTokens;
    pages.page_count = 2 * kPromptPages;
    return pages;
  }
  enum class Pages : uint8_t { kPut, kGot };
  kvcast_prompt Prompt(Pages pages = Pages::kGot) const {
    kvcast_prompt prompt{};
    prompt.struct_size = sizeof(prompt);
    prompt.tokens = tokens_.data();
    prompt.token_count = tokens_.size();
    prompt.pages = table_.data() + (pages == Pages::kGot ? kPromptPages : 0);
    prompt.page_count = kPromptPages;
    prompt.inputs = inputs.data();
    prompt.input_size = sizeof(kvcast_input);
    prompt.input_count = inputs.size();
    return prompt;
  }
  using Call = kvcast_code(kvcast_cache*, const kvcast_prompt*, const kvcast_terms*,
                           kvcast_report*);
  kvcast_report Do(Call* call) {
    const kvcast_prompt prompt = Prompt(call == kvcast_cache_publish ? Pages::kPut : Pages::kGot);
    kvcast_report report{};
    report.struct_size = sizeof(report);
    EXPECT_EQ(call(cache_, &prompt, &terms, &report), KVCAST_OK) << kvcast_message();
    return report;
  }
  uint64_t Find() { return Do(kvcast_cache_find).tokens; }
  uint64_t Load() { return Do(kvcast_cache_load).tokens; }
  uint64_t Publish() { return Do(kvcast_cache_publish).tokens; }
  // The same, while nobody waits.
  kvcast_loading* BeginLoad() {
    const kvcast_prompt prompt = Prompt(Pages::kGot);
    kvcast_loading* loading = nullptr;
    EXPECT_EQ(kvcast_cache_begin_load(cache_, &prompt, &terms, &loading), KVCAST_OK)
        << kvcast_message();
    return loading;
  }
  kvcast_publication* BeginPublish() {
    const kvcast_prompt prompt = Prompt(Pages::kPut);
    kvcast_publication* publication = nullptr;
    EXPECT_EQ(kvcast_cache_begin(cache_, &prompt, &terms, &publication), KVCAST_OK)
        << kvcast_message();
    return publication;
  }
  // These tokens have come, or nobody has touched them.
  bool Came(uint64_t first, uint64_t end) const { return Holds(first, end, memory_, /*at=*/0); }
  bool Untouched(uint64_t first, uint64_t end) const {
    return Holds(first, end, before_, /*at=*/kHalfBytes);
  }

  std::vector<kvcast_input> inputs;
  kvcast_terms terms{};

 private:
  static kvcast_node NodeAt(const std::string& address) {
    kvcast_node where{};
    where.address = address.c_str();
    return where;
  }
  bool Holds(uint64_t first, uint64_t end, const std::vector<std::byte>& wanted, size_t at) const {
    const size_t bytes = (end - first) * kTokenBytes;
    for (size_t plane = 0; plane < 4 * kPlaneBytes; plane += kPlaneBytes) {
      const size_t skipped = plane + first * kTokenBytes;
      if (std::memcmp(&memory_[skipped + kHalfBytes], &wanted[skipped + at], bytes) != 0) {
        return false;
      }
    }
    return true;
  }
  std::byte* Plane(size_t number) { return memory_.data() + number * kPlaneBytes; }

  ToyModel model_;
  std::vector<std::byte> memory_ = std::vector<std::byte>(4 * kPlaneBytes);
  std::vector<std::byte> before_;
  std::array<kvcast_layer, 2> layers_{};
  std::vector<uint32_t> tokens_;
  std::vector<uint32_t> table_;
  kvcast_cache* cache_ = nullptr;
  kvcast_code code_ = KVCAST_OK;
};

}  // namespace kvcast
