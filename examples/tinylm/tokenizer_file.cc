#include "examples/tinylm/tokenizer_file.h"

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "examples/tinylm/base/json.h"
#include "examples/tinylm/characters.h"

namespace kvcast::tinylm {
namespace {

constexpr size_t kAddedMax = 1024;  // Each is looked for at each place of a text.

Error Malformed(std::string message) { return {ErrorCode::kMalformed, std::move(message)}; }

struct Setting {
  const char* path;
  Json wanted;
  bool required = false;  // Or else absent is as good.
};

// Refuses every setting that would change ids and that we do not follow.
Result<void> CheckSettings(const Json& root) {
  const Setting settings[] = {
      {"/truncation", nullptr},
      {"/padding", nullptr},
      {"/normalizer", nullptr},
      {"/pre_tokenizer/type", "ByteLevel", true},
      {"/pre_tokenizer/add_prefix_space", false, true},
      {"/pre_tokenizer/use_regex", true},
      {"/post_processor", nullptr},
      {"/decoder/type", "ByteLevel", true},
      {"/model/type", "BPE", true},
      {"/model/dropout", nullptr},
      {"/model/unk_token", nullptr},
      {"/model/continuing_subword_prefix", nullptr},
      {"/model/end_of_word_suffix", nullptr},
      {"/model/byte_fallback", false},
      {"/model/ignore_merges", false},
  };
  for (const auto& [path, wanted, required] : settings) {
    const Json::json_pointer pointer(path);
    const bool there = root.contains(pointer);
    if (there ? root.at(pointer) != wanted : required) {
      return Error(ErrorCode::kUnsupported, "\"" + std::string(path + 1) + "\" must be " +
                                                wanted.dump() + " for this tokenizer.");
    }
  }
  return {};
}

// The letter that stands for each byte, and the byte for each letter.
struct ByteLetters {
  std::array<std::string, 256> of_byte;
  std::map<char32_t, char> of_letter;

  ByteLetters() {
    char32_t spare = 0x100;
    for (unsigned byte = 0; byte < 256; ++byte) {
      const bool itself = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte != 0xad);
      const char32_t letter = itself ? byte : spare++;
      of_letter[letter] = static_cast<char>(byte);
      if (letter < 0x80) {
        of_byte[byte] = {static_cast<char>(letter)};
      } else {
        of_byte[byte] = {static_cast<char>(0xc0u | letter >> 6),
                         static_cast<char>(0x80u | (letter & 0x3fu))};
      }
    }
  }

  // The bytes that a token of the vocabulary stands for, if it is written in these letters.
  std::optional<std::string> Read(std::string_view token) const {
    std::string bytes;
    while (!token.empty()) {
      const Character next = FirstCharacter(token);
      const auto found = of_letter.find(next.code);
      if (next.bytes == 0 || found == of_letter.end()) {
        return std::nullopt;
      }
      bytes += found->second;
      token.remove_prefix(next.bytes);
    }
    return bytes;
  }
};

// Builds the file's parts in the order in which they need each other.
class Reader {
 public:
  explicit Reader(const Json& root) : root_(root) {}

  Result<TokenizerFile> Read() && {
    TINYLM_TRY_VOID(CheckSettings(root_));
    TINYLM_TRY_VOID(FindParts());
    TINYLM_TRY_VOID(ReadAdded());
    TINYLM_TRY_VOID(ReadVocabulary());
    TINYLM_TRY_VOID(ReadBytes());
    TINYLM_TRY_VOID(ReadMerges());
    return std::move(file_);
  }

 private:
  Result<void> FindParts() {
    const Json& model = root_.at("model");  // CheckSettings saw its type.
    const auto vocabulary = model.find("vocab");
    const auto merges = model.find("merges");
    const auto added = root_.find("added_tokens");
    if (vocabulary == model.end() || !vocabulary->is_object()) {
      return Malformed("\"model/vocab\" must be an object.");
    }
    if (merges == model.end() || !merges->is_array()) {
      return Malformed("\"model/merges\" must be an array.");
    }
    if (added == root_.end() || !added->is_array()) {
      return Malformed("\"added_tokens\" must be an array.");
    }
    vocabulary_ = &*vocabulary;
    merges_ = &*merges;
    added_ = &*added;
    return {};
  }

  Result<void> ReadAdded() {
    if (added_->size() > kAddedMax) {
      return Error(ErrorCode::kTooLarge,
                   "At most " + std::to_string(kAddedMax) + " added tokens are read.");
    }
    for (const Json& token : *added_) {
      if (!token.is_object()) {
        return Malformed("An added token must be an object.");
      }
      for (const char* flag : {"single_word", "lstrip", "rstrip", "normalized"}) {
        if (const auto found = token.find(flag); found != token.end() && *found != false) {
          return Error(ErrorCode::kUnsupported,
                       "\"" + std::string(flag) + "\" must be false for an added token.");
        }
      }
      const auto content = token.find("content");
      if (content == token.end() || !content->is_string() ||
          content->get_ref<const std::string&>().empty()) {
        return Malformed("An added token must have a content that is not empty.");
      }
      TINYLM_TRY(const std::optional<uint64_t> id, JsonCount(token, "id"));
      if (!id || *id >= vocabulary_->size() + added_->size()) {
        return Malformed("An added token must have an id of the vocabulary or next to it.");
      }
      file_.added.push_back({content->get<std::string>(), static_cast<uint32_t>(*id)});
    }
    return {};
  }

  // Every id from 0 on stands for one token: what the vocabulary and the added tokens name twice
  // they must name alike.
  Result<void> ReadVocabulary() {
    std::map<std::string_view, uint32_t> contents;
    size_t beyond = 0;
    for (const TokenizerFile::Added& token : file_.added) {
      if (!contents.emplace(token.content, token.id).second) {
        return Malformed("An added token stands there twice.");
      }
      beyond += vocabulary_->contains(token.content) ? 0u : 1u;
    }
    file_.texts.resize(vocabulary_->size() + beyond);
    for (const TokenizerFile::Added& token : file_.added) {
      TINYLM_TRY_VOID(Place(token.id, token.content));
    }
    for (const auto& [token, id] : vocabulary_->items()) {
      if (!id.is_number_unsigned() || id.get<uint64_t>() >= file_.texts.size()) {
        return Malformed("The ids of the vocabulary must run from 0 on without a gap.");
      }
      const std::optional<std::string> bytes = letters_.Read(token);
      const auto added = contents.find(token);
      if (added == contents.end()) {
        if (!bytes || bytes->empty()) {
          return Malformed("A token of the vocabulary is not written in byte letters.");
        }
        TINYLM_TRY_VOID(Place(id.get<uint32_t>(), *bytes));
      } else if (id.get<uint64_t>() != added->second || bytes.value_or(token) != token) {
        return Malformed("An added token means something else in the vocabulary.");
      }
    }
    return {};
  }

  Result<void> Place(uint32_t id, const std::string& text) {
    if (id >= file_.texts.size() || !file_.texts[id].empty()) {
      return Malformed("Every id from 0 on must stand for one token.");
    }
    file_.texts[id] = text;
    return {};
  }

  Result<void> ReadBytes() {
    for (size_t byte = 0; byte < 256; ++byte) {
      TINYLM_TRY(file_.byte_ids[byte], IdOf(letters_.of_byte[byte]));
    }
    return {};
  }

  Result<void> ReadMerges() {
    for (const Json& pair : *merges_) {
      if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string()) {
        return Malformed("A merge must be a pair of strings.");
      }
      const auto& left = pair[0].get_ref<const std::string&>();
      const auto& right = pair[1].get_ref<const std::string&>();
      TINYLM_TRY(const uint32_t left_id, IdOf(left));
      TINYLM_TRY(const uint32_t right_id, IdOf(right));
      TINYLM_TRY(const uint32_t merged_id, IdOf(left + right));
      if (!file_.merges.Add(left_id, right_id, merged_id)) {
        return Malformed("A merge stands there twice.");
      }
    }
    return {};
  }

  // REQUIRES: the vocabulary has been read, so that its ids are known to be good.
  Result<uint32_t> IdOf(const std::string& token) const {
    const auto found = vocabulary_->find(token);
    if (found == vocabulary_->end()) {
      return Malformed("A byte or a merge has no token in the vocabulary.");
    }
    return found->get<uint32_t>();
  }

  const Json& root_;
  const Json* vocabulary_ = nullptr;
  const Json* merges_ = nullptr;
  const Json* added_ = nullptr;
  const ByteLetters letters_;
  TokenizerFile file_;
};

}  // namespace

Result<TokenizerFile> TokenizerFile::Parse(std::string_view json) {
  TINYLM_TRY(const Json root, ParseJson(json));
  return Reader(root).Read();
}

}  // namespace kvcast::tinylm
