#include "examples/tinylm/command.h"

#include <iostream>

#include "examples/tinylm/base/file.h"

namespace kvcast::tinylm {
namespace {

constexpr size_t kTokenizerBytesMax = 64 * 1024 * 1024;

}  // namespace

void PromptOption::AddTo(CLI::App& command) {
  text_option_ = command.add_option("TEXT", text_,
                                    "The prompt; without it and --file, standard input is read");
  text_option_->type_name("");
  command.add_option("-f,--file", file_, "Read the prompt from a file, all of it")
      ->type_name("FILE")
      ->excludes(text_option_);
}

Result<std::string> PromptOption::Read() const {
  if (!file_.empty()) {
    return ReadFile(file_, Tokenizer::kTextBytesMax);
  }
  if (text_option_->count() == 0) {
    return ReadStandardInput(Tokenizer::kTextBytesMax);
  }
  return text_;
}

Result<Tokenizer> LoadTokenizer(const std::string& model) {
  const std::string path = model + "/tokenizer.json";
  TINYLM_TRY(const std::string json, ReadFile(path, kTokenizerBytesMax));
  auto tokenizer = Tokenizer::Parse(json);
  if (!tokenizer.ok()) {
    return std::move(tokenizer).error().In(path);
  }
  return tokenizer;
}

Result<void> WriteStandardOutput(std::string_view text) {
  std::cout << text << std::flush;
  if (!std::cout) {
    return Error(ErrorCode::kMachine, "Standard output took no more.");
  }
  return {};
}

int ExitStatus(const Result<void>& result) {
  if (!result.ok()) {
    std::cerr << "tinylm: " << result.error().ToString() << "\n";
    return 1;
  }
  return 0;
}

}  // namespace kvcast::tinylm
