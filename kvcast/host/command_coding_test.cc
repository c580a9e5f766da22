// kvcast encode, decode, rungs and calibrate, as whoever types them sees them.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "kvcast/base/json.h"
#include "kvcast/base/random.h"
#include "kvcast/codec/kvc_file.h"
#include "kvcast/host/command_outcome_test.h"
#include "kvcast/io/file.h"
#include "kvcast/io/scratch_directory.h"
#include "kvcast/kv/kv_file.h"

namespace kvcast {
namespace {

constexpr uint32_t kCodedTokens = 30;  // Seven blocks of four, and two tokens.

class CodingCommands : public testing::Test {
 protected:
  void SetUp() override {
    Write("config.json",
          R"({"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
              "head_dim": 32, "hidden_size": 128, "torch_dtype": "bfloat16"})");
    Write("other.json",
          R"({"num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2,
              "head_dim": 32, "hidden_size": 128, "torch_dtype": "bfloat16"})");
    WriteCache("a.safetensors", 1);
    WriteCache("b.safetensors", 2);
  }

  std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }
  std::string Read(const std::string& name) const { return *ReadFile(Path(name), 1 << 24); }
  void Write(const std::string& name, std::string_view content) {
    ASSERT_TRUE(WriteFileAtomically(Path(name), AsBytes(content)).ok());
  }
  // Values between -4 and 4, in BF16.
  void WriteCache(const std::string& name, uint64_t seed, ValueType type = ValueType::kBf16) {
    const std::vector<LayerShape> layers(2, LayerShape{2, 32, 32});
    const KvFilePlan plan = *KvFilePlan::Of(layers, type, kCodedTokens);
    std::string values(plan.file_bytes() - plan.header().size(), '\0');
    Random random(seed);
    for (size_t at = 0; at < values.size(); at += 2) {
      const float value = static_cast<float>(random.Below(8001)) / 1000.0F - 4.0F;
      std::memcpy(values.data() + at, reinterpret_cast<const char*>(&value) + 2, 2);
    }
    Write(name, plan.header().ToString() + values);
  }
  // The values of all whole blocks of four.
  std::vector<float> Values(const std::string& name) const {
    const std::string file = Read(name);
    const KvFile cache = *KvFile::Parse(AsBytes(file));
    EXPECT_GE(cache.tokens(), 28u);
    std::vector<float> values;
    for (size_t layer = 0; layer < 2; ++layer) {
      for (const Plane plane : {Plane::kKey, Plane::kValue}) {
        const auto bytes = cache.Values(layer, plane).first(size_t{28} * 2 * 32 * 2);
        for (size_t at = 0; at < bytes.size(); at += 2) {
          uint32_t bits = 0;
          std::memcpy(reinterpret_cast<std::byte*>(&bits) + 2, bytes.data() + at, 2);
          float value = 0;
          std::memcpy(&value, &bits, sizeof(value));
          values.push_back(value);
        }
      }
    }
    return values;
  }

  CommandOutcome Run(const std::vector<std::string>& words) {
    std::vector<const char*> pointers;
    pointers.reserve(words.size());
    for (const std::string& word : words) {
      pointers.push_back(word.c_str());
    }
    return RunKvcast(pointers);
  }
  CommandOutcome Encode(const std::string& rung, const std::string& out,
                        const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {
        "encode", Path("a.safetensors"), "-o", Path(out), "--model", Path("config.json"), "--rung",
        rung,     "--block-tokens",      "4"};
    words.insert(words.end(), more.begin(), more.end());
    return Run(words);
  }
  CommandOutcome Decode(const std::string& in, const std::string& out,
                        const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"decode",  Path(in),  "-o",
                                      Path(out), "--model", Path("config.json")};
    words.insert(words.end(), more.begin(), more.end());
    return Run(words);
  }
  CommandOutcome Calibrate(const std::vector<std::string>& samples, const std::string& out) {
    std::vector<std::string> words = {
        "calibrate", "--model", Path("config.json"), "-o", Path(out), "--block-tokens", "4"};
    for (const std::string& sample : samples) {
      words.push_back(Path(sample));
    }
    return Run(words);
  }

  ScratchDirectory folder_ = *ScratchDirectory::Make();
};

// Where a process may not write files of any length, that is an error and not its death.
TEST_F(CodingCommands, SayThatAFileMayNotGrow) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit small{4096, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const CommandOutcome outcome = Encode("BF16", "large.kvc");
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.err.find("Cannot write it: File too large"), std::string::npos) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(Path("large.kvc")));
}

struct RungAndError {
  const char* rung;
  double bits_max;
  float error_max;  // Of values up to 4.
};

TEST_F(CodingCommands, CarryACacheThroughEveryRung) {
  const std::vector<float> before = Values("a.safetensors");
  for (const auto& [rung, bits_max, error_max] :
       {RungAndError{"BF16", 16.4, 0}, RungAndError{"BF16-lossless", 20, 0},
        RungAndError{"Int8", 8.9, 0.04F}, RungAndError{"FP8", 8.5, 0.26F},
        // Int4's line is fitted to all of a group's values, not drawn through the outermost.
        RungAndError{"Int4", 5.4, 0.4F}, RungAndError{"FP4", 4.9, 0.7F}}) {
    const CommandOutcome encoded = Encode(rung, "a.kvc", {"--json"});
    ASSERT_EQ(encoded.status, 0) << encoded.err;
    const Json json = *ParseJson(encoded.out);
    EXPECT_EQ(json["bytes"], Read("a.kvc").size()) << rung;
    EXPECT_EQ(json["tokens"], 28);
    EXPECT_EQ(json["tokens_left_out"], 2);
    EXPECT_LT(json["bits_per_value"], bits_max) << rung;
    EXPECT_TRUE(json["seconds"].is_number());
    const CommandOutcome decoded = Decode("a.kvc", "back.safetensors", {"--json"});
    ASSERT_EQ(decoded.status, 0) << decoded.err;
    EXPECT_EQ((*ParseJson(decoded.out))["bits_per_value"], json["bits_per_value"]);
    const std::vector<float> after = Values("back.safetensors");
    ASSERT_EQ(after.size(), before.size());
    float worst = 0;
    for (size_t i = 0; i < before.size(); ++i) {
      worst = std::max(worst, std::abs(before[i] - after[i]));
    }
    EXPECT_LE(worst, error_max) << rung;
  }
}

// A file that was decoded says from what, so that nobody takes it for what the model computed.
TEST_F(CodingCommands, EncodeNothingTruerThanItCame) {
  ASSERT_EQ(Encode("Int8", "a.kvc").status, 0);
  ASSERT_EQ(Decode("a.kvc", "a.safetensors").status, 0);
  const CommandOutcome exact = Encode("BF16-lossless", "b.kvc");
  EXPECT_EQ(exact.status, 1);
  EXPECT_NE(exact.err.find("came as Int8"), std::string::npos) << exact.err;
  EXPECT_FALSE(std::filesystem::exists(Path("b.kvc")));
  EXPECT_EQ(Encode("Int8", "b.kvc").status, 0);
  EXPECT_EQ(Encode("Int4", "c.kvc").status, 0);
}

TEST_F(CodingCommands, RefuseADamagedFileAndWriteNothing) {
  ASSERT_EQ(Encode("Int8", "a.kvc").status, 0);
  const std::string whole = Read("a.kvc");
  for (size_t at = 0; at < whole.size(); at += 97) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    Write("bad.kvc", damaged);
    const CommandOutcome outcome = Decode("bad.kvc", "bad.safetensors");
    EXPECT_EQ(outcome.status, 1) << at;
    EXPECT_NE(outcome.err.find("bad.kvc"), std::string::npos) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(Path("bad.safetensors"))) << at;
  }
}

// A short file that claims a large cache must not be believed.
TEST_F(CodingCommands, TakeNoMemoryOnTheWordOfAFile) {
  ASSERT_EQ(Encode("BF16", "a.kvc").status, 0);
  const std::string whole = Read("a.kvc");
  const TrackFormat format = KvcFile::Parse(AsBytes(whole))->format();
  std::string hollow = KvcOpening(format);
  for (int block = 0; block < 7; ++block) {
    for (uint32_t token = 0; token < format.block_tokens; ++token) {
      hollow += KvcObjectOpening(format, token, /*payload_bytes=*/0);
    }
  }
  Write("hollow.kvc", hollow);
  const CommandOutcome outcome = Decode("hollow.kvc", "hollow.safetensors");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.err.find("shorter"), std::string::npos) << outcome.err;
}

TEST_F(CodingCommands, RefuseAnotherModelsCache) {
  ASSERT_EQ(Encode("Int8", "a.kvc").status, 0);
  EXPECT_NE(Run({"decode", Path("a.kvc"), "-o", Path("x"), "--model", Path("other.json")})
                .err.find("not one of this model"),
            std::string::npos);
  EXPECT_NE(Run({"encode", Path("a.safetensors"), "-o", Path("x"), "--model", Path("other.json"),
                 "--rung", "Int8"})
                .err.find("not one of this model"),
            std::string::npos);
}

TEST_F(CodingCommands, SayWhatIsWrong) {
  const CommandOutcome rung = Encode("int8", "a.kvc");
  EXPECT_EQ(rung.status, 2);
  EXPECT_NE(rung.err.find("Did you mean 'Int8'?"), std::string::npos) << rung.err;
  EXPECT_NE(Encode("FP16", "a.kvc").err.find("keeps values as they are"), std::string::npos);
  WriteCache("wide.safetensors", 1, ValueType::kFp32);
  EXPECT_NE(Run({"rungs", Path("wide.safetensors"), "--block-tokens", "4"}).err.find("F32"),
            std::string::npos);
  EXPECT_NE(Run({"rungs", Path("a.safetensors")}).err.find("no whole block"), std::string::npos);
  EXPECT_NE(Decode("a.safetensors", "x").err.find("no coded cache"), std::string::npos);
}

TEST_F(CodingCommands, CompareRungs) {
  const CommandOutcome table = Run({"rungs", Path("a.safetensors"), "--block-tokens", "4"});
  ASSERT_EQ(table.status, 0) << table.err;
  for (const char* rung : {"BF16 ", "BF16-lossless", "Int8", "FP8", "Int4", "FP4"}) {
    EXPECT_NE(table.out.find(std::string("\n") + rung), std::string::npos) << rung;
  }
  const CommandOutcome outcome =
      Run({"rungs", Path("a.safetensors"), "--block-tokens", "4", "--json"});
  const Json json = *ParseJson(outcome.out);
  for (const Json& row : json["rungs"]) {
    ASSERT_EQ(Encode(row["rung"].get<std::string>(), "a.kvc").status, 0);
    EXPECT_EQ(row["bytes"], Read("a.kvc").size()) << row["rung"];
    EXPECT_EQ(row["error"] == 0, row["rung"] == "BF16" || row["rung"] == "BF16-lossless");
  }
}

TEST_F(CodingCommands, CalibrateTheSameWhateverTheOrder) {
  const CommandOutcome outcome = Calibrate({"a.safetensors", "b.safetensors"}, "one.kvcal");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("digest       "), std::string::npos);
  ASSERT_EQ(Calibrate({"b.safetensors", "a.safetensors"}, "two.kvcal").status, 0);
  EXPECT_EQ(Read("one.kvcal"), Read("two.kvcal"));
}

TEST_F(CodingCommands, HoldACacheToItsCalibration) {
  ASSERT_EQ(Calibrate({"a.safetensors", "b.safetensors"}, "both.kvcal").status, 0);
  ASSERT_EQ(Calibrate({"b.safetensors"}, "b.kvcal").status, 0);
  ASSERT_EQ(Encode("FP8", "a.kvc", {"--calibration", Path("both.kvcal")}).status, 0);
  EXPECT_EQ(Decode("a.kvc", "back.safetensors").status, 0);
  EXPECT_EQ(Decode("a.kvc", "back.safetensors", {"--calibration", Path("both.kvcal")}).status, 0);
  EXPECT_NE(
      Decode("a.kvc", "x", {"--calibration", Path("b.kvcal")}).err.find("another calibration"),
      std::string::npos);
  // AC and KTC are nothing without it.
  for (const char* rung : {"AC", "KTC-fine", "KTC-medium", "KTC-coarse"}) {
    EXPECT_NE(Encode(rung, "x.kvc").err.find("needs a calibration"), std::string::npos);
    const CommandOutcome encoded =
        Encode(rung, "k.kvc", {"--calibration", Path("both.kvcal"), "--json"});
    ASSERT_EQ(encoded.status, 0) << encoded.err;
    EXPECT_NE(Decode("k.kvc", "x").err.find("without --calibration"), std::string::npos);
    EXPECT_NE(
        Decode("k.kvc", "x", {"--calibration", Path("b.kvcal")}).err.find("another calibration"),
        std::string::npos);
    ASSERT_EQ(Decode("k.kvc", "back.safetensors", {"--calibration", Path("both.kvcal")}).status, 0);
    const std::vector<float> before = Values("a.safetensors");
    const std::vector<float> after = Values("back.safetensors");
    double errors = 0;
    double squares = 0;
    for (size_t i = 0; i < before.size(); ++i) {
      errors += std::pow(double{before[i]} - double{after[i]}, 2);
      squares += std::pow(double{before[i]}, 2);
    }
    EXPECT_LT(errors, squares / 2) << rung;
  }
  std::string damaged = Read("b.kvcal");
  damaged[20] = static_cast<char>(damaged[20] ^ 1);
  Write("bad.kvcal", damaged);
  EXPECT_NE(Encode("FP8", "a.kvc", {"--calibration", Path("bad.kvcal")}).err.find("damaged"),
            std::string::npos);
}

}  // namespace
}  // namespace kvcast
