// tinylm tokenize and tinylm detokenize.
#include <cstdint>
#include <memory>
#include <vector>

#include "examples/tinylm/base/file.h"
#include "examples/tinylm/base/token_list.h"
#include "examples/tinylm/command.h"

namespace kvcast::tinylm {
namespace {

Start StartOf(bool bare) { return bare ? Start::kBare : Start::kMarked; }

struct TokenizeOptions {
  PromptOption prompt;
  bool bare = false;
};

Result<void> Tokenize(const TokenizeOptions& options, const std::string& model) {
  TINYLM_TRY(const std::string text, options.prompt.Read());
  TINYLM_TRY(const Tokenizer tokenizer, LoadTokenizer(model));
  TINYLM_TRY(const std::vector<uint32_t> ids, tokenizer.Encode(text, StartOf(options.bare)));
  std::string line;
  for (const uint32_t id : ids) {
    line += line.empty() ? "" : " ";
    line += std::to_string(id);
  }
  return WriteStandardOutput(line + "\n");
}

struct DetokenizeOptions {
  std::vector<uint32_t> ids;
  CLI::Option* ids_option = nullptr;
  bool bare = false;
};

Result<void> Detokenize(const DetokenizeOptions& options, const std::string& model) {
  std::vector<uint32_t> ids = options.ids;
  if (options.ids_option->count() == 0) {
    TINYLM_TRY(const std::string text, ReadStandardInput(Tokenizer::kTextBytesMax));
    auto read = ParseTokenList(text);
    if (!read.ok()) {
      return std::move(read).error().In("standard input");
    }
    ids = *std::move(read);
  }
  TINYLM_TRY(const Tokenizer tokenizer, LoadTokenizer(model));
  TINYLM_TRY(const std::string text, tokenizer.Decode(ids, StartOf(options.bare)));
  return WriteStandardOutput(text);
}

}  // namespace

void AddTokenizeCommand(CLI::App& app, const std::string& model, int* exit_status) {
  CLI::App* const command = app.add_subcommand("tokenize", "Print the token ids of a prompt");
  const auto options = std::make_shared<TokenizeOptions>();
  options->prompt.AddTo(*command);
  command->add_flag("--bare", options->bare, "Leave out the <s> that starts every document");
  command->footer(
      "Try:  tinylm tokenize 'The cache is full.'\n"
      "      tinylm tokenize --file prompt.txt | wc -w      # its length in tokens\n"
      "      tinylm tokenize -- '--a text that begins with a dash'");
  command->callback(
      [options, &model, exit_status] { *exit_status = ExitStatus(Tokenize(*options, model)); });
}

void AddDetokenizeCommand(CLI::App& app, const std::string& model, int* exit_status) {
  CLI::App* const command =
      app.add_subcommand("detokenize", "Print the text of token ids, byte by byte as it was");
  const auto options = std::make_shared<DetokenizeOptions>();
  options->ids_option = command->add_option("IDS", options->ids,
                                            "The token ids; without any, standard input is read");
  options->ids_option->type_name("");
  command->add_flag("--bare", options->bare, "Print a leading <s> too");
  command->footer(
      "Try:  tinylm detokenize 0 42 85 1247 2591\n"
      "      tinylm tokenize --file prompt.txt | tinylm detokenize");
  command->callback(
      [options, &model, exit_status] { *exit_status = ExitStatus(Detokenize(*options, model)); });
}

}  // namespace kvcast::tinylm
