// kvcast name and kvcast inspect, as whoever types them sees them.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "kvcast/base/digest.h"
#include "kvcast/base/json.h"
#include "kvcast/host/command.h"
#include "kvcast/host/command_outcome_test.h"
#include "kvcast/host/model_text.h"
#include "kvcast/io/file.h"
#include "kvcast/io/scratch_directory.h"
#include "kvcast/kv/kv_file.h"

namespace kvcast {
namespace {

// Weights as a file of them, of one tensor.
std::string WeightsOf(std::string_view values) {
  const std::string header = R"({"w":{"dtype":"U8","shape":[)" + std::to_string(values.size()) +
                             R"(],"data_offsets":[0,)" + std::to_string(values.size()) + "]}}";
  std::string file(8, '\0');
  file[0] = static_cast<char>(header.size());
  return file + header + std::string(values);
}

// A folder with a small model in it, whose weights are anything.
class NameAndInspect : public testing::Test {
 protected:
  void SetUp() override {
    Write("model/config.json",
          R"({"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
              "head_dim": 8, "hidden_size": 32, "torch_dtype": "bfloat16"})");
    Write("model/model.safetensors", WeightsOf("weights"));
    Write("model/tokenizer.json", "{}");
    Write("a.tokens", "1 2 3 4 5 6 7 8 9");
    Write("b.tokens", "[1, 2, 3, 4, 5, 6, 7, 9]");
  }

  std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }

  void Write(const std::string& name, std::string_view content) {
    std::filesystem::create_directories(std::filesystem::path(Path(name)).parent_path());
    ASSERT_TRUE(WriteFileAtomically(Path(name), AsBytes(content)).ok());
  }

  CommandOutcome Name(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"name", "--model", Path("model"), "--block-tokens", "4"});
    std::vector<const char*> pointers;
    for (const std::string& argument : arguments) {
      pointers.push_back(argument.c_str());
    }
    return RunKvcast(pointers);
  }

  void WriteKvFile(const std::string& name, uint32_t heads, const KvMetadata& metadata,
                   ValueType type = ValueType::kBf16) {
    const std::vector<LayerShape> layers(2, LayerShape{heads, 8, 8});
    const KvFilePlan plan = *KvFilePlan::Of(layers, type, 5, metadata);
    Write(name,
          plan.header().ToString() + std::string(plan.file_bytes() - plan.header().size(), 'x'));
  }

  ScratchDirectory folder_ = *ScratchDirectory::Make();
};

TEST_F(NameAndInspect, NameListsTheBlocksOfAPrompt) {
  const CommandOutcome outcome = Name({Path("a.tokens")});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("public/model@"), std::string::npos);
  EXPECT_NE(outcome.out.find("9 tokens, 2 blocks, 1 token after the last"), std::string::npos);
  EXPECT_NE(outcome.out.find("layers 0-1: gqa, 2 KV heads of 8, full attention"),
            std::string::npos);
}

TEST_F(NameAndInspect, NameSaysWhatTwoPromptsShare) {
  const CommandOutcome outcome = Name({Path("a.tokens"), Path("b.tokens"), "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json json = *ParseJson(outcome.out);
  EXPECT_EQ(json["shared_blocks"], 1);
  EXPECT_EQ(json["prompts"][0]["blocks"][0], json["prompts"][1]["blocks"][0]);
  EXPECT_NE(json["prompts"][0]["blocks"][1], json["prompts"][1]["blocks"][1]);
}

TEST_F(NameAndInspect, NameChangesWithWhateverChangesTheKv) {
  const auto first_block = [&](std::vector<std::string> more) {
    more.push_back("--json");
    more.push_back(Path("a.tokens"));
    const CommandOutcome outcome = Name(more);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return ParseJson(outcome.out)->at("prompts")[0]["blocks"][0].get<std::string>();
  };
  Write("adapter/adapter_config.json", "{}");
  Write("adapter/adapter_model.safetensors", WeightsOf("lora"));
  Write("acme.key", std::string(64, 'a') + "\n");
  const std::string plain = first_block({});
  EXPECT_EQ(first_block({}), plain);
  EXPECT_NE(first_block({"--adapter", Path("adapter")}), plain);
  EXPECT_NE(first_block({"--kv-dtype", "fp16"}), plain);
  EXPECT_NE(first_block({"--salt", "x"}), plain);
  EXPECT_NE(first_block({"--tenant", "acme", "--key-file", Path("acme.key")}), plain);
  Write("model/model.safetensors", WeightsOf("other weights"));
  EXPECT_NE(first_block({}), plain);
}

TEST_F(NameAndInspect, NameTellsImagesApart) {
  const auto blocks = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--json", Path("a.tokens")});
    const CommandOutcome outcome = Name(more);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return ParseJson(outcome.out)->at("prompts")[0]["blocks"];
  };
  const std::string cat = "4=" + Sha256::Of("a cat").ToHex();
  const std::string dog = "4=" + Sha256::Of("a dog").ToHex();
  const Json text = blocks({});
  EXPECT_EQ(blocks({"--input", cat})[0], text[0]);  // It begins behind that.
  EXPECT_NE(blocks({"--input", cat})[1], text[1]);
  EXPECT_NE(blocks({"--input", cat})[1], blocks({"--input", dog})[1]);
  const std::string first = "0=" + Sha256::Of("first").ToHex();
  EXPECT_EQ(blocks({"--input", cat, "--input", first}), blocks({"--input", first, "--input", cat}));
  for (const std::string& wrong :
       {"4=" + std::string(63, 'a'), "x" + cat, std::string("4"), "-1" + cat}) {
    EXPECT_EQ(Name({Path("a.tokens"), "--input", wrong}).status, kExitUsage) << wrong;
  }
  const std::string outside = "9=" + Sha256::Of("a cat").ToHex();
  EXPECT_NE(Name({Path("a.tokens"), "--input", outside}).err.find("begins at 9"),
            std::string::npos);
}

TEST_F(NameAndInspect, NameSaysWhatIsWrongAndWhere) {
  Write("bad.tokens", "1 2 three");
  EXPECT_EQ(Name({Path("bad.tokens")}).status, 1);
  EXPECT_NE(Name({Path("bad.tokens")}).err.find("bad.tokens: byte 4:"), std::string::npos);
  Write("half.key", std::string(32, 'a'));
  EXPECT_NE(Name({"--tenant", "acme", "--key-file", Path("half.key")}).err.find("64 hex digits"),
            std::string::npos);
  EXPECT_NE(Name({"--tenant", "acme"}).err.find("--key-file"), std::string::npos);
  std::filesystem::remove(Path("model/tokenizer.json"));
  EXPECT_NE(Name({Path("a.tokens")}).err.find("no tokenizer"), std::string::npos);
  Write("model/config.json", "{\"num_hidden_layers\": 2,}");
  EXPECT_NE(Name({Path("a.tokens")}).err.find("config.json: byte 24"), std::string::npos);
  std::filesystem::remove(Path("model/config.json"));
  EXPECT_EQ(Name({Path("a.tokens")}).status, 1);
}

// What an engine would load from there is not known, so nothing is named after a guess.
TEST_F(NameAndInspect, NameRefusesAFolderThatEnginesReadDifferently) {
  Write("model/adapter_config.json", "{}");
  EXPECT_NE(Name({}).err.find("name its folder with --adapter"), std::string::npos);
  Write("model/adapter_model.safetensors", WeightsOf("lora"));
  EXPECT_EQ(Name({"--adapter", Path("model")}).status, 0);
  std::filesystem::remove(Path("model/adapter_config.json"));
  EXPECT_NE(Name({}).err.find("move it away"), std::string::npos);
  std::filesystem::remove(Path("model/adapter_model.safetensors"));
  EXPECT_EQ(Name({}).status, 0);

  Write("model/a.safetensors", WeightsOf("other weights"));
  Write("model/model.safetensors.index.json", R"({"weight_map": {"w": "a.safetensors"}})");
  EXPECT_NE(Name({}).err.find("\"model.safetensors\" lies beside"), std::string::npos);
  std::filesystem::remove(Path("model/model.safetensors"));
  EXPECT_EQ(Name({}).status, 0);

  std::filesystem::remove(Path("model/model.safetensors.index.json"));
  Write("model/model-00001-of-00002.safetensors", WeightsOf("half of them"));
  EXPECT_NE(Name({}).err.find("half a download"), std::string::npos);
}

// An adapter that is named does not say whether another one is loaded, too.
TEST_F(NameAndInspect, NameLooksForAdaptersBesideTheModelWhicheverIsNamed) {
  Write("adapter/adapter_config.json", "{}");
  Write("adapter/adapter_model.safetensors", WeightsOf("lora"));
  EXPECT_EQ(Name({"--adapter", Path("adapter")}).status, kExitOk);
  Write("model/adapter_config.json", "{}");
  EXPECT_NE(Name({"--adapter", Path("adapter")}).err.find("lies in the model's folder"),
            std::string::npos);
  Write("model/adapter_model.safetensors", WeightsOf("other"));
  EXPECT_EQ(Name({"--adapter", Path("adapter/../model")}).status, kExitOk);
  const std::string missing = Name({"--adapter", Path("nowhere")}).err;
  EXPECT_NE(missing.find("lies in the model's folder"), std::string::npos) << missing;
}

TEST_F(NameAndInspect, NameChangesWithTheEmbeddingsOfAnAdapter) {
  const auto model_fp = [&] {
    const CommandOutcome outcome = Name({"--adapter", Path("adapter"), "--json"});
    EXPECT_EQ(outcome.status, kExitOk) << outcome.err;
    return ParseJson(outcome.out)->at("model").dump();
  };
  Write("adapter/adapter_config.json", "{}");
  Write("adapter/adapter_model.safetensors", WeightsOf("lora"));
  const std::string plain = model_fp();
  Write("adapter/new_embeddings.safetensors", WeightsOf("rows"));
  EXPECT_NE(model_fp(), plain);
  Write("adapter/new_embeddings.bin", "rows");
  EXPECT_NE(Name({"--adapter", Path("adapter")}).err.find("new_embeddings.bin"), std::string::npos);
}

// Engines differ in what they make of a file that says two things.
TEST_F(NameAndInspect, NameAsksForTheDtypeWhereTheConfigIsOfTwoMinds) {
  const std::string counts = R"("num_hidden_layers": 2, "num_attention_heads": 4,
      "num_key_value_heads": 2, "head_dim": 8)";
  Write("model/config.json",
        R"({"torch_dtype": "float16", "text_config": {"dtype": "bfloat16", )" + counts + "}}");
  EXPECT_NE(Name({}).err.find("config.json: byte 1: It says two things"), std::string::npos);
  EXPECT_EQ(Name({"--kv-dtype", "bf16"}).status, kExitOk);
  Write("model/config.json", R"({"dtype": "float16", "quantization_config": )"
                             R"({"kv_cache_scheme": {"num_bits": 8}}, )" +
                                 counts + "}");
  EXPECT_NE(Name({}).err.find("say with --kv-dtype"), std::string::npos);
  EXPECT_EQ(Name({"--kv-dtype", "fp8_e4m3"}).status, kExitOk);
  Write("model/config.json", R"({"dtype": "float16", )" + counts + "}");
  EXPECT_EQ(Name({}).status, kExitOk);
  Write("model/hf_quant_config.json",
        R"({"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": null}})");
  EXPECT_EQ(Name({}).status, kExitOk);
  Write("model/hf_quant_config.json",
        R"({"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}})");
  EXPECT_NE(Name({}).err.find("hf_quant_config.json: byte 39: \"quantization\" has"),
            std::string::npos);
  EXPECT_EQ(Name({"--kv-dtype", "fp8_e4m3"}).status, kExitOk);
  Write("model/hf_quant_config.json", "{");
  EXPECT_NE(Name({}).status, kExitOk);
}

// Before weights are read, which may take minutes.
TEST_F(NameAndInspect, NameAsksForAModelsNameWhereTheFolderHasNone) {
  std::filesystem::rename(Path("model"), Path("my model"));
  std::filesystem::remove(Path("my model/model.safetensors"));
  const auto error = [&](std::vector<const char*> more) {
    const std::string folder = Path("my model");
    more.insert(more.begin(), {"name", "--model", folder.c_str()});
    return RunKvcast(more).err;
  };
  EXPECT_NE(error({}).find("Say with --model-name"), std::string::npos);
  EXPECT_NE(error({"--model-name", "mine"}).find("no weights"), std::string::npos);
}

TEST_F(NameAndInspect, NameRefusesThePublicKeyAsATenantsOwn) {
  Write("acme.key", Sha256::Of("kvcast/public/1").ToHex() + "\n");
  EXPECT_NE(Name({"--tenant", "acme", "--key-file", Path("acme.key")}).err.find("known to all"),
            std::string::npos);
}

TEST_F(NameAndInspect, NameSaysWhereAModelIsWrong) {
  Write("model/model.safetensors.index.json", R"({"weight_map": {"a": "../elsewhere"}})");
  EXPECT_NE(Name({}).err.find("model.safetensors.index.json: byte 16: "), std::string::npos);
  Write("model/config.json", R"({"num_hidden_layers": 0})");
  EXPECT_NE(Name({}).err.find("config.json: byte 1: "), std::string::npos);
  Write("model/config.json", R"({"num_hidden_layers": 2, "num_attention_heads": 4,
              "head_dim": 8, "torch_dtype": "float7"})");
  EXPECT_NE(Name({}).err.find("config.json: byte 80: "), std::string::npos) << Name({}).err;
}

// Half a download, or something else under the name of weights, would be a model nobody else has.
TEST_F(NameAndInspect, NameLooksWhetherWeightsAreWhole) {
  const std::string whole = WeightsOf("weights");
  for (const size_t length : {size_t{3}, size_t{20}, whole.size() - 1}) {
    Write("model/model.safetensors", std::string_view(whole).substr(0, length));
    const CommandOutcome outcome = Name({Path("a.tokens")});
    EXPECT_EQ(outcome.status, kExitFailed) << length;
    EXPECT_NE(outcome.err.find("model.safetensors: byte "), std::string::npos) << outcome.err;
  }
  Write("model/model.safetensors", whole + "x");
  EXPECT_EQ(Name({Path("a.tokens")}).status, kExitFailed);
  Write("model/model.safetensors", whole);
  EXPECT_EQ(Name({Path("a.tokens")}).status, kExitOk);
  Write("model/model.safetensors.index.json", R"({"weight_map": {"a": "config.json"}})");
  const CommandOutcome indexed = Name({Path("a.tokens")});
  EXPECT_EQ(indexed.status, kExitFailed);
  EXPECT_NE(indexed.err.find("index.json: byte 16: \"config.json\""), std::string::npos)
      << indexed.err;
}

TEST_F(NameAndInspect, NameTakesNoTensorThatTwoPartsOfTheWeightsHave) {
  std::filesystem::remove(Path("model/model.safetensors"));
  Write("model/a.safetensors", WeightsOf("one"));
  Write("model/model.safetensors.index.json", R"({"weight_map": {"w": "a.safetensors"}})");
  EXPECT_EQ(Name({Path("a.tokens")}).status, kExitOk);
  Write("model/b.safetensors", WeightsOf("two"));
  Write("model/model.safetensors.index.json",
        R"({"weight_map": {"w": "a.safetensors", "x": "b.safetensors"}})");
  const std::string said = Name({Path("a.tokens")}).err;
  EXPECT_NE(said.find("b.safetensors: byte 9: \""), std::string::npos) << said;
  EXPECT_NE(said.find("is in a.safetensors too"), std::string::npos) << said;
}

TEST_F(NameAndInspect, NameLooksWhetherAnAdapterIsOne) {
  const auto outcome = [&](std::string_view config, std::string_view weights) {
    Write("adapter/adapter_config.json", config);
    Write("adapter/adapter_model.safetensors", weights);
    return Name({"--adapter", Path("adapter"), Path("a.tokens")});
  };
  EXPECT_EQ(outcome("{}", WeightsOf("lora")).status, kExitOk);
  EXPECT_NE(outcome("{}", "junk").err.find("adapter_model.safetensors: byte "), std::string::npos);
  EXPECT_NE(outcome("not json", WeightsOf("lora")).err.find("adapter_config.json: byte "),
            std::string::npos);
  EXPECT_EQ(outcome("[]", WeightsOf("lora")).status, kExitFailed);
  EXPECT_NE(outcome(R"({"peft_type": "LORA", "alora_invocation_tokens": [1]})", WeightsOf("lora"))
                .err.find("adapter_config.json: byte 22: \"alora_invocation_tokens\""),
            std::string::npos);
}

TEST_F(NameAndInspect, NameSaysWhichFileNamesWhatIsAbsent) {
  Write("model/model.safetensors.index.json", R"({"weight_map": {"a": "gone.safetensors"}})");
  EXPECT_NE(Name({}).err.find("model.safetensors.index.json: byte 16: \"gone.safetensors\""),
            std::string::npos);
  std::filesystem::create_directory(Path("adapter"));
  EXPECT_NE(Name({"--adapter", Path("adapter")}).err.find("adapter: There is no adapter_config"),
            std::string::npos);
  EXPECT_NE(Name({"--adapter", Path("nowhere")}).err.find("nowhere: The folder of an adapter"),
            std::string::npos);
  Write("model/config.json", R"({"num_hidden_layers": 2, "num_attention_heads": 4,
              "head_dim": 8})");
  EXPECT_NE(Name({}).err.find("config.json: byte 0: It does not say"), std::string::npos);
}

// Hashing a model may take minutes: what is wrong with the command line is said before.
TEST_F(NameAndInspect, NameReadsItsCommandLineBeforeTheModel) {
  std::filesystem::remove(Path("model/model.safetensors"));
  Write("short.key", "12 34");
  const auto usage = [&](const std::vector<std::string>& words) { return Name(words).status; };
  EXPECT_EQ(usage({"--tenant", "no/slash", "--key-file", Path("short.key")}), kExitUsage);
  EXPECT_EQ(usage({"--tenant", "acme"}), kExitUsage);
  EXPECT_EQ(usage({"--key-file", Path("short.key")}), kExitUsage);
  EXPECT_EQ(usage({"--kv-dtype", "float7"}), kExitUsage);
  EXPECT_EQ(usage({"-", "-"}), kExitUsage);
  EXPECT_EQ(usage({"--salt", std::string(1025, 'x')}), kExitUsage);
  EXPECT_NE(Name({"--salt", std::string(1025, 'x')}).err.find("--salt"), std::string::npos);
  EXPECT_EQ(usage({"--model-name", "with space"}), kExitUsage);
  const CommandOutcome key = Name({"--tenant", "acme", "--key-file", Path("short.key")});
  EXPECT_EQ(key.status, kExitFailed);
  EXPECT_NE(key.err.find("short.key: byte 2: A naming key is"), std::string::npos) << key.err;
}

TEST_F(NameAndInspect, NameSaysWhatIsWrongOnOneLine) {
  const std::string err = Name({Path("two\nlines.tokens")}).err;
  EXPECT_NE(err.find("two\\x0alines.tokens"), std::string::npos) << err;
  EXPECT_EQ(std::ranges::count(err, '\n'), 1);
}

TEST_F(NameAndInspect, NameTakesNoPointerForWeights) {
  Write("model/model.safetensors", "version 1\noid sha256:4d7a\nsize 12\n");
  EXPECT_NE(Name({Path("a.tokens")}).err.find("model.safetensors: byte 0: This is a Git LFS"),
            std::string::npos);
  Write("model/model.safetensors", "");
  EXPECT_NE(Name({Path("a.tokens")}).err.find("the file is empty"), std::string::npos);
  Write("model/tokenizer.json", "version 1\noid sha256:4d7a\nsize 12\n");
  EXPECT_NE(Name({Path("a.tokens")}).err.find("tokenizer.json: byte 0: This is a Git LFS"),
            std::string::npos);
  // What is wrong with a prompt is said before anything of a model is read.
  EXPECT_NE(Name({Path("nosuch.tokens")}).err.find("nosuch.tokens"), std::string::npos);
}

// Waiting for somebody to write into it would be waiting for ever.
TEST_F(NameAndInspect, NameRefusesAPipeForAFileOfTheModel) {
  for (const char* name : {"model/model.safetensors.index.json", "model/config.json"}) {
    std::filesystem::remove(Path(name));
    ASSERT_EQ(::mkfifo(Path(name).c_str(), 0600), 0);
    const CommandOutcome outcome = Name({Path("a.tokens")});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_NE(outcome.err.find(Path(name) + ": This is not a regular file."), std::string::npos)
        << outcome.err;
  }
}

TEST_F(NameAndInspect, NameReadsStandardInput) {
  Write("bad.tokens", "1 2 three");
  const auto with_input = [&](const char* name) {
    const int before = ::dup(STDIN_FILENO);
    const int input = ::open(Path(name).c_str(), O_RDONLY | O_CLOEXEC);
    ::dup2(input, STDIN_FILENO);
    ::close(input);
    CommandOutcome outcome = Name({"-"});
    ::dup2(before, STDIN_FILENO);
    ::close(before);
    return outcome;
  };
  EXPECT_NE(with_input("a.tokens").out.find("9 tokens, 2 blocks"), std::string::npos);
  EXPECT_EQ(with_input("bad.tokens").err.find("kvcast: standard input: byte 4: "), 0u);
}

TEST_F(NameAndInspect, NameTakesAnOptionOnce) {
  const std::string again = Path("model");
  const CommandOutcome outcome = Name({"--model", again});
  EXPECT_EQ(outcome.status, kExitUsage);
  EXPECT_NE(outcome.err.find("--model is given 2 times, and only one can be meant."),
            std::string::npos)
      << outcome.err;
}

TEST_F(NameAndInspect, NameTakesStandardInputOnce) {
  const CommandOutcome outcome = Name({"-", "-"});
  EXPECT_EQ(outcome.status, kExitUsage);
  EXPECT_NE(outcome.err.find("one prompt"), std::string::npos) << outcome.err;
}

TEST_F(NameAndInspect, NameBlamesTheWordThatIsWrong) {
  const std::string key = Path("a.tokens");
  EXPECT_NE(Name({"--tenant", "public", "--key-file", key}).err.find("--key-file: "),
            std::string::npos);
  EXPECT_NE(Name({"--tenant", "acme"}).err.find("--tenant: "), std::string::npos);
  const CommandOutcome three = Name({key, key, key});
  EXPECT_EQ(three.status, kExitUsage);
  EXPECT_NE(three.err.find("two are compared; here are 3"), std::string::npos) << three.err;
}

TEST_F(NameAndInspect, NameWantsAModelNameThatSaysSomething) {
  EXPECT_EQ(Name({"--model-name", "", Path("a.tokens")}).status, kExitUsage);
}

TEST_F(NameAndInspect, NameLeavesTheTerminalAsItWas) {
  Write("red\x1b[31m.tokens", "1 2 3 4");
  const CommandOutcome outcome = Name({Path("red\x1b[31m.tokens")});
  EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos);
  EXPECT_EQ(Name({Path("absent\x1b[31m.tokens")}).err.find('\x1b'), std::string::npos);
}

TEST_F(NameAndInspect, NamePrintsJsonWhateverAFileIsCalled) {
  Write("\xff.tokens", "1 2 3 4");
  const CommandOutcome outcome = Name({"--json", Path("\xff.tokens")});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(ParseJson(outcome.out).ok());
}

TEST_F(NameAndInspect, RefuseBlockLengthsAsTheyWereTyped) {
  for (const char* length : {"-1", "0", "x", "010", "4294967296", "-18446744073709551615"}) {
    const std::string file = Path("kv.safetensors");
    const CommandOutcome outcome = RunKvcast({"inspect", file.c_str(), "--block-tokens", length});
    EXPECT_EQ(outcome.status, 2) << length;
    EXPECT_NE(outcome.err.find("'" + std::string(length) + "'"), std::string::npos) << outcome.err;
  }
}

TEST_F(NameAndInspect, InspectSaysWhatAFileHolds) {
  WriteKvFile("kv.safetensors", 2, {{"kvcast.model", "tiny"}});
  const std::string file = Path("kv.safetensors");
  const CommandOutcome outcome = RunKvcast({"inspect", file.c_str()});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("bytes per token  128\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("layers 0-1: 2 KV heads of 8"), std::string::npos);
  EXPECT_NE(outcome.out.find("model            tiny"), std::string::npos);
  EXPECT_EQ(outcome.out.find("queries"), std::string::npos);
}

// So that the bytes of a file add up.
TEST_F(NameAndInspect, InspectCountsQueriesApart) {
  const std::string header =
      R"({"layers.0.k":{"dtype":"BF16","shape":[1,1,4],"data_offsets":[0,8]},)"
      R"("layers.0.q":{"dtype":"BF16","shape":[1,2,4],"data_offsets":[8,24]},)"
      R"("layers.0.v":{"dtype":"BF16","shape":[1,1,4],"data_offsets":[24,32]}})";
  std::string file(8, '\0');
  file[0] = static_cast<char>(header.size());
  Write("q.safetensors", file + header + std::string(32, 'x'));
  const std::string path = Path("q.safetensors");
  const CommandOutcome outcome = RunKvcast({"inspect", path.c_str()});
  EXPECT_EQ(outcome.status, kExitOk) << outcome.err;
  EXPECT_NE(outcome.out.find("bytes per token  16\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("queries          16 bytes per token beside them, no part of the "
                             "cache\n"),
            std::string::npos)
      << outcome.out;
  const CommandOutcome json = RunKvcast({"inspect", path.c_str(), "--json"});
  EXPECT_EQ(ParseJson(json.out)->at("query_bytes_per_token"), 16);
}

TEST_F(NameAndInspect, InspectChecksAFileAgainstAModel) {
  const std::string model = Path("model");
  const auto inspect = [&](const std::string& name) {
    const std::string file = Path(name);
    return RunKvcast({"inspect", file.c_str(), "--model", model.c_str()});
  };
  WriteKvFile("fits.safetensors", 2, {});
  EXPECT_NE(inspect("fits.safetensors").out.find("the file fits the model"), std::string::npos);
  WriteKvFile("heads.safetensors", 1, {});
  EXPECT_EQ(inspect("heads.safetensors").status, 1);
  WriteKvFile("other.safetensors", 2, {{"kvcast.model_fp", std::string(64, '0')}});
  EXPECT_NE(inspect("other.safetensors").err.find("another model key"), std::string::npos);
  Write("damaged.safetensors", "not a file of tensors");
  EXPECT_NE(inspect("damaged.safetensors").err.find("damaged.safetensors: byte 0:"),
            std::string::npos);
}

// A rank's file is of the heads that it names, and of no others.
TEST_F(NameAndInspect, InspectFitsTheSliceThatAFileIsOf) {
  const std::string model = Path("model");
  const auto inspect = [&](const std::string& slice, const char* json = "") {
    WriteKvFile("rank.safetensors", 1, {{"kvcast.slice", slice}});
    const std::string file = Path("rank.safetensors");
    std::vector<const char*> words = {"inspect", file.c_str(), "--model", model.c_str(), json};
    words.resize(*json == '\0' ? 4 : 5);
    return RunKvcast(words);
  };
  const CommandOutcome fits = inspect(";h=1-1");
  EXPECT_EQ(fits.status, 0) << fits.err;
  EXPECT_NE(fits.out.find("slice            h=1-1: these are a part of a cache\n"),
            std::string::npos)
      << fits.out;
  EXPECT_NE(fits.out.find("the file fits the model"), std::string::npos) << fits.out;
  EXPECT_EQ(ParseJson(inspect(";l=0-1;h=1-1", "--json").out)->at("slice"), ";l=0-1;h=1-1");
  EXPECT_NE(inspect(";h=2-2").err.find("a layer has 2"), std::string::npos);
}

// A cache in other values than the engine's would have to be converted, and so is not its cache.
TEST_F(NameAndInspect, InspectComparesTheTypeOfValues) {
  const std::string model = Path("model");
  const auto inspect = [&](ValueType type, const char* dtype) {
    WriteKvFile("kv.safetensors", 2, {}, type);
    const std::string file = Path("kv.safetensors");
    return RunKvcast({"inspect", file.c_str(), "--model", model.c_str(), "--kv-dtype", dtype});
  };
  EXPECT_EQ(inspect(ValueType::kBf16, "bf16").status, 0);
  EXPECT_EQ(inspect(ValueType::kFp16, "fp16").status, 0);
  EXPECT_EQ(inspect(ValueType::kFp32, "fp32").status, 0);
  const CommandOutcome other = inspect(ValueType::kFp32, "bf16");
  EXPECT_EQ(other.status, 1);
  EXPECT_NE(other.err.find("holds F32; the model computes KV in bf16"), std::string::npos)
      << other.err;
  EXPECT_NE(inspect(ValueType::kBf16, "int8").err.find("KV files cannot hold"), std::string::npos);
}

TEST_F(NameAndInspect, InspectIgnoresNothingItIsTold) {
  WriteKvFile("kv.safetensors", 2, {});
  const std::string file = Path("kv.safetensors");
  for (const char* option : {"--adapter", "--kv-dtype", "--model-name"}) {
    const CommandOutcome outcome = RunKvcast({"inspect", file.c_str(), option, "bf16"});
    EXPECT_EQ(outcome.status, 2) << option;
    EXPECT_NE(outcome.err.find("--model"), std::string::npos) << outcome.err;
  }
  EXPECT_EQ(RunKvcast({"inspect", file.c_str(), "--block-tokens", "4"}).status, 0);
}

// What a shell makes of a variable that is not set is no folder, and no reason to check nothing.
TEST_F(NameAndInspect, RefuseAFolderWithoutAName) {
  WriteKvFile("kv.safetensors", 2, {});
  const std::string file = Path("kv.safetensors");
  const CommandOutcome inspect = RunKvcast({"inspect", file.c_str(), "--model", ""});
  EXPECT_EQ(inspect.status, kExitUsage);
  EXPECT_NE(inspect.err.find("--model: This is an empty word"), std::string::npos) << inspect.err;
  const CommandOutcome name = Name({"--adapter", "", Path("a.tokens")});
  EXPECT_EQ(name.status, kExitUsage);
  EXPECT_NE(name.err.find("--adapter: This is an empty word"), std::string::npos) << name.err;
  EXPECT_NE(Name({""}).err.find("This is an empty word"), std::string::npos);
  EXPECT_EQ(Name({"--key-file", "", Path("a.tokens")}).status, kExitUsage);
}

TEST(ModelText, PutsNumbersTogether) {
  EXPECT_EQ(Grouped(7), "7");
  EXPECT_EQ(Grouped(1234567), "1,234,567");
  EXPECT_EQ(Ranges({0, 1, 2, 4, 6, 7}), "0-2, 4, 6-7");
}

}  // namespace
}  // namespace kvcast
