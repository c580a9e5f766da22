#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "examples/tinylm/base/result.h"
#include "examples/tinylm/tokenizer.h"

namespace kvcast::tinylm {

// What tinylm's commands share. Each command adds itself to the program, with the folder of the
// model, which is known once the command line has been read, and leaves its exit status behind.
void AddTokenizeCommand(CLI::App& app, const std::string& model, int* exit_status);
void AddDetokenizeCommand(CLI::App& app, const std::string& model, int* exit_status);
void AddPrefillCommand(CLI::App& app, const std::string& model, int* exit_status);
void AddGenerateCommand(CLI::App& app, const std::string& model, int* exit_status);

// A prompt as a command is given it: on the command line, in a file, or else on standard input.
class PromptOption {
 public:
  void AddTo(CLI::App& command);
  Result<std::string> Read() const;

 private:
  std::string text_;
  std::string file_;
  CLI::Option* text_option_ = nullptr;
};

Result<Tokenizer> LoadTokenizer(const std::string& model);

Result<void> WriteStandardOutput(std::string_view text);

// What the program ends with; an error is said first.
int ExitStatus(const Result<void>& result);

}  // namespace kvcast::tinylm
