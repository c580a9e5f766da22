#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "kvcast/base/random.h"
#include "kvcast/host/command_outcome_test.h"
#include "kvcast/host/local_node_test.h"
#include "kvcast/io/file.h"
#include "kvcast/io/scratch_directory.h"
#include "kvcast/kv/kv_file.h"

namespace kvcast {

// A folder with a small model, a prompt and its cache, and a node, for commands that use them.
class CacheCommands : public testing::Test {
 protected:
  static constexpr uint32_t kTokens = 30;
  static constexpr uint32_t kBlockTokens = 4;

  void SetUp() override {
    Write("model/config.json",
          R"({"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
              "head_dim": 8, "hidden_size": 32, "torch_dtype": "bfloat16"})");
    Write("model/model.safetensors", std::string("\2\0\0\0\0\0\0\0{}", 10));
    Write("model/tokenizer.json", "{}");
    Write("a.tokens", TokenList(kTokens, 0));
    WriteKvFile("a.safetensors", kTokens);
  }

  std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }
  void Write(const std::string& name, std::string_view content) {
    std::filesystem::create_directories(std::filesystem::path(Path(name)).parent_path());
    ASSERT_TRUE(WriteFileAtomically(Path(name), AsBytes(content)).ok());
  }
  // Token i is i, until `differs` of them from the end.
  static std::string TokenList(uint32_t tokens, uint32_t differs) {
    std::string list;
    for (uint32_t i = 0; i < tokens; ++i) {
      list += std::to_string(i + (i + differs >= tokens ? 1000 : 0)) + " ";
    }
    return list;
  }
  void WriteKvFile(const std::string& name, uint32_t tokens, ValueType type = ValueType::kBf16,
                   const KvMetadata& metadata = {}) {
    const std::vector<LayerShape> layers(2, LayerShape{2, 8, 8});
    const KvFilePlan plan = *KvFilePlan::Of(layers, type, tokens, metadata);
    std::string values(plan.file_bytes() - plan.header().size(), '\0');
    Random(7).Fill(std::as_writable_bytes(std::span(values)));
    Write(name, plan.header().ToString() + values);
  }

  CommandOutcome RunWords(std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(),
                 {"--model", Path("model"), "--block-tokens", std::to_string(kBlockTokens)});
    if (std::ranges::find(more, "--node") == more.end()) {
      words.insert(words.end(), {"--node", node_.flag()});
    }
    words.insert(words.end(), more.begin(), more.end());
    std::vector<const char*> pointers;
    pointers.reserve(words.size());
    for (const std::string& word : words) {
      pointers.push_back(word.c_str());
    }
    return RunKvcast(pointers);
  }

  ScratchDirectory folder_ = *ScratchDirectory::Make();
  LocalNode node_;
};

}  // namespace kvcast
