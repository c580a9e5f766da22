// kvcast put and kvcast get, as whoever types them sees them, with a node in between.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "kvcast/base/json.h"
#include "kvcast/host/cache_commands_test.h"
#include "kvcast/host/command.h"
#include "kvcast/host/put_progress.h"

namespace kvcast {
namespace {

class PutAndGet : public CacheCommands {
 protected:
  CommandOutcome Run(const std::string& command, const std::string& prompt,
                     const std::string& cache, const std::vector<std::string>& more = {}) {
    return RunWords({command, Path(prompt), Path(cache)}, more);
  }
  CommandOutcome Find(const std::string& prompt, const std::vector<std::string>& more) {
    return RunWords({"find", Path(prompt)}, more);
  }
  // The first `tokens` tokens of both files are equal, byte by byte.
  void ExpectSameTokens(const std::string& a, const std::string& b, uint32_t tokens) {
    const MappedFile mapped_a = *MappedFile::Open(Path(a));
    const MappedFile mapped_b = *MappedFile::Open(Path(b));
    const KvFile file_a = *KvFile::Parse(mapped_a.span());
    const KvFile file_b = *KvFile::Parse(mapped_b.span());
    for (size_t layer = 0; layer < 2; ++layer) {
      for (const Plane plane : {Plane::kKey, Plane::kValue}) {
        const size_t bytes = tokens * 2 * 8 * 2;
        EXPECT_TRUE(std::ranges::equal(file_a.Values(layer, plane).first(bytes),
                                       file_b.Values(layer, plane).first(bytes)));
      }
    }
  }
  uint32_t TokensIn(const std::string& name) {
    const MappedFile mapped = *MappedFile::Open(Path(name));
    return KvFile::Parse(mapped.span())->tokens();
  }
};

TEST_F(PutAndGet, CarryACacheFromFileToFile) {
  const CommandOutcome put = Run("put", "a.tokens", "a.safetensors");
  ASSERT_EQ(put.status, 0) << put.err;
  EXPECT_NE(put.out.find("7 blocks, 0 held by the node already, 7 sent"), std::string::npos)
      << put.out;
  const CommandOutcome get = Run("get", "a.tokens", "b.safetensors");
  ASSERT_EQ(get.status, 0) << get.err;
  EXPECT_NE(get.out.find("found    7 of 7 blocks"), std::string::npos) << get.out;
  EXPECT_EQ(TokensIn("b.safetensors"), 28u);
  ExpectSameTokens("a.safetensors", "b.safetensors", 28);
}

// A node lists a block's bytes in 32 bits.
TEST_F(PutAndGet, RefuseBlocksThatNobodyCouldFind) {
  Write("model/config.json",
        R"({"num_hidden_layers": 2, "num_attention_heads": 4096, "num_key_value_heads": 4096,
            "head_dim": 65536, "torch_dtype": "bfloat16"})");
  for (const char* command : {"put", "get"}) {
    const CommandOutcome outcome = Run(command, "a.tokens", "a.safetensors");
    EXPECT_EQ(outcome.status, 1);
    EXPECT_NE(outcome.err.find("say --block-tokens 1 or fewer"), std::string::npos) << outcome.err;
  }
}

// Another prompt that begins alike: its own end has to be computed.
TEST_F(PutAndGet, FindTheLongestPrefix) {
  ASSERT_EQ(Run("put", "a.tokens", "a.safetensors").status, 0);
  Write("b.tokens", TokenList(kTokens, /*differs=*/12));
  const CommandOutcome get = Run("get", "b.tokens", "b.safetensors", {"--json"});
  ASSERT_EQ(get.status, 0) << get.err;
  const Json json = *ParseJson(get.out);
  EXPECT_EQ(json["found"], 4);
  EXPECT_EQ(json["loaded"], 4);
  EXPECT_EQ(json["tokens"], 16);
  EXPECT_EQ(json["reason"], "");
  ExpectSameTokens("a.safetensors", "b.safetensors", 16);
}

TEST_F(PutAndGet, SayBeforehandWhatThereIs) {
  const std::vector<std::string> none = {"--json"};
  EXPECT_EQ(Find("a.tokens", none).status, 1);
  EXPECT_EQ((*ParseJson(Find("a.tokens", none).out))["found"], 0);
  ASSERT_EQ(Run("put", "a.tokens", "a.safetensors", {"--rung", "BF16", "--rung", "Int8"}).status,
            0);
  Write("b.tokens", TokenList(kTokens, /*differs=*/12));
  const CommandOutcome find = Find("b.tokens", {"--json"});
  ASSERT_EQ(find.status, 0) << find.err;
  const Json json = *ParseJson(find.out);
  EXPECT_EQ(json["found"], 4);
  EXPECT_EQ(json["tokens"], 16);
  ASSERT_EQ(json["offers"].size(), 2u);
  EXPECT_EQ(json["offers"][0]["rung"], "BF16");
  EXPECT_EQ(json["offers"][1]["rung"], "Int8");
  EXPECT_EQ(json["offers"][1]["blocks"], 4);
  EXPECT_EQ(json["offers"][0]["node"].get<std::string>().size(), 32u);
  EXPECT_EQ(json["offers"][0]["node"], json["offers"][1]["node"]);
  EXPECT_NE(json["offers"][0]["generation"], json["offers"][1]["generation"]);
  for (const Json& offer : json["offers"]) {
    ASSERT_TRUE(offer["load_ms"].is_number()) << find.out;
    EXPECT_GT(offer["load_ms"], 0);
  }
  const CommandOutcome text = Find("a.tokens", {"--rung", "Int8"});
  EXPECT_NE(text.out.find("found    7 of 7 blocks"), std::string::npos) << text.out;
  EXPECT_EQ(text.out.find("BF16 "), std::string::npos);
  EXPECT_NE(text.out.find("loads in"), std::string::npos) << text.out;
  const std::string node = json["offers"][0]["node"];
  EXPECT_NE(text.out.find(" " + node.substr(0, 16) + "  "), std::string::npos) << text.out;
}

// Then nobody knows how fast the node is.
TEST_F(PutAndGet, LoadNothingToSayWhatThereIsIfThatIsNotWanted) {
  ASSERT_EQ(Run("put", "a.tokens", "a.safetensors", {"--rung", "BF16"}).status, 0);
  const Json json = *ParseJson(Find("a.tokens", {"--json", "--no-load"}).out);
  EXPECT_EQ(json["found"], 7);
  EXPECT_TRUE(json["offers"][0]["load_ms"].is_null());
  EXPECT_EQ(Find("a.tokens", {"--no-load"}).out.find("loads in"), std::string::npos);
}

// What was sent is neither there nor durable yet.
TEST(PutProgress, ABlockIsDoneWhenNobodyWaitsForItAnyMore) {
  PublishReport report;
  report.blocks = 10;
  report.skipped = 2;
  report.sent = 8;
  report.listed = 5;
  report.durable = 3;
  EXPECT_EQ(PutProgress::Of(report, Durability::kMemory).all, 8u);
  EXPECT_EQ(PutProgress::Of(report, Durability::kMemory).done, 5u);
  EXPECT_EQ(PutProgress::Of(report, Durability::kDisk).done, 3u);
  report.durable = 8;
  EXPECT_EQ(PutProgress::Of(report, Durability::kBucket).done, 5u);
}

TEST_F(PutAndGet, TellPromptsApartByTheirImages) {
  const std::string cat = "5=" + Sha256::Of("a cat").ToHex();
  const std::string dog = "5=" + Sha256::Of("a dog").ToHex();
  ASSERT_EQ(Run("put", "a.tokens", "a.safetensors", {"--input", cat}).status, 0);
  const auto found = [&](const std::vector<std::string>& inputs) {
    std::vector<std::string> more = {"--json"};
    more.insert(more.end(), inputs.begin(), inputs.end());
    return (*ParseJson(Find("a.tokens", more).out))["found"];
  };
  EXPECT_EQ(found({"--input", cat}), 7);
  EXPECT_EQ(found({"--input", dog}), 1);  // What stands before the image.
  EXPECT_EQ(found({}), 1);
  EXPECT_EQ(Run("get", "a.tokens", "b.safetensors", {"--input", cat}).status, 0);
  ExpectSameTokens("a.safetensors", "b.safetensors", 28);
}

TEST_F(PutAndGet, GoOnToTheNextNodeWhereOneIsNotThere) {
  ASSERT_EQ(Run("put", "a.tokens", "a.safetensors").status, 0);
  const std::string nobody = "127.0.0.1:1#" + std::string(64, '0');
  const std::vector<std::string> nodes = {"--node", nobody, "--node", node_.flag()};
  const CommandOutcome get = Run("get", "a.tokens", "b.safetensors", nodes);
  EXPECT_EQ(get.status, 0) << get.err;
  EXPECT_NE(get.out.find("127.0.0.1:1, " + node_.address().host_and_port), std::string::npos)
      << get.out;
  ExpectSameTokens("a.safetensors", "b.safetensors", 28);
  std::vector<std::string> warm = {"warm", Path("a.tokens")};
  EXPECT_EQ(RunWords(warm, nodes).status, kExitUsage);  // One node is warmed.
}

// A wrong pair of files would make every engine that loads it write nonsense, so a file that says
// whose cache it is is believed.
TEST_F(PutAndGet, PublishNoCacheUnderAnotherPrompt) {
  ASSERT_EQ(Run("put", "a.tokens", "a.safetensors").status, 0);
  ASSERT_EQ(Run("get", "a.tokens", "b.safetensors").status, 0);
  Write("b.tokens", TokenList(kTokens, /*differs=*/12));
  const CommandOutcome put = Run("put", "b.tokens", "b.safetensors");
  EXPECT_EQ(put.status, 1);
  EXPECT_NE(put.err.find("cache of another prompt"), std::string::npos) << put.err;
  EXPECT_EQ(Run("put", "a.tokens", "b.safetensors").status, 0);
}

// A file from elsewhere may list the ids of its tokens, and no digest of them.
TEST_F(PutAndGet, PublishNoCacheUnderOtherIdsThanItLists) {
  std::string ids = TokenList(kTokens, 0);
  ids.pop_back();  // The space after the last.
  WriteKvFile("a.safetensors", kTokens, ValueType::kBf16, {{"kvcast.prompt", ids}});
  EXPECT_EQ(Run("put", "a.tokens", "a.safetensors").status, 0);
  Write("b.tokens", TokenList(kTokens, /*differs=*/12));
  const CommandOutcome put = Run("put", "b.tokens", "a.safetensors");
  EXPECT_EQ(put.status, 1);
  EXPECT_NE(put.err.find("cache of another prompt"), std::string::npos) << put.err;
}

TEST_F(PutAndGet, PublishNoCacheUnderAnotherImageOrSalt) {
  const std::string cat = "5=" + Sha256::Of("a cat").ToHex();
  const std::string dog = "5=" + Sha256::Of("a dog").ToHex();
  ASSERT_EQ(Run("put", "a.tokens", "a.safetensors", {"--input", cat, "--salt", "s"}).status, 0);
  ASSERT_EQ(Run("get", "a.tokens", "b.safetensors", {"--input", cat, "--salt", "s"}).status, 0);
  const auto refused = [&](const std::vector<std::string>& more, const std::string& why) {
    const CommandOutcome put = Run("put", "a.tokens", "b.safetensors", more);
    EXPECT_EQ(put.status, 1);
    EXPECT_NE(put.err.find(why), std::string::npos) << put.err;
  };
  refused({"--input", dog, "--salt", "s"}, "other images or sounds");
  refused({"--salt", "s"}, "other images or sounds");
  refused({"--input", cat}, "another salt");
  refused({"--input", cat, "--salt", "t"}, "another salt");
  const std::string later = "29=" + Sha256::Of("a bird").ToHex();  // The file has 28 tokens.
  EXPECT_EQ(
      Run("put", "a.tokens", "b.safetensors", {"--input", later, "--input", cat, "--salt", "s"})
          .status,
      0);
  const CommandOutcome inspected = RunKvcast({"inspect", Path("b.safetensors").c_str()});
  EXPECT_NE(inspected.out.find("inputs           at token 5: " + cat.substr(2)), std::string::npos)
      << inspected.out;
  EXPECT_NE(inspected.out.find("salt             one with the SHA-256 " + Sha256::Of("s").ToHex()),
            std::string::npos);
}

// Lossy values under the name of exact ones would be loaded by who wants the very values.
TEST_F(PutAndGet, PublishNothingTruerThanItCame) {
  ASSERT_EQ(Run("put", "a.tokens", "a.safetensors", {"--rung", "Int8"}).status, 0);
  ASSERT_EQ(Run("get", "a.tokens", "b.safetensors", {"--rung", "Int8"}).status, 0);
  for (const std::vector<std::string>& more :
       {std::vector<std::string>(), {"--rung", "BF16"}, {"--rung", "Int4", "--rung", "BF16"}}) {
    const CommandOutcome put = Run("put", "a.tokens", "b.safetensors", more);
    EXPECT_EQ(put.status, 1);
    EXPECT_NE(put.err.find("came as Int8"), std::string::npos) << put.err;
  }
  EXPECT_EQ(Run("get", "a.tokens", "c.safetensors").status, 1);  // Nothing exact is there.
  EXPECT_EQ(Run("put", "a.tokens", "b.safetensors", {"--rung", "Int8", "--rung", "Int4"}).status,
            0);
  const std::string file = Path("b.safetensors");
  EXPECT_EQ((*ParseJson(RunKvcast({"inspect", file.c_str(), "--json"}).out))["rung"], "Int8");
  EXPECT_NE(RunKvcast({"inspect", file.c_str()}).out.find("rung             Int8: these are not"),
            std::string::npos);
}

// Two ranks of an engine, each with its own KV heads.
TEST_F(PutAndGet, CarryTheSlicesOfRanksUnderOneGeneration) {
  const std::vector<std::string> drawn = {"--generation", "00112233445566778899aabbccddeeff"};
  const auto with = [&](const std::string& heads) {
    return std::vector<std::string>{"--heads", heads, drawn[0], drawn[1], "--rung", "BF16"};
  };
  for (const char* heads : {"0-0", "1-1"}) {
    const CommandOutcome put = Run("put", "a.tokens", "a.safetensors", with(heads));
    ASSERT_EQ(put.status, 0) << put.err;
    EXPECT_NE(put.out.find(std::string("slice    h=") + heads), std::string::npos) << put.out;
  }
  EXPECT_EQ(Run("get", "a.tokens", "b.safetensors").status, 1);  // Nobody has put a whole one.
  for (const size_t head : {0u, 1u}) {
    const std::string heads = std::to_string(head) + "-" + std::to_string(head);
    const std::string name = "rank" + heads + ".safetensors";
    const CommandOutcome get = Run("get", "a.tokens", name, with(heads));
    ASSERT_EQ(get.status, 0) << get.err;
    EXPECT_NE(get.out.find("published by 00112233"), std::string::npos) << get.out;
    const MappedFile mapped_whole = *MappedFile::Open(Path("a.safetensors"));
    const MappedFile mapped_rank = *MappedFile::Open(Path(name));
    const KvFile whole = *KvFile::Parse(mapped_whole.span());
    const KvFile rank = *KvFile::Parse(mapped_rank.span());
    ASSERT_EQ(rank.tokens(), 28u);
    EXPECT_EQ(rank.metadata().at(std::string(kSliceKey)), ";h=" + heads);
    for (size_t row = 0; row < size_t{2} * 2 * 28; ++row) {
      const size_t layer = row / 56;
      const Plane plane = row / 28 % 2 == 0 ? Plane::kKey : Plane::kValue;
      const size_t token = row % 28;
      EXPECT_TRUE(
          std::ranges::equal(rank.Values(layer, plane).subspan(token * 16, 16),
                             whole.Values(layer, plane).subspan(token * 32 + head * 16, 16)));
    }
    // It can be put again as what it is, and as nothing else.
    const CommandOutcome again =
        Run("put", "a.tokens", name, {"--heads", heads, "--json", "--rung", "BF16"});
    ASSERT_EQ(again.status, 0) << again.err;
    EXPECT_EQ((*ParseJson(again.out))["skipped"], 7);
    const CommandOutcome other = Run("put", "a.tokens", name, {"--heads", "0-1"});
    EXPECT_EQ(other.status, 1);
    EXPECT_NE(other.err.find("holds only a slice"), std::string::npos) << other.err;
  }
  EXPECT_EQ(Find("a.tokens", {"--heads", "0-0"}).status, 0);
  EXPECT_EQ(Find("a.tokens", {"--heads", "0-0", "--generation", std::string(32, '0')}).status, 1);
  EXPECT_EQ(Find("a.tokens", {"--layers", "0-0"}).status, 1);
}

TEST_F(PutAndGet, RefuseSlicesOfWhatTheModelDoesNotHave) {
  const CommandOutcome put = Run("put", "a.tokens", "a.safetensors", {"--heads", "1-2"});
  EXPECT_EQ(put.status, 1);
  EXPECT_NE(put.err.find("a layer has 2"), std::string::npos) << put.err;
  for (const std::vector<std::string>& nonsense :
       {std::vector<std::string>{"--heads", "1"}, {"--layers", "1-0"}, {"--generation", "12"}}) {
    EXPECT_GT(Run("put", "a.tokens", "a.safetensors", nonsense).status, 1);
  }
}

TEST_F(PutAndGet, SendNothingTwice) {
  ASSERT_EQ(Run("put", "a.tokens", "a.safetensors").status, 0);
  const CommandOutcome again = Run("put", "a.tokens", "a.safetensors", {"--json"});
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_EQ((*ParseJson(again.out))["skipped"], 7);
  EXPECT_EQ((*ParseJson(again.out))["sent"], 0);
  EXPECT_TRUE((*ParseJson(again.out))["durability"].is_null());  // Nobody has asked for any.
}

// What one tenant publishes, another does not find.
TEST_F(PutAndGet, KeepTenantsApart) {
  Write("acme.key", std::string(64, 'a'));
  const std::vector<std::string> acme = {"--tenant", "acme", "--key-file", Path("acme.key")};
  ASSERT_EQ(Run("put", "a.tokens", "a.safetensors", acme).status, 0);
  EXPECT_EQ(Run("get", "a.tokens", "b.safetensors").status, 1);
  EXPECT_EQ(Run("get", "a.tokens", "b.safetensors", acme).status, 0);
}

TEST_F(PutAndGet, LeaveNoFileWhereNothingIsFound) {
  Write("b.safetensors", "what was there before");
  const CommandOutcome get = Run("get", "a.tokens", "b.safetensors");
  EXPECT_EQ(get.status, 1);
  EXPECT_NE(get.err.find("holds no block of this prompt"), std::string::npos) << get.err;
  EXPECT_EQ(*ReadFile(Path("b.safetensors"), 1000), "what was there before");
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    files += entry.is_regular_file() ? 1u : 0u;
  }
  EXPECT_EQ(files, 3u);  // a.tokens, a.safetensors and this one.
}

TEST_F(PutAndGet, SayWhatIsWrongBeforeAnybodyIsAsked) {
  const auto fails = [&](const CommandOutcome& outcome, const std::string& said) {
    EXPECT_EQ(outcome.status, 1);
    EXPECT_NE(outcome.err.find(said), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.out, "");
  };
  Write("short.tokens", "1 2 3");
  fails(Run("get", "short.tokens", "b.safetensors"), "no whole block");
  fails(Run("put", "short.tokens", "a.safetensors"), "no whole block");
  Write("few.tokens", TokenList(kTokens - 1, 0));
  fails(Run("put", "few.tokens", "a.safetensors"), "cache of another prompt");
  WriteKvFile("fp16.safetensors", kTokens, ValueType::kFp16);
  fails(Run("put", "a.tokens", "fp16.safetensors"), "--kv-dtype");
  fails(Run("get", "a.tokens", "no/such/folder/b.safetensors"), "no/such/folder");
  fails(Run("put", "a.tokens", "a.tokens"), "a.tokens");
  fails(Run("put", "a.tokens", "a.safetensors", {"--node", "nowhere"}), "HOST:PORT#FINGERPRINT");
  EXPECT_EQ(Run("get", "a.tokens", "b.safetensors", {"--timeout", "0"}).status, 2);
}

TEST_F(PutAndGet, SayThatANodeIsNotThere) {
  const std::string flag = node_.flag();
  node_.Stop();
  const CommandOutcome get =
      Run("get", "a.tokens", "b.safetensors", {"--node", flag, "--timeout", "1"});
  EXPECT_EQ(get.status, 1);
  EXPECT_NE(get.err.find(node_.address().host_and_port), std::string::npos) << get.err;
  EXPECT_FALSE(std::filesystem::exists(Path("b.safetensors")));
}

// The two halves of 16 bits are the same values to a node, but not to a reader.
TEST_F(PutAndGet, KeepTheTypesOfValuesApart) {
  WriteKvFile("fp16.safetensors", kTokens, ValueType::kFp16);
  const std::vector<std::string> fp16 = {"--kv-dtype", "fp16"};
  ASSERT_EQ(Run("put", "a.tokens", "fp16.safetensors", fp16).status, 0);
  EXPECT_EQ(Run("get", "a.tokens", "b.safetensors").status, 1);
  ASSERT_EQ(Run("get", "a.tokens", "b.safetensors", fp16).status, 0);
  const MappedFile mapped = *MappedFile::Open(Path("b.safetensors"));
  EXPECT_EQ(KvFile::Parse(mapped.span())->type(), ValueType::kFp16);
}

}  // namespace
}  // namespace kvcast
