// tinylm: a small language model to try kvcast with.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "examples/tinylm/file.h"
#include "examples/tinylm/tokenizer.h"

namespace {

using kvcast::Error;
using kvcast::ErrorCode;
using kvcast::Result;
using kvcast::tinylm::ReadAll;
using kvcast::tinylm::ReadFile;
using kvcast::tinylm::Start;
using kvcast::tinylm::Tokenizer;

constexpr size_t kInputBytesMax = Tokenizer::kTextBytesMax;

struct Arguments {
  std::string model = TINYLM_MODEL_FOLDER;
  std::string file;
  std::string text;
  bool bare = false;
  std::vector<uint32_t> ids;
};

Result<Tokenizer> LoadTokenizer(const Arguments& arguments) {
  const std::string path = arguments.model + "/tokenizer.json";
  KVCAST_TRY(const std::string json, ReadFile(path));
  auto tokenizer = Tokenizer::Parse(json);
  if (!tokenizer.ok()) {
    return std::move(tokenizer).error().In(path);
  }
  return tokenizer;
}

Start StartOf(const Arguments& arguments) { return arguments.bare ? Start::kBare : Start::kMarked; }

Result<void> Write(std::string_view text) {
  std::cout << text << std::flush;
  if (!std::cout) {
    return Error(ErrorCode::kMachine, "Standard output took no more.");
  }
  return {};
}

// Whole numbers with white space between them.
Result<std::vector<uint32_t>> ParseIds(std::string_view text) {
  constexpr std::string_view kWhite = " \t\r\n";
  std::vector<uint32_t> ids;
  size_t at = text.find_first_not_of(kWhite);
  while (at != std::string_view::npos) {
    const size_t end = std::min(text.find_first_of(kWhite, at), text.size());
    uint32_t id = 0;
    const auto [stopped, trouble] = std::from_chars(text.data() + at, text.data() + end, id);
    if (trouble != std::errc() || stopped != text.data() + end) {
      return Error(ErrorCode::kMalformed, "A token id was expected.").At(at).In("standard input");
    }
    ids.push_back(id);
    at = text.find_first_not_of(kWhite, end);
  }
  return ids;
}

Result<void> Tokenize(const Arguments& arguments, bool text_given) {
  std::string text = arguments.text;
  if (!arguments.file.empty()) {
    KVCAST_TRY(text, ReadFile(arguments.file, kInputBytesMax));
  } else if (!text_given) {
    KVCAST_TRY(text, ReadAll(std::cin, kInputBytesMax));
  }
  KVCAST_TRY(const Tokenizer tokenizer, LoadTokenizer(arguments));
  KVCAST_TRY(const std::vector<uint32_t> ids, tokenizer.Encode(text, StartOf(arguments)));
  std::string line;
  for (const uint32_t id : ids) {
    line += line.empty() ? "" : " ";
    line += std::to_string(id);
  }
  return Write(line + "\n");
}

Result<void> Detokenize(const Arguments& arguments, bool ids_given) {
  std::vector<uint32_t> ids = arguments.ids;
  if (!ids_given) {
    KVCAST_TRY(const std::string text, ReadAll(std::cin, kInputBytesMax));
    KVCAST_TRY(ids, ParseIds(text));
  }
  KVCAST_TRY(const Tokenizer tokenizer, LoadTokenizer(arguments));
  KVCAST_TRY(const std::string text, tokenizer.Decode(ids, StartOf(arguments)));
  return Write(text);
}

int ExitStatus(const Result<void>& result) {
  if (!result.ok()) {
    std::cerr << "tinylm: " << result.error().ToString() << "\n";
    return 1;
  }
  return 0;
}

int Run(int argc, char** argv) {
  Arguments arguments;
  CLI::App app(
      "A small language model to try kvcast with: 5.5 million parameters, documentation\n"
      "and code, no more.\n");
  app.name("tinylm");
  app.require_subcommand(1);
  app.add_option("--model", arguments.model, "The folder of the model's files")
      ->envname("TINYLM_MODEL")
      ->type_name("FOLDER")
      ->capture_default_str();
  app.footer(
      "Try:  tinylm tokenize 'Hello, world.' | tinylm detokenize\n"
      "      tinylm tokenize --help");

  CLI::App* const tokenize = app.add_subcommand("tokenize", "Print the token ids of a prompt");
  CLI::Option* const text = tokenize->add_option(
      "TEXT", arguments.text, "The prompt; without it and --file, standard input is read");
  text->type_name("");
  tokenize->add_option("-f,--file", arguments.file, "Read the prompt from a file, all of it")
      ->type_name("FILE")
      ->excludes(text);
  tokenize->add_flag("--bare", arguments.bare, "Leave out the <s> that starts every document");
  tokenize->footer(
      "Try:  tinylm tokenize 'The cache is full.'\n"
      "      tinylm tokenize --file prompt.txt | wc -w      # its length in tokens\n"
      "      tinylm tokenize -- '--a text that begins with a dash'");

  CLI::App* const detokenize =
      app.add_subcommand("detokenize", "Print the text of token ids, byte by byte as it was");
  CLI::Option* const ids = detokenize->add_option(
      "IDS", arguments.ids, "The token ids; without any, standard input is read");
  ids->type_name("");
  detokenize->add_flag("--bare", arguments.bare, "Print a leading <s> too");
  detokenize->footer(
      "Try:  tinylm detokenize 0 42 85 1247 2591\n"
      "      tinylm tokenize --file prompt.txt | tinylm detokenize");

  CLI11_PARSE(app, argc, argv);
  if (*tokenize) {
    return ExitStatus(Tokenize(arguments, text->count() > 0));
  }
  return ExitStatus(Detokenize(arguments, ids->count() > 0));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Run(argc, argv);
  } catch (const std::exception& error) {  // Ours are values; the libraries' are not.
    std::cerr << "tinylm: " << error.what() << "\n";
    return 1;
  }
}
