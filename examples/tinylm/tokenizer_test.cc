#include "examples/tinylm/tokenizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "examples/tinylm/base/file.h"
#include "examples/tinylm/base/json.h"
#include "examples/tinylm/sample_tokenizer.h"
#include "examples/tinylm/words.h"
#include "kvcast/base/random.h"
#include "kvcast/base/source_folder_test.h"

namespace kvcast::tinylm {
namespace {

const std::string kFolder = std::string(kSourceFolder) + "/examples/tinylm/";

std::string FileOf(const std::string& name) { return *ReadFile(kFolder + name, 64 * 1024 * 1024); }

const Tokenizer& ModelTokenizer() {
  static const Tokenizer tokenizer = *Tokenizer::Parse(FileOf("model/tokenizer.json"));
  return tokenizer;
}

std::vector<std::string> WordsOf(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    words.emplace_back(FirstWord(text));
    text.remove_prefix(words.back().size());
  }
  return words;
}

// The sample with one value changed; `spoil` is given the whole file.
template <typename Spoil>
Result<Tokenizer> ParseSpoilt(Spoil spoil) {
  Json json = *ParseJson(SampleTokenizerJson());
  spoil(json);
  return Tokenizer::Parse(json.dump());
}

// A second implementation, which shares nothing with this one, recorded the cases.
TEST(Tokenizer, AgreesWithTheRecordedCases) {
  const Json cases = *ParseJson(FileOf("tokenizer_cases.json"));
  ASSERT_GT(cases.size(), 70u);
  for (const Json& one : cases) {
    SCOPED_TRACE(one["name"].get<std::string>());
    const auto text = one["text"].get<std::string>();
    EXPECT_EQ(WordsOf(text), one["words"].get<std::vector<std::string>>());
    const auto ids = ModelTokenizer().Encode(text, Start::kBare);
    ASSERT_TRUE(ids.ok());
    EXPECT_EQ(*ids, one["ids"].get<std::vector<uint32_t>>());
    EXPECT_EQ(*ModelTokenizer().Decode(*ids, Start::kBare), text);
  }
}

TEST(Tokenizer, KnowsTheModelsVocabulary) {
  const Json config = *ParseJson(FileOf("model/config.json"));
  EXPECT_EQ(ModelTokenizer().vocabulary_size(), config["vocab_size"].get<size_t>());
  EXPECT_EQ(ModelTokenizer().start(), config["bos_token_id"].get<uint32_t>());
  EXPECT_EQ(ModelTokenizer().end(), config["eos_token_id"].get<uint32_t>());
}

TEST(Tokenizer, MarksTheStartOfADocument) {
  const Tokenizer& tokenizer = ModelTokenizer();
  EXPECT_EQ(*tokenizer.Encode(""), std::vector<uint32_t>{tokenizer.start()});
  EXPECT_TRUE(tokenizer.Encode("", Start::kBare)->empty());
  EXPECT_EQ(*tokenizer.Decode(*tokenizer.Encode("one")), "one");
  // Only the mark is taken off, not the same token in the text behind it.
  EXPECT_EQ(*tokenizer.Decode(*tokenizer.Encode("<s>one")), "<s>one");
  EXPECT_EQ(*tokenizer.Decode(*tokenizer.Encode("one"), Start::kBare), "<s>one");
}

TEST(Tokenizer, TakesOnlyUtf8AndSaysWhereItEnds) {
  const auto offset_in = [](std::string_view text) {
    return ModelTokenizer().Encode(text).error().offset();
  };
  EXPECT_EQ(offset_in("ab\xff"), 2u);
  EXPECT_EQ(offset_in("\xc3\xa4\xc3"), 2u);          // Cut off.
  EXPECT_EQ(offset_in("<s>\xc0\xaf"), 3u);           // Longer than needed.
  EXPECT_EQ(offset_in("\xe0\x9f\xbf"), 0u);          // Longer than needed.
  EXPECT_EQ(offset_in(" \xed\xa0\x80"), 1u);         // A surrogate.
  EXPECT_EQ(offset_in("\xf4\x90\x80\x80"), 0u);      // Beyond Unicode.
  EXPECT_EQ(offset_in("\xf8\x88\x80\x80\x80"), 0u);  // No first byte.
  EXPECT_EQ(offset_in("\x80"), 0u);
}

TEST(Tokenizer, DecodesEveryTokenAndNoOther) {
  const auto size = static_cast<uint32_t>(ModelTokenizer().vocabulary_size());
  for (uint32_t id = 0; id < size; ++id) {
    EXPECT_FALSE(ModelTokenizer().Decode(std::span(&id, 1), Start::kBare)->empty());
  }
  EXPECT_EQ(ModelTokenizer().Decode(std::span(&size, 1)).error().code(), ErrorCode::kInvalid);
}

// Every valid text comes back, whatever its characters.
TEST(Tokenizer, GivesRandomTextBack) {
  Random random(7);
  for (int round = 0; round < 200; ++round) {
    std::string text;
    for (int at = 0; at < 50; ++at) {
      const uint64_t lead = random.Below(4);
      const auto tail = [&] { return static_cast<char>(0x80 + random.Below(64)); };
      if (lead == 0) {
        text += static_cast<char>(random.Below(128));
      } else if (lead == 1) {
        text += {static_cast<char>(0xc2 + random.Below(30)), tail()};
      } else if (lead == 2) {
        text += {static_cast<char>(0xe1 + random.Below(12)), tail(), tail()};
      } else {
        text += {static_cast<char>(0xf1 + random.Below(3)), tail(), tail(), tail()};
      }
    }
    EXPECT_EQ(*ModelTokenizer().Decode(*ModelTokenizer().Encode(text)), text);
  }
}

// A word may be as long as the text. In a number of steps that grows with its square, this would
// run into the test's time limit.
TEST(Tokenizer, EncodesOneWordOfAnyLength) {
  std::string text;
  while (text.size() < 300'000) {
    text += "theinationaaaaaaaaaaaaaaaa";
  }
  EXPECT_EQ(*ModelTokenizer().Decode(*ModelTokenizer().Encode(text)), text);
  const std::string spaces(300'000, ' ');
  EXPECT_EQ(*ModelTokenizer().Decode(*ModelTokenizer().Encode(spaces)), spaces);
}

TEST(Tokenizer, RefusesATextThatIsTooLong) {
  const std::string text(Tokenizer::kTextBytesMax + 1, ' ');
  EXPECT_EQ(ModelTokenizer().Encode(text).error().code(), ErrorCode::kTooLarge);
}

TEST(Tokenizer, TakesTheLongestAddedToken) {
  const auto tokenizer = ParseSpoilt([](Json& json) {
    const size_t next = json["model"]["vocab"].size();
    json["added_tokens"].push_back({{"id", next}, {"content", "<s><s>"}});
    json["added_tokens"].push_back({{"id", next + 1}, {"content", " two words"}});
  });
  ASSERT_TRUE(tokenizer.ok());
  const auto next = static_cast<uint32_t>(tokenizer->vocabulary_size() - 2);
  const std::vector<uint32_t> expected = {next, 0, next + 1};
  EXPECT_EQ(*tokenizer->Encode("<s><s><s> two words", Start::kBare), expected);
  EXPECT_EQ(*tokenizer->Decode(expected, Start::kBare), "<s><s><s> two words");
}

TEST(TokenizerFile, TakesTheSample) {
  const auto tokenizer = ParseSpoilt([](Json&) {});
  ASSERT_TRUE(tokenizer.ok());
  EXPECT_EQ(tokenizer->Encode("  the the's", Start::kBare)->size(), 4u);
}

// Settings that would give other ids are never silently left out.
TEST(TokenizerFile, RefusesWhatItDoesNotDo) {
  const auto code_with = [](const char* path, const Json& value) {
    const auto parsed = ParseSpoilt([&](Json& json) { json[Json::json_pointer(path)] = value; });
    return parsed.ok() ? ErrorCode::kMachine : parsed.error().code();
  };
  EXPECT_EQ(code_with("/normalizer", {{"type", "NFC"}}), ErrorCode::kUnsupported);
  EXPECT_EQ(code_with("/post_processor", {{"type", "ByteLevel"}}), ErrorCode::kUnsupported);
  EXPECT_EQ(code_with("/pre_tokenizer", nullptr), ErrorCode::kUnsupported);
  EXPECT_EQ(code_with("/pre_tokenizer/type", "Whitespace"), ErrorCode::kUnsupported);
  EXPECT_EQ(code_with("/pre_tokenizer/add_prefix_space", true), ErrorCode::kUnsupported);
  EXPECT_EQ(code_with("/pre_tokenizer/use_regex", false), ErrorCode::kUnsupported);
  EXPECT_EQ(code_with("/decoder/type", 3), ErrorCode::kUnsupported);
  EXPECT_EQ(code_with("/model/type", "Unigram"), ErrorCode::kUnsupported);
  EXPECT_EQ(code_with("/model/dropout", 0.1), ErrorCode::kUnsupported);
  EXPECT_EQ(code_with("/model/ignore_merges", true), ErrorCode::kUnsupported);
  EXPECT_EQ(code_with("/model", Json::array({1, 2})), ErrorCode::kUnsupported);
  EXPECT_EQ(code_with("/added_tokens/0/lstrip", true), ErrorCode::kUnsupported);
  EXPECT_EQ(code_with("/added_tokens/0/normalized", true), ErrorCode::kUnsupported);
  EXPECT_EQ(code_with("/added_tokens/1/content", "the end"), ErrorCode::kMalformed);
  const auto unsaid = ParseSpoilt([](Json& j) { j["pre_tokenizer"].erase("add_prefix_space"); });
  EXPECT_FALSE(unsaid.ok());
}

TEST(TokenizerFile, RefusesWhatIsNotWellFormed) {
  const auto malformed = [](auto spoil) {
    const auto parsed = ParseSpoilt(spoil);
    return !parsed.ok() && parsed.error().code() == ErrorCode::kMalformed;
  };
  EXPECT_EQ(Tokenizer::Parse("{").error().code(), ErrorCode::kMalformed);
  for (const char* other : {"null", "3", "[]", "{}", "\"model\""}) {
    EXPECT_FALSE(Tokenizer::Parse(other).ok()) << other;
  }
  EXPECT_TRUE(malformed([](Json& j) { j.erase("added_tokens"); }));
  EXPECT_TRUE(malformed([](Json& j) { j["added_tokens"][0] = 3; }));
  EXPECT_TRUE(malformed([](Json& j) { j["added_tokens"][0]["content"] = ""; }));
  EXPECT_TRUE(malformed([](Json& j) { j["added_tokens"][0].erase("id"); }));
  EXPECT_TRUE(malformed([](Json& j) { j["added_tokens"][0]["id"] = 1; }));
  EXPECT_TRUE(malformed([](Json& j) { j["added_tokens"][0]["id"] = 1u << 31; }));
  EXPECT_TRUE(malformed([](Json& j) { j["added_tokens"].push_back(j["added_tokens"][0]); }));
  EXPECT_TRUE(malformed([](Json& j) { j["model"]["vocab"] = nullptr; }));
  EXPECT_TRUE(malformed([](Json& j) { j["model"]["vocab"]["a"] = -1; }));
  EXPECT_TRUE(malformed([](Json& j) { j["model"]["vocab"]["a"] = "a"; }));
  EXPECT_TRUE(malformed([](Json& j) { j["model"]["vocab"]["a"] = 9; }));         // Another's.
  EXPECT_TRUE(malformed([](Json& j) { j["model"]["vocab"]["a"] = 1u << 30; }));  // A gap.
  EXPECT_TRUE(malformed([](Json& j) { j["model"]["vocab"].erase("he"); }));
  EXPECT_TRUE(malformed([](Json& j) { j["model"]["vocab"]["a b"] = 263u; }));  // No byte letter.
  EXPECT_TRUE(malformed([](Json& j) { j["model"]["vocab"][""] = 263u; }));
  EXPECT_TRUE(malformed([](Json& j) { j["model"]["merges"] = "h e"; }));
  EXPECT_TRUE(malformed([](Json& j) { j["model"]["merges"][0] = "h e"; }));
  EXPECT_TRUE(malformed([](Json& j) { j["model"]["merges"][0] = {"h", 3}; }));
  EXPECT_TRUE(malformed([](Json& j) { j["model"]["merges"][0] = {"h", "z"}; }));
  EXPECT_TRUE(malformed([](Json& j) { j["model"]["merges"][1] = {"h", "e"}; }));
}

TEST(TokenizerFile, NeedsATokenForEveryByte) {
  const auto parsed = ParseSpoilt([](Json& json) {
    Json& vocabulary = json["model"]["vocab"];
    const Json last = vocabulary["'s"];
    json["model"]["merges"].erase(4);
    vocabulary.erase("'s");
    vocabulary["zz"] = vocabulary["z"];
    vocabulary.erase("z");
    EXPECT_EQ(vocabulary.size(), last.get<size_t>());
  });
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().code(), ErrorCode::kMalformed);
}

// What the model is shown in the README: long, alike but for the question, and within its context.
TEST(Prompts, ShareAllButTheQuestion) {
  const auto a = *ModelTokenizer().Encode(FileOf("prompts/shared-prefix-a.txt"));
  const auto b = *ModelTokenizer().Encode(FileOf("prompts/shared-prefix-b.txt"));
  const auto shared = static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  EXPECT_GE(shared, 3300u);
  EXPECT_LE(shared, 3700u);
  for (const auto& prompt : {a, b}) {
    EXPECT_GT(prompt.size(), shared + 10);
    EXPECT_LT(prompt.size(), shared + 60);
    EXPECT_LE(prompt.size() + 100, 4096u);
  }
}

}  // namespace
}  // namespace kvcast::tinylm
